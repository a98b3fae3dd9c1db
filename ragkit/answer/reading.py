"""An answer's text taken apart: its sentences, what each cites, and what it merely quotes.

It reads the text and its citations' quotations; what the sources say besides is not its business.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ragkit.answer.markers import Statement, markers, statements, without_markers
from ragkit.text.plain import head_above, plain, row_text
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
class Reading:
    """An answer's text as it is, and with blanks that keep every offset what it was.

    `unmarked` lacks the markers and the numbers of lists, `own` what is a source's sentence word
    for word, `plain` all of these.
    """

    text: str
    unmarked: str
    own: str
    plain: str
    sentences: tuple[Sentence, ...]

    def cites_at(self, offset: int) -> tuple[int, ...]:
        """Return the numbers that the sentence at an offset cites."""
        before = bisect_right(self.sentences, offset, key=lambda sentence: sentence.start)
        return self.sentences[before - 1].cites if self.sentences else ()

    def said(self, sentence: Sentence) -> str:
        """Return a sentence's words without its markers."""
        return self.unmarked[sentence.start : sentence.end]


def read_answer(
    text: str, citations: Iterable[Citation], stored: Mapping[int, str | None] = NO_TEXTS
) -> Reading:
    """Take an answer apart.

    `stored` has the texts of the cited documents, as far as they are at hand: the names of a
    table's columns, with which a row is quoted, stand above the row.
    """
    whole = list(_quoted_whole(text, citations, stored))
    own = blanked(text, (span for span, _ in whole))
    plain = without_markers(own)
    plain = blanked(plain, _list_numbers(plain))
    # A footnote within a quoted sentence is the source's own and cites nothing here.
    hidden = {marker.start for marker in markers(text)} - {m.start for m in markers(own)}
    shown = "".join("(" if i in hidden else c for i, c in enumerate(text))
    sentences = []
    parts = statements(shown)
    quoting = _quoting(parts, whole)
    for part, over in zip(parts, quoting, strict=True):
        quoted = bool(over) and not re.search(r"\w", plain[part.start : part.end])
        cites = tuple(dict.fromkeys((*part.cites, *over)))
        sentences.append(Sentence(part.start, part.end, cites, quoted))
    unmarked = without_markers(text)
    unmarked = blanked(unmarked, _list_numbers(unmarked))
    return Reading(text, unmarked, own, plain, tuple(sentences))


def _quoting(parts: Sequence[Statement], whole: Sequence[tuple[Span, int]]) -> list[list[int]]:
    """List for each statement the numbers of the quotations that it shares characters with."""
    ends = [part.end for part in parts]
    numbers: list[list[int]] = [[] for _ in parts]
    for span, number in whole:
        for place in range(bisect_right(ends, span.start), len(parts)):
            if parts[place].start >= span.end:
                break
            numbers[place].append(number)
    return numbers


def blanked(text: str, spans: Iterable[Span]) -> str:
    """Put spaces over some stretches, so that every offset stays what it was."""
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = " " * (span.end - span.start)
    return "".join(characters)


def _quoted_whole(
    text: str, citations: Iterable[Citation], stored: Mapping[int, str | None]
) -> Iterator[tuple[Span, int]]:
    """Find the stretches that are a verified quotation, directly followed by its own marker.

    White space, a source's footnotes and its marks of Markdown may differ: answers are written
    without them.
    """
    found = {marker.start: marker for marker in markers(text)}
    within, places = _squeezed(text)
    for citation, quote in _forms(citations, stored):
        at = within.find(quote)
        while at >= 0:
            end = places[at + len(quote) - 1] + 1
            while (gap := _AFTER_QUOTE.match(text, end)) and (marker := found.get(gap.end())):
                if citation.n in marker.numbers:
                    yield Span(places[at], marker.start), citation.n
                    break
                end = marker.end
            at = within.find(quote, at + len(quote))


def _forms(
    citations: Iterable[Citation], stored: Mapping[int, str | None]
) -> Iterator[tuple[Citation, str]]:
    """Yield the ways in which an answer may write each verified quotation, squeezed."""
    for citation in citations:
        if citation.verdict == "unverified":
            continue
        written = [citation.quote, plain(citation.quote)]
        if citation.quote.startswith("|"):
            head = head_above(stored.get(citation.document) or "", citation.start)
            written.append(row_text(citation.quote, head))
        for quote in dict.fromkeys(_squeezed(form)[0] for form in written):
            if quote:
                yield citation, quote


def _squeezed(text: str) -> tuple[str, list[int]]:
    """Leave white space and markers out, and tell where each character that is left stood."""
    plain = without_markers(text)
    places = [i for i, character in enumerate(plain) if not character.isspace()]
    return "".join(plain[i] for i in places), places


def _list_numbers(text: str) -> Iterator[Span]:
    """Find the numbers that only count a list's items: 1, then each one more than the last."""
    expected = 1
    for match in _LIST_NUMBER.finditer(text):
        number = int(match[1] or match[2])
        end = text.find("\n", match.end())
        rest = text[match.end() : end if end >= 0 else len(text)]
        if number in {1, expected} and rest.strip():
            expected = number + 1
            yield Span(match.start(), match.end())
