"""A page of a PDF by pdfium: drawn at a bounded size, and the boxes of characters on it.

Boxes are shares of the page as it is shown, from its upper left corner: turned and cropped pages
included.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ragkit.types import Span
from ragkit_serve.original.png import png
from ragkit_serve.original.quote_matching import Quote, find_quotes

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
        boxes = [box for span in spans for box in _boxes(textpage, span)]
    finally:
        textpage.close()
    boxes_shown = [_relative_box(page, line) for line in _lines(boxes)[:MAX_MARKS]]
    return [box for box in boxes_shown if box[0] < box[2] and box[1] < box[3]]


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


def _boxes(textpage: PdfTextPage, span: Span) -> Iterator[Box]:
    """Yield the boxes of a span of characters in points, as pdfium has them: a piece of a line
    each, upside down.
    """
    count = textpage.count_rects(span.start, span.end - span.start)
    for place in range(min(count, 4 * MAX_MARKS)):
        yield textpage.get_rect(place)


def _lines(boxes: Iterable[Box]) -> list[Box]:
    """Join boxes that stand beside each other on a line, and add a margin above and below."""
    lines: list[Box] = []
    for box in boxes:
        if lines and _are_beside(lines[-1], box):
            lines[-1] = _joined(lines[-1], box)
        else:
            lines.append(box)
    return [_with_margin(line) for line in lines]


def _joined(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _are_beside(a: Box, b: Box) -> bool:
    heights = a[3] - a[1], b[3] - b[1]
    common = min(a[3], b[3]) - max(a[1], b[1])
    gap = max(a[0], b[0]) - min(a[2], b[2])
    return common > _SAME_LINE * min(heights) and gap < _MOST_GAP * max(heights)


def _with_margin(box: Box) -> Box:
    left, bottom, right, top = box
    margin = _MARGIN * (top - bottom)
    return left, bottom - margin, right, top + margin


def _relative_box(page: PdfPage, box: Box) -> Box:
    """Return a box in points as shares of the visible page, from its upper left corner."""
    left, bottom, right, top = box
    xs, ys = zip(_place(page, left, bottom), _place(page, right, top), strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _place(page: PdfPage, x: float, y: float) -> tuple[float, float]:
    from pypdfium2 import raw

    across, down = ctypes.c_int(), ctypes.c_int()
    placement = (0, 0, _GRID, _GRID, 0)
    raw.FPDF_PageToDevice(page.raw, *placement, x, y, ctypes.byref(across), ctypes.byref(down))
    return _share(across.value), _share(down.value)


def _share(step: int) -> float:
    """Return a place on the grid as a share; what is cut off of the page is at its edge."""
    return min(max(step / _GRID, 0.0), 1.0)
