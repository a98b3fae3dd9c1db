"""Decode a page by the charset that its server or it itself declares, if it keeps its word.

A byte order mark comes first, then the server's word, then the page's own, as the HTML standard has
it (13.2.3.2).
"""

from __future__ import annotations

import codecs
import re

from ragkit_ingest.parse.decode import decode, lookup

_CHARSET = re.compile(
    rb"""<(?:meta\b[^>]{0,512}?charset|\?xml[^>]{0,99}?encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I
)
_CHARSET_BYTES = 4096  # browsers look at 1024
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode_page(data: bytes) -> str:
    """Decode by the page's own word, if it keeps it; by what the bytes look like otherwise."""
    declared = _CHARSET.search(data, 0, _CHARSET_BYTES)
    name = lookup(declared.group(1).decode("ascii", "replace")) if declared else None
    if name and not data.startswith(_MARKS):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            pass
    return decode(data)


def marked(data: bytes, charset: str) -> bytes:
    """Return a text that a server gave a charset for as UTF-8 with a mark that says so.

    It is returned as it is where it has a mark already, or cannot be of that charset.
    """
    name = lookup(charset)
    if name is None or data.startswith(_MARKS):
        return data
    try:
        return codecs.BOM_UTF8 + data.decode(name).encode()
    except UnicodeError:
        return data
