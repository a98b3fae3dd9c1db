"""Decode a page by the charset that it declares, if it keeps its word.

It knows nothing of what is on the page.
"""

from __future__ import annotations

import re

from ragkit_ingest.parse.decode import decode, lookup

_CHARSET = re.compile(
    rb"""<(?:meta\b[^>]{0,512}?charset|\?xml[^>]{0,99}?encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I
)
_CHARSET_BYTES = 4096  # browsers look at 1024


def decode_page(data: bytes) -> str:
    """Decode by the page's own word, if it keeps it; by what the bytes look like otherwise."""
    declared = _CHARSET.search(data, 0, _CHARSET_BYTES)
    name = lookup(declared.group(1).decode("ascii", "replace")) if declared else None
    if name and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            pass
    return decode(data)
