"""Make texts of documents and models safe to show: they cannot control, reorder or flood a page.

Escaping markup is left to the template, quoting to the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
# Overrides and isolates can make text read as what it does not say (CVE-2021-42574).
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text with its marks: "unsupported", "partly", "cite", "quote", ..."""

    text: str
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of `text[start:end]`."""

    start: int
    end: int
    kind: str


def inert(text: str) -> str:
    """Replace control characters, lone surrogates and direction controls by visible characters."""
    text = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    return _BIDI.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def line(text: str, limit: int = 160) -> str:
    """Return a text as one safe line of at most `limit` characters."""
    flat = " ".join(inert(text[: limit * 8]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 8 else flat[: limit - 1] + "…"


def head(text: str, limit: int) -> tuple[str, int]:
    """Return the first characters of a text, and the number of the remaining ones."""
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)


def segments(text: str, marks: Iterable[Mark] = ()) -> tuple[Segment, ...]:
    """Split a text at the ends of marks; marks outside of the text are left out."""
    inside = [
        Mark(max(0, mark.start), min(len(text), mark.end), mark.kind)
        for mark in marks
        if mark.start < len(text) and mark.end > 0
    ]
    cuts = sorted({0, len(text), *(mark.start for mark in inside), *(mark.end for mark in inside)})
    return tuple(
        Segment(
            inert(text[start:end]),
            tuple(
                dict.fromkeys(
                    mark.kind for mark in inside if mark.start <= start and end <= mark.end
                )
            ),
        )
        for start, end in pairwise(cuts)
    )


def language(text: str) -> str:
    """Return "zh" for a text with any Chinese character, so that a browser uses fitting fonts."""
    return "zh" if _HAN.search(text) else ""
