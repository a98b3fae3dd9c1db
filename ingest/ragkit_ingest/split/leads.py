"""Leads: the header row or signature repeated over later pieces of a table or of code."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from ragkit.types import Block, Span

_DELIMITERS = frozenset(" \t:|-")
_FENCE = ("```", "~~~")
# How a line ends that opens a body: `def f(x):`, `class X {`, `for (;;) {`, `loop do`, `if x then`.
_OPENING = (":", "{", "(", "=>", "->", " do", " then", " begin", " is", " where")
_MAX_LINE_CHARS = 2000  # arbitrary: a longer line is data, and no header or signature


class Leads:
    """The tables and code blocks of one text that have something to repeat."""

    def __init__(self, text: str, blocks: Sequence[Block]) -> None:
        pairs = [(block, _lead(text, block)) for block in blocks]
        self._led = [(block, lead) for block, lead in pairs if lead is not None]
        self._starts = [block.start for block, _ in self._led]

    def at(self, position: int) -> Span | None:
        """Return the lead of the block that a position lies inside of, below the lead itself."""
        headed = self._block_before(position)
        if headed is None:
            return None
        block, lead = headed
        return lead if lead.end < position < block.end else None

    def headed(self, position: int) -> Block | None:
        """Return the block in whose head a position lies: a cut there would leave it alone."""
        lead = self._block_before(position)
        return lead[0] if lead and position <= lead[1].end + 1 else None

    def heads(self) -> Sequence[range]:
        """Return the places, block by block, at which a head would be cut or parted from its body.

        One more than the lead's end, since a new line comes between.
        """
        return [range(block.start + 1, lead.end + 2) for block, lead in self._led]

    def _block_before(self, position: int) -> tuple[Block, Span] | None:
        index = bisect_left(self._starts, position) - 1
        return self._led[index] if index >= 0 else None


def _lead(text: str, block: Block) -> Span | None:
    if block.kind == "table":
        return _header(text, block)
    return _signature(text, block) if block.kind == "code" else None


def _header(text: str, block: Block) -> Span | None:
    """Return a Markdown table's first row and the delimiter row below it, if it has rows."""
    first = _line_end(text, block.start, block.end)
    second = _line_end(text, first + 1, block.end)
    if second - block.start > _MAX_LINE_CHARS or second >= block.end - 1:
        return None
    row = text[first + 1 : second]
    return Span(block.start, second) if "-" in row and _DELIMITERS.issuperset(row) else None


def _signature(text: str, block: Block) -> Span | None:
    """Return code's first line where it opens a body; a fence is no part of it."""
    start = block.start
    end = _line_end(text, start, block.end)
    if text.startswith(_FENCE, start):
        start, end = end + 1, _line_end(text, end + 1, block.end)
    if not 0 < end - start <= _MAX_LINE_CHARS or end >= block.end - 1:
        return None
    return Span(start, end) if text[start:end].rstrip().lower().endswith(_OPENING) else None


def _line_end(text: str, start: int, end: int) -> int:
    line_end = text.find("\n", start, end) if start < end else -1
    return end if line_end < 0 else line_end
