"""Make any string storable without moving more than it must.

The result is the canonical text: every offset in ragkit counts in it. Nothing is composed,
folded or trimmed here, so that a quotation stays what the source says.
"""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # PostgreSQL takes neither
_NEWLINES = re.compile("\r\n?|\u2028|\u2029|\x85")
_CHANGED = "\x00\r\u2028\u2029\x85"  # besides surrogates


def clean(text: str) -> str:
    r"""Replace NUL and lone surrogates by U+FFFD and every kind of line end by "\n".

    >>> clean("a\r\nb\x00c")
    'a\nb\ufffdc'
    """
    return text if is_clean(text) else _NEWLINES.sub("\n", _UNSTORABLE.sub("\ufffd", text))


def is_clean(text: str) -> bool:
    """Tell whether `clean` leaves a text as it is."""
    try:
        text.encode()  # looking for one character after the other is 10 times as quick as for all
    except UnicodeEncodeError:  # a surrogate
        return False
    return not any(character in text for character in _CHANGED)
