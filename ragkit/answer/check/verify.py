"""Check a draft against the stored documents.

Checked are citations, quotations, numbers, names and each sentence, by comparison with the stored
text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragkit.answer.check.cosines import Compared, read_signals
from ragkit.answer.check.names import find_names
from ragkit.answer.check.numbers import find_numbers
from ragkit.answer.check.parsed_answer import ParsedAnswer, Sentence, blank_out, parse_answer
from ragkit.answer.check.quotations import find_quotations, locate
from ragkit.answer.check.reasons import explain_claim
from ragkit.answer.check.sentence import PreparedSentence
from ragkit.answer.check.stray_markers import MarkerFilter, is_json
from ragkit.answer.check.support import (
    Evidence,
    choose_support,
    count_misplaced,
    coverage,
    has_content,
)
from ragkit.errors import NotFoundError
from ragkit.text.markers import find_markers
from ragkit.types import Citation, Claim, Draft, Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Embedder

Entails = Callable[[Sequence[tuple[str, str]]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Verified:
    """A draft's citations with their verdicts, and the findings about its text.

    `unverified` lists the pieces that no cited source contains, `claims` every sentence with
    content.
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
    own sentence makes; all others, and markers that name no source, are returned in the order
    of the text, exactly as written, each once. A sentence that is entirely a verified quotation is
    "quoted"; `choose_support` judges the others, by the signals of
    `ragkit.answer.check.claim_signals`, with the cosines of `embedder` where its weights are known.
    `entails` gives the probability that a premise entails a sentence, for each such pair. Of a text
    in JSON only the citations are checked.
    """
    if draft.refused:
        return Verified()
    stored = {
        document: _text(texts, document) for document in {c.document for c in draft.citations}
    }
    checked = tuple(
        _check_citation(citation, stored[citation.document]) for citation in draft.citations
    )
    if is_json(draft.text):
        return Verified(checked)
    sources = _sources(checked, stored, passages)
    reading = parse_answer(draft.text, checked, stored)
    doubtful = sorted(_doubtful(reading, sources), key=lambda span: span.start)
    return Verified(
        checked,
        tuple(dict.fromkeys(draft.text[s.start : s.end] for s in doubtful)),
        tuple(_claims(reading, sources, doubtful, entails, embedder)),
    )


def _text(texts: Callable[[int], str], document: int) -> str | None:
    try:
        return texts(document)
    except (NotFoundError, LookupError):  # deleted since the search
        return None


def _check_citation(citation: Citation, text: str | None) -> Citation:
    start, end = citation.start, citation.end
    matches = text is not None and 0 <= start < end and text[start:end] == citation.quote
    return replace(citation, verdict="verified" if matches else "unverified")


def _sources(
    citations: Iterable[Citation], stored: dict[int, str | None], passages: Sequence[Hit]
) -> dict[int, Evidence]:
    """Collect for each number the stored text of the passages around its citations."""
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


def _doubtful(reading: ParsedAnswer, sources: dict[int, Evidence]) -> Iterator[Span]:
    """Find pieces that the cited sources do not have, and markers without a source."""
    for marker in find_markers(reading.unquoted):
        if not sources.keys() >= set(marker.numbers):
            yield Span(marker.start, marker.end)

    def cited(at: int) -> list[Evidence]:
        return [sources[n] for n in reading.cites_at(at) if n in sources]

    text = reading.plain
    quoted = find_quotations(text)
    for span in quoted:
        quote = text[span.start : span.end]
        pieces = (piece for source in cited(span.end - 1) for piece in source.folded)
        if not any(locate(quote, piece) for piece in pieces):
            yield span
    text = blank_out(text, quoted)  # the numbers and names of a quotation are checked with it
    for number in find_numbers(text):
        if not any(number in source.numbers for source in cited(number.start)):
            yield Span(number.start, number.end)
    for name in find_names(text):
        word = text[name.start : name.end]
        if not any(word in source.names for source in cited(name.start)):
            yield name


@dataclass(frozen=True, slots=True)
class _Checking:
    """A sentence to judge: its citations, and its pieces that no cited source has."""

    sentence: Sentence
    cites: tuple[int, ...]
    claim: PreparedSentence
    evidence: Sequence[Evidence]
    missing: tuple[str, ...]


def _claims(
    reading: ParsedAnswer,
    sources: dict[int, Evidence],
    doubtful: Sequence[Span],
    entails: Entails | None,
    embedder: Embedder | None,
) -> list[Claim]:
    """Judge every sentence with content; `doubtful` stand in the order of the text."""
    starts = [span.start for span in doubtful]
    claims: list[Claim] = []
    checking: list[_Checking] = []
    for sentence in reading.sentences:
        evidence = [sources[n] for n in sentence.cites if n in sources and sources[n].pieces]
        text = reading.words_of(sentence)
        if not has_content(text):
            continue
        cites = tuple(n for n in sentence.cites if n in sources)
        if not evidence:
            reason = "none of its sources was found" if sentence.cites else "it cites no source"
            claims.append(Claim(sentence.start, sentence.end, cites, "not found", reason))
        elif sentence.quoted:
            claims.append(Claim(sentence.start, sentence.end, cites, "quoted"))
        else:
            pieces = doubtful[
                bisect_left(starts, sentence.start) : bisect_left(starts, sentence.end)
            ]
            missing = tuple(reading.text[span.start : span.end] for span in pieces)
            checking.append(_Checking(sentence, cites, PreparedSentence(text), evidence, missing))
    claims += _judge_prose(reading, checking, entails, embedder)
    return sorted(claims, key=lambda claim: claim.start)


def _judge_prose(
    reading: ParsedAnswer,
    checking: Sequence[_Checking],
    entails: Entails | None,
    embedder: Embedder | None,
) -> Iterator[Claim]:
    """Judge prose: by signals, with cosines where there is an embedder, and by entailment."""
    compared = read_signals([Compared(item.claim, item.evidence) for item in checking], embedder)
    for (signals, weights), item in zip(compared, checking, strict=True):
        likely = _entailed(reading, item.sentence, item.evidence, entails) if entails else None
        share = coverage(item.claim.text, item.evidence)
        misplaced = count_misplaced(item.claim.text, item.evidence)
        missing = len(item.missing) + misplaced
        support = choose_support(weights.passes(signals), share, missing, likely)
        reason = "" if support == "supported" else explain_claim(signals, item.missing, misplaced)
        yield Claim(item.sentence.start, item.sentence.end, item.cites, support, reason)


def _entailed(
    reading: ParsedAnswer, sentence: Sentence, evidence: Sequence[Evidence], entails: Entails
) -> float:
    """Return the best probability over the sources, each piece alone and all joined."""
    marker_filter = MarkerFilter(0)
    plain = marker_filter.take(reading.text[sentence.start : sentence.end]) + marker_filter.end()
    premises = [piece for source in evidence for piece in source.pieces]
    if len(premises) > 1:
        premises.append("\n".join(premises))
    return max(entails([(premise, plain) for premise in premises]))
