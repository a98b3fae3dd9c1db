"""The lines of a PDF page with their places, as pdfium reads them."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_LINE = re.compile(r"[^\r\n]+")
_HYPHEN = re.compile("[\x02\ufffe\u00ad]")  # pdfium's mark where it joined a hyphenated word
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_WIDE_GAP = 2.0  # in line heights: between the columns of a table, never between words


@dataclass(frozen=True, slots=True)
class Line:
    """A line's text, still with the space at its end, and where it is; y grows upwards.

    Where pdfium joined a hyphenated word, a line is two: it begins at `first_bottom` and ends at
    `bottom`.
    """

    text: str
    left: float
    right: float
    first_bottom: float
    bottom: float
    height: float
    has_gap: bool = False


def lines(page: PdfPage) -> list[Line]:
    """Read a page's lines in pdfium's order; control characters and soft hyphens are taken out."""
    from pypdfium2 import raw

    textpage = page.get_textpage()
    try:
        handle = textpage.raw
        count = raw.FPDFText_CountChars(handle)
        codes = [raw.FPDFText_GetUnicode(handle, index) for index in range(max(count, 0))]
        # One character per index, so that places in the text are pdfium's own.
        text = "".join(map(_character, codes))
        boxes = _Boxes(handle)
        return [
            line for match in _LINE.finditer(text) if (line := _line(text, *match.span(), boxes))
        ]
    finally:
        textpage.close()


class _Boxes:
    """Asks pdfium where characters are."""

    def __init__(self, handle: object) -> None:
        from pypdfium2 import raw

        self._handle = handle
        self._ask = raw.FPDFText_GetLooseCharBox
        self._rectangle = raw.FS_RECTF()
        self._pointer = ctypes.byref(self._rectangle)

    def at(self, index: int) -> tuple[float, float, float, float]:
        """Give (left, right, bottom, top) of one character."""
        if not self._ask(self._handle, index, self._pointer):
            return 0.0, 0.0, 0.0, 0.0
        found = self._rectangle
        return found.left, found.right, found.bottom, found.top


def _line(text: str, start: int, end: int, boxes: _Boxes) -> Line | None:
    words = text[start:end]
    lead = len(words) - len(words.lstrip())
    body = words.strip()
    if not body:
        return None
    first, last = start + lead, start + lead + len(body) - 1
    begin, end_box = boxes.at(first), boxes.at(last)
    left, right = min(begin[0], end_box[0]), max(begin[1], end_box[1])
    height = max(begin[3] - begin[2], end_box[3] - end_box[2])
    first_bottom, bottom = begin[2], end_box[2]
    if not _HYPHEN.search(body):
        first_bottom = bottom = min(first_bottom, bottom)
    has_gap = any(
        boxes.at(place + 1)[0] - boxes.at(place - 1)[1] > _WIDE_GAP * height > 0
        for place in range(first + 1, last)
        if text[place] == " "
    )
    tail = " " if words[-1].isspace() else ""
    clean = _CONTROLS.sub("", _HYPHEN.sub("", body))
    if not clean:
        return None
    return Line(_paired(clean) + tail, left, right, first_bottom, bottom, height, has_gap)


def _character(code: int) -> str:
    return chr(code) if 0 < code <= 0x10FFFF else "\ufffd"


def _paired(text: str) -> str:
    """Join the halves of characters beyond the basic plane, which pdfium gives one by one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
