"""Make texts of documents and models safe to show: they cannot control, reorder or flood a page.

Escaping markup is left to the template, quoting to the table.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
# Overrides and isolates can make text read as what it does not say (CVE-2021-42574).
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def inert(text: str) -> str:
    """Replace control characters, lone surrogates and direction controls by visible characters."""
    text = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    return _BIDI.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def line(text: str, limit: int = 160) -> str:
    """Return a text as one safe line of at most `limit` characters."""
    flat = " ".join(inert(text[: limit * 8]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 8 else flat[: limit - 1] + "…"
