"""Headers and footers: lines repeated at one place of several pages, and page numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ragkit_ingest.parse.pdf.lines import Line, usual_height

_BAND = 0.12  # of the page's height at its top and bottom: where margins commonly are
_DEPTH = 3  # lines at either end; arbitrary, headers have seldom more
_REPEATS = 3  # pages; two may share a line by chance
_REACH = 2  # pages to the next of its kind: left and right pages have headers of their own
_HEADING = 1.15  # so much larger than the page's text is a heading, which may come again
_CLOSE = 1.6  # of a line's height: a line so near above or below is of the same text
_MAX_CHARS = 200  # arbitrary: longer is a paragraph
_NUMBER = re.compile(r"(?<![\d.,])\d{1,5}(?![\d.,]*\d)")
_ROMAN = re.compile(r"m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
# What stands around a page number that is alone; "Table 1" over one page and "Table 2" over the
# next are something else.
_ALONE = re.compile(
    r"\W*(?:page|pg?|seite|第)?\W*\0\W*(?:页|頁)?\W*(?:(?:of|von|共)?\W*\d*\W*(?:页|頁)?)\W*"
)
_NUMBERED = re.compile(r"[^\W\d_]+\W?\W?\0\W?")
_MAX_COUNTER_CHARS = 24  # arbitrary; it bounds what the pattern may try
_PLACE_STEP = 0.01  # of the page's height: lines so near are at one place

Key = tuple[str, int]
Furniture = frozenset[tuple[int, int]]


def furniture(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> Furniture:
    """Find headers and footers as (page, place among its lines); turned pages keep what they have.

    Lines of one text at one place count as such on three pages that follow each other or every
    other one; page numbers on two, as long as they grow with the pages.
    """
    positions: defaultdict[Key, list[tuple[int, int]]] = defaultdict(list)
    counters: set[Key] = set()
    for page, lines in enumerate(pages):
        for place in _candidates(lines, heights[page]):
            at = round(lines[place].bottom / max(heights[page] * _PLACE_STEP, 0.1))
            for text, counts in _texts(lines[place].text, page):
                for near in (at, at + 1):  # neighbours share one of two places
                    key = (text, near)
                    positions[key].append((page, place))
                    if counts:
                        counters.add(key)
    repeated = {
        position
        for key, group in positions.items()
        for position in _in_a_row(group, 2 if key in counters else _REPEATS)
    }
    return frozenset(repeated - _in_text(pages, heights, repeated))


def _in_text(
    pages: Sequence[Sequence[Line]], heights: Sequence[float], repeated: set[tuple[int, int]]
) -> set[tuple[int, int]]:
    """Give those lines that only begin or end a page's text: the next one stands close by them."""
    in_text: set[tuple[int, int]] = set()
    # From the middle of the page outwards, so that a line's neighbour has been judged before it.
    outwards = sorted(repeated, key=lambda at: abs(pages[at[0]][at[1]].middle - heights[at[0]] / 2))
    for page, place in outwards:
        line = pages[page][place]
        inwards = -1 if line.middle > heights[page] / 2 else 1
        for neighbour, near in enumerate(pages[page]):
            step = inwards * (near.middle - line.middle)
            if (
                line.height / 2 < step < _CLOSE * line.height
                and abs(near.height - line.height) < 0.1 * line.height
                and min(near.right, line.right) > max(near.left, line.left)
                and ((page, neighbour) not in repeated or (page, neighbour) in in_text)
            ):
                in_text.add((page, place))
    return in_text


def _candidates(lines: Sequence[Line], height: float) -> list[int]:
    """Give the places of the lines outermost at the top and at the bottom."""
    usual = usual_height(lines)
    upright = [place for place, line in enumerate(lines) if not line.is_turned]
    upright.sort(key=lambda place: lines[place].bottom)
    low = [p for p in _outermost(lines, upright) if lines[p].top < _BAND * height]
    high = [p for p in _outermost(lines, upright[::-1]) if lines[p].bottom > (1 - _BAND) * height]
    return [
        place
        for place in {*low, *high}
        if lines[place].height <= _HEADING * usual and len(lines[place].text) <= _MAX_CHARS
    ]


def _outermost(lines: Sequence[Line], ordered: Sequence[int]) -> Iterator[int]:
    """Give the places of the first lines; what stands side by side is one line."""
    depth, last = 0, None
    for place in ordered:
        if last is None or abs(lines[place].middle - last) > lines[place].height / 2:
            depth, last = depth + 1, lines[place].middle
        if depth > _DEPTH:
            return
        yield place


def _texts(text: str, page: int) -> Iterator[tuple[str, bool]]:
    """Give what a line is compared by: its text, and its text with one number told from the page's.

    The second of each pair says whether it is a page number and nothing else.
    """
    plain = " ".join(text.casefold().split())
    if not _NUMBER.fullmatch(plain):
        yield plain, False
    for number in list(_NUMBER.finditer(plain))[:4]:
        masked = f"{plain[: number.start()]}\0{plain[number.end() :]}"
        is_alone = len(masked) <= _MAX_COUNTER_CHARS and bool(_ALONE.fullmatch(masked))
        if is_alone or not _NUMBERED.fullmatch(masked):
            yield f"{masked}\0{int(number.group()) - page}", is_alone
    if plain and plain.isascii() and plain.isalpha() and _ROMAN.fullmatch(plain):
        yield f"\0i{_roman(plain) - page}", True


def _roman(text: str) -> int:
    values = [_ROMAN_DIGITS[letter] for letter in text]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def _in_a_row(group: Sequence[tuple[int, int]], repeats: int) -> Iterator[tuple[int, int]]:
    """Give those of a group, in order of their pages, that have enough of their kind in reach."""
    run: list[tuple[int, int]] = []
    for position in group:
        if run and position[0] - run[-1][0] > _REACH:
            yield from run if _pages(run) >= repeats else ()
            run = []
        run.append(position)
    yield from run if _pages(run) >= repeats else ()


def _pages(run: Sequence[tuple[int, int]]) -> int:
    return len({page for page, _ in run})
