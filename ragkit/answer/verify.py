"""Check a draft against the stored documents before anybody is told to believe it.

Checked are citations, quotations, numbers, names and each sentence, by comparison with the text
that was stored; how the signals of a sentence are weighed is not its business.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragkit.answer.markers import markers
from ragkit.answer.names import names
from ragkit.answer.nearness import Compared, compare
from ragkit.answer.numbers import numbers
from ragkit.answer.quotations import locate, quotations
from ragkit.answer.reading import Reading, Sentence, blanked, read_answer
from ragkit.answer.reasons import why
from ragkit.answer.stated import Stated
from ragkit.answer.strays import Sieve, is_json
from ragkit.answer.support import Evidence, coverage, grade, has_content, misplaced
from ragkit.errors import NotFoundError
from ragkit.types import Citation, Claim, Draft, Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Embedder

Entails = Callable[[Sequence[tuple[str, str]]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Verified:
    """A draft's citations with their verdicts, and how its text stands up to what they cite.

    `unverified` lists what no cited source contains, `claims` every sentence that says something.
    """

    citations: tuple[Citation, ...] = ()
    unverified: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()


def verify(
    draft: Draft,
    texts: Callable[[int], str],
    passages: Sequence[Hit],
    *,
    entails: Entails | None = None,
    embedder: Embedder | None = None,
) -> Verified:
    """Check a draft's citations against the stored texts, and its text against what it cites.

    `texts` returns a document's stored text, raising NotFoundError or LookupError when there is
    none. A citation is verified when its quotation is exactly `text[start:end]`. A quotation,
    number or name of the draft's text must occur in the passage of a verified citation that its
    own sentence makes; those that do not, and markers that name no source, come back in the order
    of the text, exactly as they stand there, each once. A sentence that is wholly a verified
    quotation is "quoted"; `ragkit.answer.prose` says how the others are judged, with the cosines of
    `embedder` where its weights are known. `entails` gives the probability that a premise entails
    a sentence, for each such pair. Of a text in JSON only the citations are checked.
    """
    if draft.refused:
        return Verified()
    stored = {
        document: _text(texts, document) for document in {c.document for c in draft.citations}
    }
    checked = tuple(_checked(citation, stored[citation.document]) for citation in draft.citations)
    if is_json(draft.text):
        return Verified(checked)
    sources = _sources(checked, stored, passages)
    reading = read_answer(draft.text, checked, stored)
    doubtful = sorted(_doubtful(reading, sources), key=lambda span: span.start)
    return Verified(
        checked,
        tuple(dict.fromkeys(draft.text[s.start : s.end] for s in doubtful)),
        tuple(_claims(reading, sources, doubtful, entails, embedder)),
    )


def _text(texts: Callable[[int], str], document: int) -> str | None:
    try:
        return texts(document)
    except (NotFoundError, LookupError):  # deleted since it was found
        return None


def _checked(citation: Citation, text: str | None) -> Citation:
    start, end = citation.start, citation.end
    true = text is not None and 0 <= start < end and text[start:end] == citation.quote
    return replace(citation, verdict="verified" if true else "unverified")


def _sources(
    citations: Iterable[Citation], stored: dict[int, str | None], passages: Sequence[Hit]
) -> dict[int, Evidence]:
    """Gather for each number the stored text of the passages that its citations lie in."""
    pieces_of: dict[int, dict[str, None]] = {}
    for citation in citations:
        text = stored[citation.document]
        pieces = pieces_of.setdefault(citation.n, {})
        if text is None or citation.verdict == "unverified":
            continue
        around = [hit for hit in passages if _holds(hit, citation)]
        pieces.update({text[hit.start : hit.end]: None for hit in around})
        pieces.update({name: None for hit in around for name in (hit.title, *hit.headings)})
        pieces[citation.quote] = None
    return {n: Evidence(filter(None, pieces)) for n, pieces in pieces_of.items()}


def _holds(hit: Hit, citation: Citation) -> bool:
    return (
        hit.document == citation.document and hit.start <= citation.start <= citation.end <= hit.end
    )


def _doubtful(reading: Reading, sources: dict[int, Evidence]) -> Iterator[Span]:
    """Find what the sources that a sentence cites do not hold, and markers without a source."""
    for marker in markers(reading.own):
        if not sources.keys() >= set(marker.numbers):
            yield Span(marker.start, marker.end)

    def cited(at: int) -> list[Evidence]:
        return [sources[n] for n in reading.cites_at(at) if n in sources]

    rest = reading.plain
    quoted = quotations(rest)
    for span in quoted:
        quote = rest[span.start : span.end]
        pieces = (piece for source in cited(span.end - 1) for piece in source.folded)
        if not any(locate(quote, piece) for piece in pieces):
            yield span
    rest = blanked(rest, quoted)  # a quotation answers for the numbers and names in it
    for number in numbers(rest):
        if not any(number in source.numbers for source in cited(number.start)):
            yield Span(number.start, number.end)
    for name in names(rest):
        word = rest[name.start : name.end]
        if not any(word in source.names for source in cited(name.start)):
            yield name


@dataclass(frozen=True, slots=True)
class _Checking:
    """A sentence that is to be judged: what it cites, and its pieces that no cited source has."""

    sentence: Sentence
    cites: tuple[int, ...]
    claim: Stated
    evidence: Sequence[Evidence]
    missing: tuple[str, ...]


def _claims(
    reading: Reading,
    sources: dict[int, Evidence],
    doubtful: Sequence[Span],
    entails: Entails | None,
    embedder: Embedder | None,
) -> list[Claim]:
    """Judge every sentence that says something; `doubtful` are in the order of the text."""
    starts = [span.start for span in doubtful]
    claims: list[Claim] = []
    checking: list[_Checking] = []
    for sentence in reading.sentences:
        evidence = [sources[n] for n in sentence.cites if n in sources and sources[n].pieces]
        text = reading.said(sentence)
        if not has_content(text):
            continue
        cites = tuple(n for n in sentence.cites if n in sources)
        if not evidence:
            reason = "none of its sources was found" if sentence.cites else "it cites no source"
            claims.append(Claim(sentence.start, sentence.end, cites, "not found", reason))
        elif sentence.quoted:
            claims.append(Claim(sentence.start, sentence.end, cites, "quoted"))
        else:
            some = doubtful[bisect_left(starts, sentence.start) : bisect_left(starts, sentence.end)]
            missing = tuple(reading.text[span.start : span.end] for span in some)
            checking.append(_Checking(sentence, cites, Stated(text), evidence, missing))
    claims += _judged(reading, checking, entails, embedder)
    return sorted(claims, key=lambda claim: claim.start)


def _judged(
    reading: Reading,
    checking: Sequence[_Checking],
    entails: Entails | None,
    embedder: Embedder | None,
) -> Iterator[Claim]:
    """Judge prose: by signals, with cosines where an embedder is given, and by entailment."""
    compared = compare([Compared(item.claim, item.evidence) for item in checking], embedder)
    for (signals, weights), item in zip(compared, checking, strict=True):
        likely = _entailed(reading, item.sentence, item.evidence, entails) if entails else None
        share = coverage(item.claim.text, item.evidence)
        astray = misplaced(item.claim.text, item.evidence)
        missing = len(item.missing) + astray
        support = grade(weights.passes(signals), share, missing, likely)
        reason = "" if support == "supported" else why(signals, item.missing, astray)
        yield Claim(item.sentence.start, item.sentence.end, item.cites, support, reason)


def _entailed(
    reading: Reading, sentence: Sentence, evidence: Sequence[Evidence], entails: Entails
) -> float:
    """Ask for the best of the sources, each piece by itself and all of them joined."""
    sieve = Sieve(0)
    plain = sieve.take(reading.text[sentence.start : sentence.end]) + sieve.end()
    premises = [piece for source in evidence for piece in source.pieces]
    if len(premises) > 1:
        premises.append("\n".join(premises))
    return max(entails([(premise, plain) for premise in premises]))
