"""A line of a PDF page with its place, and what follows from it.

How lines are read from a page stands in `page_text`, and for pictures in `ocr`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragkit_ingest.parse.pdf.fonts import Font

RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_WIDE_GAP = 2.0  # in line heights: between the columns of a table, never between words
_NO_FONT = Font()

Gap = tuple[float, float]  # where it begins and ends
Box = tuple[float, float, float, float]  # left, right, bottom, top


@dataclass(frozen=True, slots=True)
class Line:
    """A line's text, still with the space at its end, and where it is; y grows upwards.

    `gaps` are the places of the spaces in it, in order; none are given for writing from right to
    left. `has_gap`: one is as wide as between a table's columns. `is_broken`: it ends with a hyphen
    that may be no part of the word. A table stands as one line with `rows` and no text. `first` is
    the index of its first character in pdfium's text, for a table that of its first line; it is -1
    where `text` is not what stands there.
    `turn` is the angle by which it is set: 0, 90 (upwards), 180, 270 (downwards), -1 for another.
    """

    text: str
    left: float
    right: float
    bottom: float
    height: float
    gaps: tuple[Gap, ...] = ()
    has_gap: bool = False
    is_broken: bool = False
    turn: int = 0
    rows: tuple[tuple[str, ...], ...] = ()
    font: Font = _NO_FONT
    first: int = -1

    @property
    def is_turned(self) -> bool:
        return self.turn != 0

    @property
    def top(self) -> float:
        return self.bottom + self.height

    @property
    def middle(self) -> float:
        return self.bottom + self.height / 2


def split(line: Line, is_cut: Callable[[Gap], bool]) -> list[Line]:
    """Split a line at those of its gaps that are cuts."""
    cuts = [place for place, gap in enumerate(line.gaps) if is_cut(gap)]
    if not cuts:
        return [line]
    words = line.text.rstrip().split(" ")
    parts: list[Line] = []
    for begin, end in zip([-1, *cuts], [*cuts, len(words) - 1], strict=True):
        text = " ".join(words[begin + 1 : end + 1])
        left = line.gaps[begin][1] if begin >= 0 else line.left
        right = line.gaps[end][0] if end < len(line.gaps) else line.right
        offset = sum(len(word) + 1 for word in words[: begin + 1])
        is_last = end == len(words) - 1
        if text:
            parts.append(
                replace(
                    line,
                    text=text + (" " if not is_last or line.text.endswith(" ") else ""),
                    left=left,
                    right=right,
                    gaps=line.gaps[begin + 1 : end],
                    has_gap=has_wide(line.gaps[begin + 1 : end], line.height),
                    is_broken=is_last and line.is_broken,
                    first=line.first + offset if line.first >= 0 else -1,
                )
            )
    return parts


def has_wide(gaps: Sequence[Gap], height: float) -> bool:
    """Say whether there is a gap as between the columns of a table."""
    return any(right - left > _WIDE_GAP * height > 0 for left, right in gaps)


def turned_box(turn: int, left: float, right: float, bottom: float, top: float) -> Box:
    """Turn a box by the page's own angle, clockwise; only differences of places mean something."""
    if turn == 90:
        return bottom, top, -right, -left
    if turn == 180:
        return -right, -left, -top, -bottom
    if turn == 270:
        return -top, -bottom, left, right
    return left, right, bottom, top


def usual_height(lines: Sequence[Line]) -> float:
    """Give the height that most of the text has; 0 where there is none."""
    total = sum(len(line.text) for line in lines)
    chars = 0
    for line in sorted(lines, key=lambda line: line.height):
        chars += len(line.text)
        if 2 * chars >= total:
            return line.height
    return 0.0


def is_right_to_left(text: str) -> bool:
    """Say whether most of a text is written from right to left."""
    return 2 * len(RIGHT_TO_LEFT.findall(text)) > len(text)
