"""Parse an answer's text: its sentences, the numbers that each cites, and its quotations."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ragkit.text.markers import Statement, find_markers, split_statements, without_markers
from ragkit.text.plain import head_above, plain, rows_text
from ragkit.types import Citation, Span

NO_TEXTS: Mapping[int, str | None] = MappingProxyType({})

_LIST_NUMBER = re.compile(
    r"^[ \t>*-]*(?:(\d{1,2})[.)、．）](?!\d)|[(（](\d{1,2})[)）])", re.MULTILINE
)
_AFTER_QUOTE = re.compile(r"[\s\"”’'」』）).。]*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence `start:end` of an answer, the numbers it cites, and whether it is all quoted."""

    start: int
    end: int
    cites: tuple[int, ...]
    quoted: bool


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer's text, and copies in which blanks keep every offset the same.

    `unmarked` lacks the markers and the numbers of lists, `unquoted` the sentences that are quoted
    in full, `plain` all of these.
    """

    text: str
    unmarked: str
    unquoted: str
    plain: str
    sentences: tuple[Sentence, ...]

    def cites_at(self, offset: int) -> tuple[int, ...]:
        """Return the numbers that the sentence at an offset cites."""
        index = bisect_right(self.sentences, offset, key=lambda sentence: sentence.start)
        return self.sentences[index - 1].cites if self.sentences else ()

    def words_of(self, sentence: Sentence) -> str:
        """Return a sentence's words without its markers."""
        return self.unmarked[sentence.start : sentence.end]


def parse_answer(
    text: str, citations: Iterable[Citation], stored: Mapping[int, str | None] = NO_TEXTS
) -> ParsedAnswer:
    """Parse an answer.

    `stored` has the texts of the cited documents that are available: the names of a table's
    columns, with which a row is quoted, stand above the row.
    """
    quoted_spans = list(_full_quotations(text, citations, stored))
    unquoted = blank_out(text, (span for span, _ in quoted_spans))
    plain = without_markers(unquoted)
    plain = blank_out(plain, _list_numbers(plain))
    # A footnote within a quoted sentence belongs to the source and cites nothing here.
    hidden = {marker.start for marker in find_markers(text)} - {
        m.start for m in find_markers(unquoted)
    }
    visible = text
    if hidden:
        visible = "".join("(" if i in hidden else c for i, c in enumerate(text))
    sentences = []
    parts = split_statements(visible)
    quoting = _quoting(parts, quoted_spans)
    for part, numbers in zip(parts, quoting, strict=True):
        quoted = bool(numbers) and not re.search(r"\w", plain[part.start : part.end])
        cites = tuple(dict.fromkeys((*part.cites, *numbers)))
        sentences.append(Sentence(part.start, part.end, cites, quoted))
    unmarked = without_markers(text)
    unmarked = blank_out(unmarked, _list_numbers(unmarked))
    return ParsedAnswer(text, unmarked, unquoted, plain, tuple(sentences))


def _quoting(
    parts: Sequence[Statement], quoted_spans: Sequence[tuple[Span, int]]
) -> list[list[int]]:
    """List for each statement the numbers of the quotations that it shares characters with."""
    ends = [part.end for part in parts]
    numbers: list[list[int]] = [[] for _ in parts]
    for span, number in quoted_spans:
        for place in range(bisect_right(ends, span.start), len(parts)):
            if parts[place].start >= span.end:
                break
            numbers[place].append(number)
    return numbers


def blank_out(text: str, spans: Iterable[Span]) -> str:
    """Replace some stretches by spaces, so that every offset stays the same."""
    pieces, position = [], 0
    for span in sorted(spans, key=lambda span: span.start):
        pieces += [text[position : span.start], " " * (span.end - max(position, span.start))]
        position = max(position, span.end)
    return "".join([*pieces, text[position:]])


def _full_quotations(
    text: str, citations: Iterable[Citation], stored: Mapping[int, str | None]
) -> Iterator[tuple[Span, int]]:
    """Find the stretches that are a verified quotation, directly followed by its marker.

    White space, a source's footnotes and its marks of Markdown may differ: answers are written
    without them.
    """
    markers_by_start = {marker.start: marker for marker in find_markers(text)}
    within, places = _squeezed(text), list[int]()
    for citation, quote in _forms(citations, stored):
        at = within.find(quote)
        if at >= 0 and not places:
            places = _places(text)
        while at >= 0:
            end = places[at + len(quote) - 1] + 1
            while (gap := _AFTER_QUOTE.match(text, end)) and (
                marker := markers_by_start.get(gap.end())
            ):
                if citation.n in marker.numbers:
                    yield Span(places[at], marker.start), citation.n
                    break
                end = marker.end
            at = within.find(quote, at + len(quote))


def _forms(
    citations: Iterable[Citation], stored: Mapping[int, str | None]
) -> Iterator[tuple[Citation, str]]:
    """Yield the forms in which an answer may write each verified quotation, squeezed."""
    for citation in citations:
        if citation.verdict == "unverified":
            continue
        written = [citation.quote, plain(citation.quote)]
        if citation.quote.startswith("|"):
            head = head_above(stored.get(citation.document) or "", citation.start)
            written.append(rows_text(citation.quote, head))
        for quote in dict.fromkeys(_squeezed(form) for form in written):
            if quote:
                yield citation, quote


def _squeezed(text: str) -> str:
    """Remove white space and markers."""
    return "".join(without_markers(text).split())


def _places(text: str) -> list[int]:
    """Return the place of each character that `_squeezed` leaves."""
    return [i for i, character in enumerate(without_markers(text)) if not character.isspace()]


def _list_numbers(text: str) -> Iterator[Span]:
    """Find the numbers that only count a list's items: 1, then each higher by one."""
    expected = 1
    for match in _LIST_NUMBER.finditer(text):
        number = int(match[1] or match[2])
        end = text.find("\n", match.end())
        line = text[match.end() : end if end >= 0 else len(text)]
        if number in {1, expected} and line.strip():
            expected = number + 1
            yield Span(match.start(), match.end())
