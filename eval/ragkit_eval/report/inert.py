"""Text of documents and models made fit to show: nothing in it commands, reorders or floods a page.

It knows nothing of markup: escaping is the template's, quoting the table's.
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
    """A piece of a text and what is said of it: "unsupported", "partly", "cite", "quote", ..."""

    text: str
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """Something said of `text[start:end]`."""

    start: int
    end: int
    kind: str


def inert(text: str) -> str:
    """Replace control characters, lone surrogates and direction controls by what can be seen."""
    text = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    return _BIDI.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def line(text: str, limit: int = 160) -> str:
    """Return a text as one inert line of at most so many characters."""
    flat = " ".join(inert(text[: limit * 8]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 8 else flat[: limit - 1] + "…"


def head(text: str, limit: int) -> tuple[str, int]:
    """Return the first characters of a text and how many are left out."""
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)


def segments(text: str, marks: Iterable[Mark] = ()) -> tuple[Segment, ...]:
    """Cut a text wherever a mark begins or ends; what lies outside the text is left out."""
    kept = [
        Mark(max(0, mark.start), min(len(text), mark.end), mark.kind)
        for mark in marks
        if mark.start < len(text) and mark.end > 0
    ]
    cuts = sorted({0, len(text), *(mark.start for mark in kept), *(mark.end for mark in kept)})
    return tuple(
        Segment(
            inert(text[start:end]),
            tuple(dict.fromkeys(m.kind for m in kept if m.start <= start and end <= m.end)),
        )
        for start, end in pairwise(cuts)
    )


def language(text: str) -> str:
    """Return "zh" where there is any Chinese character, so that a browser takes fitting fonts."""
    return "zh" if _HAN.search(text) else ""
