"""Check a draft against the stored documents before anybody is told to believe it.

Checked are citations, quotations and numbers, each by comparison with the text that was stored:
no model is asked. What a sentence means is beyond it.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragkit.answer.markers import markers, statements, without_markers
from ragkit.answer.numbers import NumberSet, numbers
from ragkit.answer.quotations import Folded, fold, locate, quotations
from ragkit.errors import NotFoundError
from ragkit.types import Citation, Draft, Hit, Span

_LIST_NUMBER = re.compile(
    r"^[ \t>*-]*(?:(\d{1,2})[.)、．）](?!\d)|[(（](\d{1,2})[)）])", re.MULTILINE
)
_AFTER_QUOTE = re.compile(r"[\s\"”’'」』）).。]*")


@dataclass(frozen=True, slots=True)
class Verified:
    """A draft's citations with their verdicts, and what in its text no cited source contains."""

    citations: tuple[Citation, ...] = ()
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """What a cited number stands for, ready for comparison."""

    folded: tuple[Folded, ...]
    numbers: NumberSet


def verify(draft: Draft, texts: Callable[[int], str], passages: Sequence[Hit]) -> Verified:
    """Check a draft's citations against the stored texts, and its text against what it cites.

    `texts` returns a document's stored text, raising NotFoundError or LookupError when there is
    none. A citation is verified when its quotation is exactly `text[start:end]`. A quotation or
    number of the draft's text must occur in the passage of a verified citation that its own
    sentence makes; those that do not, and markers that name no source, come back in the order of
    the text, exactly as they stand there, each once.
    """
    if draft.refused:
        return Verified()
    stored = {
        document: _text(texts, document) for document in {c.document for c in draft.citations}
    }
    checked = tuple(_checked(citation, stored[citation.document]) for citation in draft.citations)
    sources = _sources(checked, stored, passages)
    doubtful = sorted(_doubtful(draft.text, checked, sources), key=lambda span: span.start)
    return Verified(checked, tuple(dict.fromkeys(draft.text[s.start : s.end] for s in doubtful)))


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
) -> dict[int, _Source]:
    """Gather for each number the stored text of the passages that its citations lie in."""
    evidence: dict[int, dict[str, None]] = {}
    for citation in citations:
        text = stored[citation.document]
        pieces = evidence.setdefault(citation.n, {})
        if text is None or citation.verdict == "unverified":
            continue
        around = [hit for hit in passages if _holds(hit, citation)]
        pieces.update({text[hit.start : hit.end]: None for hit in around})
        pieces.update({name: None for hit in around for name in (hit.title, *hit.headings)})
        pieces[citation.quote] = None
    return {
        n: _Source(tuple(fold(piece) for piece in pieces), NumberSet.of(pieces))
        for n, pieces in evidence.items()
    }


def _holds(hit: Hit, citation: Citation) -> bool:
    return (
        hit.document == citation.document and hit.start <= citation.start <= citation.end <= hit.end
    )


def _doubtful(
    text: str, citations: Iterable[Citation], sources: dict[int, _Source]
) -> Iterator[Span]:
    whole = list(_quoted_whole(text, citations))
    for marker in markers(_blanked(text, whole)):  # a source's own footnotes are not the answer's
        if not sources.keys() >= set(marker.numbers):
            yield Span(marker.start, marker.end)
    claims = statements(text)
    starts = [claim.start for claim in claims]

    def cited(at: int) -> list[_Source]:
        cites = claims[bisect_right(starts, at) - 1].cites if claims else ()
        return [sources[n] for n in cites if n in sources]

    rest = without_markers(text)
    rest = _blanked(rest, [*whole, *_list_numbers(rest)])
    quoted = quotations(rest)
    for span in quoted:
        quote = rest[span.start : span.end]
        pieces = (piece for source in cited(span.end - 1) for piece in source.folded)
        if not any(locate(quote, piece) for piece in pieces):
            yield span
    for number in numbers(_blanked(rest, quoted)):  # a quotation answers for the numbers in it
        if not any(number in source.numbers for source in cited(number.start)):
            yield Span(number.start, number.end)


def _quoted_whole(text: str, citations: Iterable[Citation]) -> Iterator[Span]:
    """Find the stretches that are a verified quotation, directly followed by its own marker."""
    found = {marker.start: marker for marker in markers(text)}
    for citation in citations:
        if citation.verdict == "unverified":
            continue
        for match in re.finditer(re.escape(citation.quote), text):
            gap = _AFTER_QUOTE.match(text, match.end())
            marker = found.get(gap.end() if gap else match.end())
            while marker is not None:
                if citation.n in marker.numbers:
                    yield Span(match.start(), match.end())
                    break
                marker = found.get(marker.end)


def _list_numbers(text: str) -> Iterator[Span]:
    """Find the numbers that only count a list's items: 1, then each one more than the last."""
    expected = 1
    for match in _LIST_NUMBER.finditer(text):
        number = int(match[1] or match[2])
        rest = text[match.end() :].split("\n", 1)[0]
        if number in {1, expected} and rest.strip():
            expected = number + 1
            yield Span(match.start(), match.end())


def _blanked(text: str, spans: Iterable[Span]) -> str:
    """Put spaces over some stretches, so that every offset stays what it was."""
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = " " * (span.end - span.start)
    return "".join(characters)
