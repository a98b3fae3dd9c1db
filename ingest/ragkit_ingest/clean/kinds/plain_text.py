"""Normalise a text for the finders: full-width forms, dashes and spaces become plain ones.

Each character stays one character, so that what is found in it lies where it does in the text.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SLICE_CHARS = 1 << 20  # read together; bounds memory
_BMP = 0x10000
_FULL_WIDTH: Final = range(0xFF01, 0xFF5F)  # in ASCII's order, from "!" to "~"
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63"
_SPACES: Final = "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"


def plain(text: str) -> str:
    """Return the text with plain letters, digits, signs, dashes and spaces, as long as it was.

    >>> plain("０１０\u2013１２３４\u3000（Ａ）")
    '010-1234 (A)'
    """
    if text.isascii():
        return text
    import numpy as np

    pieces = []
    for start in range(0, len(text), _SLICE_CHARS):
        data = text[start : start + _SLICE_CHARS].encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(data, "<u4")
        within = _read_as()[np.minimum(codes, _BMP - 1)]
        read = np.where(codes < _BMP, within, codes)
        pieces.append(read.tobytes().decode("utf-32-le", "surrogatepass"))
    return "".join(pieces)


@cache
def _read_as() -> NDArray[np.uint32]:
    import numpy as np

    table = np.arange(_BMP, dtype="<u4")
    table[_FULL_WIDTH.start : _FULL_WIDTH.stop] = range(ord("!"), ord("~") + 1)
    table[list(map(ord, _DASHES))] = ord("-")
    table[list(map(ord, _SPACES))] = ord(" ")
    return table
