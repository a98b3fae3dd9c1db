"""Make any string storable without moving more than it must.

The result is the canonical text: every offset in ragkit counts in it. Nothing is composed,
folded or trimmed here, so that a quotation stays what the source says.
"""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # PostgreSQL takes neither
_NEWLINES = re.compile("\r\n?|\u2028|\u2029|\x85")


def clean(text: str) -> str:
    r"""Replace NUL and lone surrogates by U+FFFD and every kind of line end by "\n".

    >>> clean("a\r\nb\x00c")
    'a\nb\ufffdc'
    """
    return _NEWLINES.sub("\n", _UNSTORABLE.sub("\ufffd", text))
