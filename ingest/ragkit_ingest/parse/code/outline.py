"""Lay headings and code blocks over a source whose definitions are known.

A definition's heading is its first line up to its name, so that headings make paths such as "class
Store > def put". What stands right above it (comments, decorators) is a heading too: the two are
never parted, and the upper one is in no path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragkit.types import Block

_LEVELS = 6
# About the 254 tokens that the default model takes: what is shorter is not looked into.
_WHOLE_CHARS = 800
_MAX_LEAD_CHARS = 1000  # arbitrary; a longer comment is a text of its own
_MAX_HEADING_CHARS = 100  # arbitrary; a heading is a label
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n)++")
_INDENT = re.compile(r"[ \t]*+")
_WORD = re.compile(r"\w")
# What only ends something: brackets, and the words that do so in shells, Ruby and Lua.
_CLOSERS = re.compile(r"(?:[\W_]|\b(?:end|fi|done|esac|endif)\b)*+\Z")
_MODIFIERS = re.compile(r"[\w \t]*+\Z")


@dataclass(frozen=True, slots=True)
class Definition:
    """A class, function or the like: where it begins, where its name ends, where it ends."""

    start: int
    name: int
    end: int


@dataclass(slots=True)
class _Node:
    start: int
    name: int
    end: int
    inner: list[_Node] = field(default_factory=list)


def blocks(text: str, definitions: Sequence[Definition], comments: tuple[str, ...]) -> list[Block]:
    """Lay blocks over a source; its `comments` begin lines that belong to what follows them."""
    outline = _Outline(text, comments)
    outline.stretch(0, len(text), _nested(text, definitions), 1)
    return outline.blocks


class _Outline:
    """One walk over the tree of definitions; it goes as deep as headings have levels."""

    def __init__(self, text: str, comments: tuple[str, ...]) -> None:
        self.blocks: list[Block] = []
        self._text = text
        self._comments = (*comments, "@")  # decorators and annotations

    def stretch(self, start: int, end: int, nodes: Sequence[_Node], level: int) -> None:
        """Write what stands between two places: definitions, and loose code around them."""
        done = start
        starts = [*(node.start for node in nodes[1:]), end]
        for node, limit in zip(nodes, starts, strict=False):
            lead = self._lead(done, node.start)
            self._loose(done, lead, 0 if done == start else level)
            self._definition(lead, node, level)
            done = self._line_end(node.end, limit)
        self._loose(done, end, 0 if done == start else level)

    def _definition(self, lead: int, node: _Node, level: int) -> None:
        head = max(self._text.rfind("\n", node.start, node.name) + 1, node.start)
        above = self._trimmed(lead, head)
        if above[1] - above[0] > _MAX_LEAD_CHARS:
            self._loose(*above, level)
        else:
            self._heading(*above, level)
        self._heading(*self._trimmed(head, min(node.name, head + _MAX_HEADING_CHARS)), level)
        line_end = self._text.find("\n", node.name, node.end)
        if line_end < 0:
            return
        if node.inner and level < _LEVELS and node.end - lead > _WHOLE_CHARS:
            self.stretch(line_end, node.end, node.inner, level + 1)
        else:
            self._code(line_end, node.end)

    def _loose(self, start: int, end: int, level: int) -> None:
        """Write code outside of definitions; its first line with a word heads it if they must
        not be taken for part of what stands before, which level 0 allows."""
        start, end = self._trimmed(start, end)
        if _CLOSERS.match(self._text, start, end):
            return
        if level:
            word = _WORD.search(self._text, start, end)
            if word:
                start = max(self._text.rfind("\n", start, word.start()) + 1, start)
            stop = self._text.find("\n", start, end)
            stop = end if stop < 0 else stop
            self._heading(*self._trimmed(start, min(stop, start + _MAX_HEADING_CHARS)), level)
            start = stop
        self._code(start, end)

    def _code(self, start: int, end: int) -> None:
        """Write whole lines of code; a long stretch of it falls apart at the empty lines between
        its outermost statements."""
        start, end = self._trimmed(start, end)
        start = max(self._text.rfind("\n", 0, start) + 1, self.blocks[-1].end if self.blocks else 0)
        edge = start
        if end - start > _WHOLE_CHARS:
            outermost = self._indent(start)
            for gap in _BLANK_LINES.finditer(self._text, start, end):
                if len(self._indent(gap.end())) <= len(outermost):
                    self._block(edge, gap.start())
                    edge = gap.end()
        self._block(edge, end)

    def _indent(self, start: int) -> str:
        match = _INDENT.match(self._text, start, start + _MAX_HEADING_CHARS)
        return match.group() if match else ""

    def _block(self, start: int, end: int) -> None:
        if start < end and not self._text[start:end].isspace():
            self.blocks.append(Block(start, end, "code"))

    def _heading(self, start: int, end: int, level: int) -> None:
        if start < end:
            self.blocks.append(Block(start, end, "heading", level))

    def _lead(self, start: int, end: int) -> int:
        """Find where the comments begin that stand right above a place, no earlier than start."""
        lead = max(self._text.rfind("\n", start, end) + 1, start)
        if self._text[lead:end].strip():
            return end
        while lead > start:
            above = max(self._text.rfind("\n", start, lead - 1) + 1, start)
            line = self._text[above:lead].strip()
            if line.endswith("*/"):
                opened = self._text.rfind("/*", start, lead)
                above = max(self._text.rfind("\n", start, max(opened, start)) + 1, start)
                if opened < 0 or self._text[above:opened].strip():
                    break
            elif not line.startswith(self._comments):
                break
            lead = above
        return lead

    def _line_end(self, place: int, limit: int) -> int:
        """Take what stands behind a definition on its last line for a part of it."""
        line_end = self._text.find("\n", place, limit)
        return line_end if line_end >= 0 else limit

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        while start < end and self._text[start].isspace():
            start += 1
        while end > start and self._text[end - 1].isspace():
            end -= 1
        return start, end


def _nested(text: str, definitions: Sequence[Definition]) -> list[_Node]:
    """Put definitions into each other; one that overlaps another is left out."""
    top: list[_Node] = []
    opened: list[_Node] = []
    done = 0
    for item in sorted(definitions, key=lambda item: (item.start, -item.end)):
        start = _with_modifiers(text, item.start)
        if start < done or not start < item.name <= item.end:
            continue
        while opened and opened[-1].end <= start:
            opened.pop()
        if opened and item.end > opened[-1].end:
            continue
        node = _Node(start, item.name, item.end)
        (opened[-1].inner if opened else top).append(node)
        opened.append(node)
        done = text.find("\n", item.name)
        done = len(text) if done < 0 else done  # one line holds one heading
    return top


def _with_modifiers(text: str, start: int) -> int:
    """Go back to the line's start where only words like "export" or "typedef" stand before."""
    line = text.rfind("\n", max(0, start - _MAX_HEADING_CHARS), start) + 1
    return (
        line
        if (line or start < _MAX_HEADING_CHARS) and _MODIFIERS.match(text, line, start)
        else start
    )
