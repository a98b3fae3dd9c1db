"""Split texts of documents and models at their marks, so that a template can show them safely."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ragkit.report.safe_text import inert

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
