"""Turn a well-formed stream of elements into blocks: what opens is closed, in order.

The callers (XML, OpenDocument, reStructuredText) say what each element is: a heading, an item, a
cell. No recursion, so depth costs nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ragkit.text.analyse import CJK
from ragkit_ingest.parse.content import Content, Table, is_layout

Kind = Literal[
    "inline", "block", "heading", "code", "list", "item", "table", "row", "cell", "note", "drop"
]
_MAX_TABLE_DEPTH = 8  # arbitrary, as for HTML
_WRAP = re.compile(rf"(?<=[{CJK}，。、；：！？）》」”])[ \t\r]*\n\s*(?=[{CJK}（《「“])")
_BREAK = "\x00"  # a line end of the document's own; no clean text has it


@dataclass(slots=True)
class _Frame:
    kind: Kind
    inline: list[str] | None = None  # of the text around a note


class Flow:
    """Takes opening and closing elements and text; `content` is what they have made."""

    def __init__(self) -> None:
        self.content = Content()
        self.notes: list[str] = []  # footnotes, in order
        self._targets = [self.content]
        self._frames: list[_Frame] = []
        self._tables: list[Table] = []
        self._dropped = 0
        self._inline: list[str] = []
        self._code = 0
        self._levels: list[int] = []  # of the open headings
        self._lists: list[int | None] = []  # the last item's number; None without numbers
        self._base = [0]  # how many lists are open around each open cell or note
        self._marker: str | None = None  # of the open item, until its first line is written

    def open(
        self,
        kind: Kind,
        *,
        level: int = 1,
        ordered: bool = False,
        columns: int = 1,
        rows: int = 1,
        header: bool = False,
    ) -> None:
        """Open an element; a heading has a level, a list may be numbered, a cell may span."""
        frame = _Frame("drop" if self._dropped else self._possible(kind))
        if frame.kind == "drop":
            self._dropped += 1
        elif frame.kind == "note":
            frame.inline, self._inline = self._inline, []
            self._push(Content())
        elif frame.kind != "inline":
            self._flush()
        if frame.kind == "heading":
            self._levels.append(level)
        elif frame.kind == "code":
            self._code += 1
        elif frame.kind == "list":
            self._lists.append(0 if ordered else None)
        elif frame.kind == "item":
            self._item()
        elif frame.kind == "table":
            self._tables.append(Table(presentation=False))
        elif frame.kind == "row":
            self._tables[-1].rows.append([])
        elif frame.kind == "cell":
            self._push(self._tables[-1].cell(columns, rows, is_header=header))
        self._frames.append(frame)

    def close(self) -> None:
        """Close the element that was opened last."""
        frame = self._frames.pop()
        if frame.kind == "drop":
            self._dropped -= 1
            return
        if frame.kind == "inline":
            return
        self._flush()
        if frame.kind == "heading":
            self._levels.pop()
        elif frame.kind == "code":
            self._code -= 1
        elif frame.kind == "list":
            self._lists.pop()
        elif frame.kind == "item":
            self._marker = None
        elif frame.kind == "table":
            self._end_table()
        elif frame.kind == "cell":
            self._pop()
        elif frame.kind == "note":
            self._end_note(frame)

    def text(self, text: str) -> None:
        """Add text to the open element."""
        if not self._dropped:
            self._inline.append(text)

    def line_break(self) -> None:
        """End a line within the open element."""
        self.text("\n" if self._code else _BREAK)

    @property
    def is_dropping(self) -> bool:
        """Say whether what comes now is left out."""
        return bool(self._dropped)

    @property
    def has_text(self) -> bool:
        """Say whether the open block has begun to say something."""
        return any(not piece.isspace() for piece in self._inline)

    def end(self) -> Content:
        """Finish and return the content, notes after it."""
        while self._frames:
            self.close()
        self._flush()
        for number, text in enumerate(self.notes, 1):
            self.content.paragraph(f"[^{number}]: {text}")
        return self.content

    def _possible(self, kind: Kind) -> Kind:
        """Read rows and cells outside of tables as blocks, and so tables within too many."""
        if kind == "table" and len(self._tables) >= _MAX_TABLE_DEPTH:
            return "block"
        if kind in {"row", "cell"}:
            around = (frame.kind for frame in reversed(self._frames))
            inner = next((display for display in around if display not in {"inline", "block"}), "")
            return kind if inner == ("table" if kind == "row" else "row") else "block"
        return kind

    def _item(self) -> None:
        number = self._lists[-1] if len(self._lists) > self._base[-1] else None
        if number is None:
            self._marker = "-"
        else:
            self._lists[-1] = number + 1
            self._marker = f"{number + 1}."

    def _push(self, target: Content) -> None:
        self._targets.append(target)
        self._base.append(len(self._lists))

    def _pop(self) -> Content:
        del self._lists[self._base.pop() :]
        self._marker = None
        return self._targets.pop()

    def _end_table(self) -> None:
        table = self._tables.pop()
        target = self._targets[-1]
        if is_layout(table):
            target.extend(table)
        else:
            target.table(table)

    def _end_note(self, frame: _Frame) -> None:
        text = self._pop().flat()
        self._inline = frame.inline or []
        if text:
            self.notes.append(text)
            self._inline.append(f"[^{len(self.notes)}]")

    def _flush(self) -> None:
        """Write what was said since the last block began."""
        text = "".join(self._inline)
        self._inline.clear()
        if not text or text.isspace():
            return
        target = self._targets[-1]
        depth = len(self._lists) - self._base[-1]
        if self._code:
            target.code(text.replace(_BREAK, "\n"))
        elif self._levels:
            target.heading(self._levels[-1], collapse(text).replace("\n", " "))
        elif depth:
            marker = self._marker
            target.item(collapse(text), depth - 1, marker or "")
            self._marker = "" if marker is not None else None
        else:
            target.paragraph(collapse(text))


def collapse(text: str) -> str:
    """Make one space of any white space, and line ends of the document's own line breaks."""
    lines = _WRAP.sub("", text).split(_BREAK)
    return "\n".join(line for line in (" ".join(part.split()) for part in lines) if line)
