"""Where quotations stand in the characters of a page, by their letters and digits alone.

A stored text is cleaned: spaces, hyphens at line ends, ligatures, full-width forms and the order of
columns may differ from what the PDF has. Letters and digits are what both have in common.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.types import Span

MAX_QUOTE_LETTERS: Final = 4_000  # arbitrary: about a page, and what bounds the search for pieces
# A piece that is looked for by itself, where a quotation does not stand in one piece: a shorter one
# would be found anywhere. In letters; a Chinese character counts three.
_LEAST_WEIGHT: Final = 15
_LEAST_SHARE: Final = 0.4  # of a quotation in pieces; with less, the pieces are there by chance
_WIDE: Final = 0x2E80  # CJK begins here


@dataclass(frozen=True, slots=True)
class Quote:
    """The letters of a quotation; `before` counts how often they stand earlier on its page."""

    letters: str
    before: int = 0


def letters(text: str) -> str:
    """Return the letters and digits of a text in one form: no accents, ligatures or case.

    >>> letters("Ｏﬃce hours: 9–17, café"), letters("年 假，28天")
    ('officehours917cafe', '年假28天')
    """
    if text.isascii():
        return "".join(filter(str.isalnum, text.lower()))
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(filter(str.isalnum, plain))


def quote_of(page_text: str, span: Span) -> Quote:
    """Take a quotation out of the stored text of its page."""
    quoted = letters(page_text[span.start : span.end])[:MAX_QUOTE_LETTERS]
    earlier = letters(page_text[: span.start])
    return Quote(quoted, earlier.count(quoted) if quoted else 0)


def find_quotes(characters: Sequence[str], quotes: Sequence[Quote]) -> list[Span]:
    """Return the spans of a page's characters that the quotations cover, in order.

    A quotation that is not there is left out.
    """
    page: list[str] = []
    places: list[int] = []  # of each letter, the character that it is of
    for place, character in enumerate(characters):
        plain = letters(character)
        page.append(plain)
        places += [place] * len(plain)
    text = "".join(page)
    spans = {span for quote in quotes for span in _find(text, quote)}
    return [
        Span(places[span.start], _with_punctuation(characters, places[span.end - 1] + 1))
        for span in sorted(spans, key=_ends)
    ]


def _with_punctuation(characters: Sequence[str], end: int) -> int:
    """Move the end of a sentence behind its full stop, and what closes after that."""
    while end < len(characters) and unicodedata.category(characters[end] or " ")[0] == "P":
        end += 1
    return end


def _ends(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _find(text: str, quote: Quote) -> list[Span]:
    """Find a quotation in one piece, or else in pieces."""
    if not quote.letters:
        return []
    at = last = text.find(quote.letters)
    for _ in range(quote.before):
        at = text.find(quote.letters, at + len(quote.letters))
        if at < 0:
            break
        last = at
    if last >= 0:
        return [Span(last, last + len(quote.letters))]
    pieces = list(_pieces(text, quote.letters))
    covered = sum(piece.end - piece.start for piece in pieces)
    return pieces if covered >= _LEAST_SHARE * len(quote.letters) else []


def _pieces(text: str, quoted: str) -> list[Span]:
    """Cover a quotation by the longest pieces that the page has, each after the one before it if
    it can be.
    """
    pieces: list[Span] = []
    place = after = 0
    while place < len(quoted):
        least = _least(quoted, place)
        size = _longest(text, quoted, place, least) if least else 0
        if not size:
            place += 1
            continue
        piece = quoted[place : place + size]
        at = text.find(piece, after)
        if at < 0:
            at = text.find(piece)
        pieces.append(Span(at, at + size))
        place, after = place + size, at + size
    return pieces


def _least(quoted: str, place: int) -> int:
    """Return how many letters from a place on say enough; 0 where all that follow do not."""
    weight = 0
    for size, letter in enumerate(quoted[place : place + _LEAST_WEIGHT], 1):
        weight += 3 if ord(letter) >= _WIDE else 1
        if weight >= _LEAST_WEIGHT:
            return size
    return 0


def _longest(text: str, quoted: str, place: int, least: int) -> int:
    """Return the length of the longest piece from a place on that a text has; 0 below the least."""
    if quoted[place : place + least] not in text:
        return 0
    fits, fails = least, len(quoted) - place + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if quoted[place : place + middle] in text:
            fits = middle
        else:
            fails = middle
    return fits
