"""PDFs of one page made on the spot: turned, cropped, Chinese, locked, huge."""

from __future__ import annotations

import hashlib
from typing import Final

from tests.ingest.pdfs import assembled

CATALOG: Final = b"<< /Type /Catalog /Pages 2 0 R >>"
ONE_PAGE: Final = b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>"
COURIER: Final = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
CHINESE: Final = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-%s"
    b" /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light"
    b" /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 5 >> /DW 1000 >>] >>"
)
_PAD: Final = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_PERMISSIONS: Final = -44


def one_page(
    content: str, *, page: str = "/MediaBox [0 0 612 792]", font: bytes = COURIER
) -> bytes:
    """Write a PDF of a page with a content stream; `page` is added to its dictionary."""
    objects = [CATALOG, ONE_PAGE, font, _page(page), _stream(content.encode("latin-1"))]
    return assembled(objects, "/Root 1 0 R")


def chinese(x: float, y: float, line: str, *, size: float = 12) -> str:
    """Set a line in UCS-2 with its beginning at a place."""
    return f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm <{line.encode('utf-16-be').hex()}> Tj ET\n"


def locked(content: str) -> bytes:
    """Write a PDF that anybody may open, and only its owner may change (ISO 32000-1, 7.6.3)."""
    owner = _rc4(hashlib.md5(_PAD, usedforsecurity=False).digest()[:5], _PAD)
    seed = _PAD + owner + (_PERMISSIONS & 0xFFFFFFFF).to_bytes(4, "little") + b"\0"
    key = hashlib.md5(seed, usedforsecurity=False).digest()[:5]
    of_stream = key + (5).to_bytes(3, "little") + b"\0\0"
    stream_key = hashlib.md5(of_stream, usedforsecurity=False).digest()[:10]
    lock = b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P %d >>" % (
        owner.hex().encode(),
        _rc4(key, _PAD).hex().encode(),
        _PERMISSIONS,
    )
    body = _stream(_rc4(stream_key, content.encode("latin-1")))
    page = _page("/MediaBox [0 0 612 792]")
    objects = [CATALOG, ONE_PAGE, COURIER, page, body, lock]
    return assembled(objects, "/Root 1 0 R /Encrypt 6 0 R /ID [<00> <00>]")


def _page(more: str) -> bytes:
    return (
        f"<< /Type /Page /Parent 2 0 R {more} /Contents 5 0 R"
        " /Resources << /Font << /F1 3 0 R >> >> >>"
    ).encode()


def _stream(body: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body)


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
