"""Text as a terminal may show it, and quotations as they read."""

import re

from ragkit.text.plain import cells, list_text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOT_IN_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def printable(text: str) -> str:
    """Replace control characters, so that a document cannot control the terminal."""
    return _CONTROL.sub("\ufffd", text)


def printable_line(text: str) -> str:
    """Replace line breaks, too, so that a file name cannot imitate a line of output."""
    return _NOT_IN_A_LINE.sub("\ufffd", text)


def readable(quote: str) -> str:
    """Write a quotation as it reads: without marks, a row's cells apart, a list's items by lines.

    >>> readable("| **Li Wei** | 4711 |"), readable("1. Hold it.\\n2. Let go.")
    ('Li Wei | 4711', '1. Hold it.\\n2. Let go.')
    """
    if quote.startswith("|"):
        return " | ".join(cells(quote))
    return list_text(quote)
