"""Build a canonical text piece by piece, with blocks and pages over it.

Every piece is cleaned before it is counted, so that offsets hold in the final text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragkit.text.normalise import clean
from ragkit.types import Block, BlockKind, Page, ParsedText
from ragkit_ingest.parse.table import markdown_table

_LEVELS = 6
_MAX_DEPTH = 10  # arbitrary; deeper lists would be mostly indentation
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_TICKS = re.compile(r"`{3,}")
MAX_TITLE_CHARS = 500  # arbitrary; a title is a line, not a page


class Builder:
    """A growing text; blocks are set apart by an empty line, items of one list by a line end."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._blocks: list[Block] = []
        self._pages: list[Page] = []
        self._size = 0

    def page(self, number: int) -> None:
        """Begin a page, slide or sheet; what is added from here on is on it."""
        self._gap("\n\n")
        if self._pages and self._pages[-1].start == self._size:
            self._pages.pop()  # nothing was on it
        self._pages.append(Page(self._size, number))

    @property
    def is_empty(self) -> bool:
        """Say whether nothing was added yet."""
        return not self._blocks

    def heading(self, level: int, text: str, *, mark: bool = True) -> None:
        """Add a heading, with Markdown's #s before it unless `mark` is false."""
        level = min(max(level, 1), _LEVELS)
        line = " ".join(clean(text).split())
        if line:
            self._add(f"{'#' * level} {line}" if mark else line, "heading", level)

    def paragraph(self, text: str) -> None:
        """Add a paragraph; its own line ends stay, empty lines in it go."""
        self._add(_BLANK_LINES.sub("\n", clean(text).strip()), "paragraph")

    def item(self, text: str, *, depth: int = 0, marker: str = "-") -> None:
        """Add a list item; items that follow each other are one list.

        An item without a marker continues the one before it.
        """
        lines = [line.strip() for line in clean(text).split("\n") if line.strip()]
        if not lines:
            return
        indent = "  " * min(depth, _MAX_DEPTH)
        lead = f"{indent}{marker} " if marker else f"{indent}  "
        self._add(lead + f"\n{indent}  ".join(lines), "list")

    def table(self, rows: Sequence[Sequence[str]], *, has_head: bool = True) -> None:
        """Add a table as Markdown, the first row being its header if it has a head."""
        self._add(clean(markdown_table(rows, has_head=has_head)), "table")

    def code(self, text: str) -> None:
        """Add a fenced code block."""
        body = clean(text).strip("\n")
        if body.strip():
            longest = max((len(run) for run in _TICKS.findall(body)), default=2)
            fence = "`" * (longest + 1)
            self._add(f"{fence}\n{body}\n{fence}", "code")

    def result(self, *, title: str = "", metadata: dict[str, str] | None = None) -> ParsedText:
        """Return what was built; a text that is not empty ends with a line end."""
        if self._pages and self._pages[-1].start == self._size:
            self._pages.pop()  # nothing was on it
        if self._blocks and self._blocks[-1].end < self._size:
            self._size -= len(self._pieces.pop())  # what set that page apart
        self._gap("\n")
        return ParsedText(
            text="".join(self._pieces),
            blocks=tuple(self._blocks),
            pages=tuple(self._pages),
            title=title_line(title),
            metadata=metadata or {},
        )

    def _add(self, text: str, kind: BlockKind, level: int = 0) -> None:
        if not text:
            return
        last = self._blocks[-1] if self._blocks else None
        if kind == "list" and last and last.kind == "list" and last.end == self._size:
            self._append("\n" + text)
            self._blocks[-1] = Block(last.start, self._size, "list")
            return
        self._gap("\n\n")
        start = self._size
        self._append(text)
        self._blocks.append(Block(start, self._size, kind, level))

    def _gap(self, separator: str) -> None:
        if self._blocks and self._blocks[-1].end == self._size:
            self._append(separator)

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text)


def title_line(text: str) -> str:
    """Make a title of any text: one line of bounded length."""
    return " ".join(clean(text[: 2 * MAX_TITLE_CHARS]).split())[:MAX_TITLE_CHARS]
