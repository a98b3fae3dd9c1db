"""Write pixels as PNG (ISO/IEC 15948), by zlib alone; a page without colours in shades of grey."""

from __future__ import annotations

import struct
import zlib
from typing import Final

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_GREY: Final = 0
_COLOURS: Final = 2
_LEVEL: Final = 1  # a page's text is a tenth larger than at 6, in a quarter of the time


def png(pixels: bytes, width: int, height: int, stride: int) -> bytes:
    """Return a PNG of rows of red, green and blue bytes, each row `stride` bytes long."""
    if pixels[0::3] == pixels[1::3] == pixels[2::3] and stride == 3 * width:
        pixels, stride, kind, row = pixels[0::3], width, _GREY, width
    else:
        kind, row = _COLOURS, 3 * width
    rows = b"".join(b"\0" + pixels[y * stride : y * stride + row] for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, _LEVEL)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
