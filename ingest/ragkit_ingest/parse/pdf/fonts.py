"""The fonts of a PDF page's lines: size as it is shown, bold, fixed width.

What they mean, such as a heading, is decided elsewhere.
"""

from __future__ import annotations

import ctypes
import math
import re
from dataclasses import dataclass
from functools import lru_cache

_MAX_NAME_BYTES = 128  # arbitrary; longer names are cut off
_BOLD = re.compile(
    rb"bold|black|heavy|demi|[-,_ ](?:bd|b|md|w[6-9])$|cmbx|simhei|heiti|\xe9\xbb\x91\xe4\xbd\x93",
    re.IGNORECASE,
)
_FIXED = re.compile(rb"mono|courier|consol|menlo|typewriter|cmtt|fixed|code", re.IGNORECASE)
_STROKED = 2  # fill and stroke: how programs thicken a font that has no bold


@dataclass(frozen=True, slots=True)
class Font:
    """How all of a line is set: its usual size in points, 0 where it is not known.

    Drawn letters (Type 3) have a font without a name, which says nothing of weight and width.
    """

    size: float = 0.0
    is_bold: bool = False
    is_fixed: bool = False
    is_named: bool = True


class Fonts:
    """Asks pdfium about the fonts of characters."""

    def __init__(self, handle: object) -> None:
        from pypdfium2 import raw

        self._raw = raw
        self._handle = handle
        self._matrix = raw.FS_MATRIX()
        self._pointer = ctypes.byref(self._matrix)
        self._name = ctypes.create_string_buffer(_MAX_NAME_BYTES)
        self._flags = ctypes.c_int()
        self._flags_pointer = ctypes.byref(self._flags)
        self._address = 0  # of the text object that was asked about last
        self._font = Font()

    def of(self, body: str, first: int) -> Font:
        """Give the font of a line by its first, middle and last character.

        `first` is the index of `body`'s first character, and each character has an index.
        """
        middle = len(body) // 2
        places = {0, middle + body[middle].isspace(), len(body) - 1}
        fonts = [self._at(first + place) for place in sorted(places)]
        named = [font for font in fonts if font.is_named]
        return Font(
            sorted(font.size for font in fonts)[len(fonts) // 2],
            bool(named) and all(font.is_bold for font in named),
            bool(named) and all(font.is_fixed for font in named),
        )

    def _at(self, index: int) -> Font:
        raw = self._raw
        page_object = raw.FPDFText_GetTextObject(self._handle, index)
        if not page_object:
            return Font()
        address = ctypes.cast(page_object, ctypes.c_void_p).value or 0
        if address != self._address:
            self._address, self._font = address, self._read(index, page_object)
        return self._font

    def _read(self, index: int, page_object: object) -> Font:
        raw, handle = self._raw, self._handle
        size = raw.FPDFText_GetFontSize(handle, index)
        if raw.FPDFText_GetMatrix(handle, index, self._pointer):
            size *= math.hypot(self._matrix.c, self._matrix.d)
        raw.FPDFText_GetFontInfo(handle, index, self._name, _MAX_NAME_BYTES, self._flags_pointer)
        is_bold, is_fixed = _kinds(self._name.value)
        mode = raw.FPDFTextObj_GetTextRenderMode(page_object)
        is_named = bool(self._name.value)
        return Font(size, is_bold or mode == _STROKED, is_fixed, is_named)


@lru_cache(maxsize=256)
def _kinds(name: bytes) -> tuple[bool, bool]:
    return bool(_BOLD.search(name)), bool(_FIXED.search(name))
