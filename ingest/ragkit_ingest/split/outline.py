"""The sections of a text, and the headings and page of each span."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ragkit.text.places import page_at
from ragkit.types import Block, ParsedText

# The marks of a heading's level, before it and sometimes behind; the last sign of "C#" is none.
_MARKS = re.compile(r"\A#{1,6}(?:\s+|\Z)|(?:\A|\s)#+\Z")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its text up to the next heading; `body` is where the heading's line ends.

    The text before the first heading is a section of level 0.
    """

    start: int
    body: int
    path: tuple[str, ...]
    level: int
    end: int


class Outline:
    """The sections of one text, in order; together they are all of it."""

    def __init__(self, parsed: ParsedText) -> None:
        self._text = parsed.text
        self._pages = parsed.pages
        self.sections = _sections(parsed)
        self.starts = [section.start for section in self.sections]

    def page(self, position: int) -> int | None:
        return page_at(self._pages, position)

    def path(self, start: int, end: int) -> tuple[str, ...]:
        """Return the headings that all of a stretch's text stands under."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1)
        touched = self.sections[first:last]
        if len(touched) == 1:
            return touched[0].path
        paths = [
            section.path
            for section in touched
            if self._text[max(section.body, start) : min(section.end, end)].strip()
        ]
        return _common(paths or [touched[-1].path])


def _sections(parsed: ParsedText) -> list[Section]:
    """Divide a text at its headings; the first section begins with the text."""
    path: list[tuple[int, str]] = []
    heads: list[tuple[int, int, tuple[str, ...], int]] = []
    for block in parsed.blocks:
        if block.kind == "heading":
            heading = heading_text(parsed.text, block)
            path = [*(outer for outer in path if outer[0] < block.level), (block.level, heading)]
            heads.append((block.start, block.end, tuple(text for _, text in path), block.level))
    if not heads or heads[0][0] > 0:
        heads.insert(0, (0, 0, (), 0))
    ends = [*(head[0] for head in heads[1:]), len(parsed.text)]
    return [Section(*head, end) for head, end in zip(heads, ends, strict=True)]


def heading_text(text: str, block: Block) -> str:
    """Return a heading as one line, without the marks of its level.

    >>> heading_text("## About C# ##", Block(0, 14, "heading", 2))
    'About C#'
    """
    return " ".join(_MARKS.sub("", text[block.start : block.end].strip()).split())


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    shared = 0
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    return paths[0][:shared]
