"""Join parsed texts: an e-mail's header and body, a book's chapters, a notebook's cells.

It moves blocks and pages along and adds notes up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ragkit.types import Block, Page, ParsedText
from ragkit_ingest.parse.builder import title_line

_MAX_LABEL_CHARS = 80  # arbitrary; a label stands in a citation


class Assembly:
    """A growing text made of whole ones, which an empty line sets apart."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._blocks: list[Block] = []
        self._pages: list[Page] = []
        self._size = 0
        self.notes: Counter[str] = Counter()

    def page(self, number: int, label: str = "") -> None:
        """Begin a page; what is added from here on is on it."""
        if self._pages and self._pages[-1].start == self._size:
            self._pages.pop()  # nothing was on it
        self._pages.append(Page(self._size, number, " ".join(label.split())[:_MAX_LABEL_CHARS]))

    def add(self, part: ParsedText) -> None:
        """Add a text with its blocks and notes; its own pages and title stay behind."""
        self.notes.update(part.notes)
        body = part.text.rstrip()
        leading = len(body) - len(body.lstrip("\n"))
        body = body[leading:]
        if not body:
            return
        shift = self._size - leading
        self._blocks += (
            replace(
                block, start=block.start + shift, end=min(block.end, leading + len(body)) + shift
            )
            for block in part.blocks
        )
        self._append(body + "\n\n")

    def result(self, *, title: str = "", metadata: Mapping[str, str] | None = None) -> ParsedText:
        """Return what was put together; a text that is not empty ends with one line end."""
        text = "".join(self._pieces).rstrip()
        return ParsedText(
            text=text + "\n" if text else "",
            blocks=tuple(self._blocks),
            pages=tuple(page for page in self._pages if page.start < len(text)),
            title=title_line(title),
            metadata=metadata or {},
            notes=dict(self.notes),
        )

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text)
