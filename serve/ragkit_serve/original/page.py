"""A page of a PDF by pdfium: drawn at a bounded size, and the boxes of characters on it.

Boxes are shares of the page as it is shown, from its upper left corner: turned and cropped pages
included.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ragkit.types import Span
from ragkit_serve.original.letters import Quote, find_quotes
from ragkit_serve.original.png import png

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

LONG_SIDE: Final = 1754  # pixels: A4 at 150 dots an inch, whatever the page's size
_MOST_SCALE: Final = 8.0  # of a tiny page
_MAX_CHARS: Final = 200_000  # arbitrary, of a page
MAX_MARKS: Final = 400  # arbitrary; a page has some sixty lines
_GRID: Final = 1 << 20  # pdfium tells places in whole steps of it
_SAME_LINE: Final = 0.5  # of the lower box's height: so much in common makes two boxes one line
_MOST_GAP: Final = 1.5  # in heights: between words, not between columns
_MARGIN: Final = 0.12  # of a line's height, added above and below: boxes are as high as letters

Box = tuple[float, float, float, float]  # left, top, right, bottom


def draw(page: PdfPage) -> bytes:
    """Draw a page as PNG, `LONG_SIDE` pixels on its longer side."""
    scale = min(LONG_SIDE / max(page.get_size()), _MOST_SCALE)
    bitmap = page.render(scale=scale, rev_byteorder=True, may_draw_forms=False)
    try:
        return png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride)
    finally:
        bitmap.close()


def marks(page: PdfPage, quotes: Sequence[Quote]) -> list[Box]:
    """Return the boxes of quotations on a page, a line or a part of one each."""
    if not quotes:
        return []
    textpage = page.get_textpage()
    try:
        spans = find_quotes(_characters(textpage), quotes)
        boxes = [box for span in spans for box in _boxes(page, textpage, span)]
    finally:
        textpage.close()
    return [_clipped(box) for box in _lines(boxes)][:MAX_MARKS]


def _characters(textpage: PdfTextPage) -> list[str]:
    """Return a page's characters, one for each of pdfium's places.

    Of a character beyond the basic plane, which pdfium may give in two halves, the first place has
    all of it.
    """
    from pypdfium2 import raw

    count = min(max(raw.FPDFText_CountChars(textpage.raw), 0), _MAX_CHARS)
    codes = [raw.FPDFText_GetUnicode(textpage.raw, place) for place in range(count)]
    characters = [chr(code) if 0 < code <= 0x10FFFF else "" for code in codes]
    for place in range(count - 1):
        if 0xD800 <= codes[place] < 0xDC00 <= codes[place + 1] < 0xE000:
            pair = characters[place] + characters[place + 1]
            characters[place] = pair.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            characters[place + 1] = ""
    return characters


def _boxes(page: PdfPage, textpage: PdfTextPage, span: Span) -> Iterator[Box]:
    """Yield the boxes of a span of characters, as pdfium has them: a piece of a line each."""
    count = textpage.count_rects(span.start, span.end - span.start)
    for place in range(min(count, 4 * MAX_MARKS)):
        left, bottom, right, top = textpage.get_rect(place)
        ends = (_shown(page, left, bottom), _shown(page, right, top))
        xs, ys = zip(*ends, strict=True)
        if min(xs) < max(xs) and min(ys) < max(ys):
            yield min(xs), min(ys), max(xs), max(ys)


def _shown(page: PdfPage, x: float, y: float) -> tuple[float, float]:
    """Return a place of the page as shares of what is shown of it."""
    from pypdfium2 import raw

    across, down = ctypes.c_int(), ctypes.c_int()
    shown = (0, 0, _GRID, _GRID, 0)
    raw.FPDF_PageToDevice(page.raw, *shown, x, y, ctypes.byref(across), ctypes.byref(down))
    return across.value / _GRID, down.value / _GRID


def _lines(boxes: Sequence[Box]) -> list[Box]:
    """Join boxes that stand beside each other on a line."""
    lines: list[Box] = []
    for box in boxes:
        if lines and _are_beside(lines[-1], box):
            lines[-1] = _joined(lines[-1], box)
        else:
            lines.append(box)
    return lines


def _joined(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _are_beside(a: Box, b: Box) -> bool:
    heights = a[3] - a[1], b[3] - b[1]
    common = min(a[3], b[3]) - max(a[1], b[1])
    gap = max(a[0], b[0]) - min(a[2], b[2])
    return common > _SAME_LINE * min(heights) and gap < _MOST_GAP * max(heights)


def _clipped(box: Box) -> Box:
    """Add a margin above and below, and cut off what is outside the page."""
    left, top, right, bottom = box
    margin = _MARGIN * (bottom - top)
    values = (left, top - margin, right, bottom + margin)
    left, top, right, bottom = (min(max(value, 0.0), 1.0) for value in values)
    return left, top, right, bottom
