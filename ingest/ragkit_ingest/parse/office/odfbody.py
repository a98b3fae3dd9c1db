"""Read the body of an OpenDocument file: what each element is, comments and tracked changes.

The XML parser refuses depth beyond 256, so the recursion over elements is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragkit_ingest.parse.flow import Flow, Kind
from ragkit_ingest.parse.office.archive import attribute, child, local, number
from ragkit_ingest.parse.office.odfstyles import Styles
from ragkit_ingest.parse.options import ParseOptions

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_KINDS: dict[str, Kind] = {
    "p": "block",
    "list": "list",
    "list-item": "item",
    "list-header": "block",
    "note-body": "note",
    "table": "table",
    "text-box": "block",
    "desc": "block",
    "section": "block",
    "notes": "block",
    "frame": "block",
}
_DROPPED = frozenset(
    "note-citation table-of-content alphabetical-index illustration-index table-index forms"
    " tracked-changes page-number object object-ole binary-data event-listeners annotation-end"
    " sequence-decls variable-decls user-field-decls settings table-column-group covered-table-cell"
    " header footer date-time bibliography-configuration".split()
)
_BESIDE = _DROPPED | {"annotation", "note"}  # in a paragraph, but not of its line
_MAX_SPACES = 100  # arbitrary; of one element that stands for many
_MAX_REPEATED = 10_000  # arbitrary; cells of a file that stand for several equal ones
_MAX_COLUMNS = 1000  # arbitrary, as for HTML


class Body:
    """Reads parts of one document into flows, and counts in `notes` what is left out."""

    def __init__(self, root: Element, options: ParseOptions) -> None:
        self.notes: Counter[str] = Counter()
        self.title = ""  # the first paragraph in the style of a title
        self._options = options
        self._styles = Styles(root)
        self._lists: list[str] = []  # styles of the open lists
        self._inserted: set[str] = set()  # open stretches that the original did not have
        self._spare = _MAX_REPEATED
        changes = (item for item in root.iter() if local(item) == "changed-region")
        self._changes = {attribute(region, "id") or "": region for region in changes}

    def read(self, parent: Element, flow: Flow) -> None:
        """Read everything in an element, and the text after each of its children."""
        self._say(parent.text, flow)
        for item in parent:
            name = local(item)
            if name not in _DROPPED:
                self._element(item, name, flow)
            self._say(item.tail, flow)

    def _element(self, item: Element, name: str, flow: Flow) -> None:
        if name == "s":
            flow.text(" " * min(number(attribute(item, "c"), 1), _MAX_SPACES))
        elif name == "tab":
            flow.text(" ")
        elif name == "line-break":
            flow.line_break()
        elif name == "annotation":
            self._comment(item, flow)
        elif name in {"change", "change-start", "change-end"}:
            self._change(item, name, flow)
        elif name == "table-row":
            self._row(item, flow)
        elif self._styles.hides(item):
            self.notes["hidden text"] += 1
        elif attribute(item, "placeholder") != "true":
            self._block(item, name, flow)

    def _block(self, item: Element, name: str, flow: Flow) -> None:
        """Read an element that holds others."""
        is_slides = name == "frame" and attribute(item, "class") == "title"
        is_title = self._styles.is_title(item)
        if is_title:
            self.title = self.title or " ".join("".join(_own_line(item)).split())
        if name == "h" or is_title or is_slides:
            flow.open("heading", level=number(attribute(item, "outline-level"), 1))
        elif name == "list":
            self._lists.append(attribute(item, "style-name") or "".join(self._lists[-1:]))
            is_ordered = self._styles.is_ordered(self._lists[-1], len(self._lists))
            flow.open("list", ordered=is_ordered)
        else:
            flow.open(_KINDS.get(name, "inline"))
        self.read(item, flow)
        flow.close()
        if name == "list":
            self._lists.pop()

    def _say(self, text: str | None, flow: Flow) -> None:
        if text and not self._inserted:
            flow.text(text)

    def _comment(self, item: Element, flow: Flow) -> None:
        """Leave a comment out, or write it where it was made."""
        if self._options.comments == "drop":
            self.notes["comments"] += 1
            return
        text = " ".join(_paragraphs(item).split())
        author = child(item, "creator")
        name = (author.text or "").strip() if author is not None else ""
        if text:
            flow.text(f" [comment{f' by {name}' if name else ''}: {text}] ")

    def _change(self, item: Element, name: str, flow: Flow) -> None:
        """Take the place of a deletion, or the beginning or end of an insertion."""
        change_id = attribute(item, "change-id") or ""
        region = self._changes.get(change_id)
        revisions = self._options.revisions
        deletion = child(region, "deletion")
        if deletion is not None and name == "change":
            if revisions == "accepted":
                self.notes["deleted text"] += 1
                return
            text = " ".join(_paragraphs(deletion).split())
            if text:
                flow.text(text if revisions == "original" else f"[deleted: {text}]")
        elif child(region, "insertion") is not None and revisions == "original":
            if name == "change-start":
                self.notes["inserted text"] += 1
                self._inserted.add(change_id)
            else:
                self._inserted.discard(change_id)
        elif child(region, "insertion") is not None and revisions == "both":
            flow.text("[inserted: " if name == "change-start" else "]")

    def _row(self, row: Element, flow: Flow) -> None:
        """Read a table's row; empty cells count only where another one follows."""
        is_header = local(row.getparent()) == "table-header-rows"
        flow.open("row")
        empty = 0
        for cell in (item for item in row if local(item) == "table-cell"):  # not covered ones
            times = max(number(attribute(cell, "number-columns-repeated"), 1), 1)
            if not "".join(cell.itertext()).strip():
                empty += times
                continue
            for _ in range(min(empty, _MAX_COLUMNS)):
                flow.open("cell", header=is_header)
                flow.close()
            empty = 0
            for _ in range(min(times, max(self._spare, 1))):
                self._cell(cell, is_header=is_header, flow=flow)
            self._spare -= times - 1
        flow.close()

    def _cell(self, cell: Element, *, is_header: bool, flow: Flow) -> None:
        columns = min(number(attribute(cell, "number-columns-spanned"), 1), _MAX_COLUMNS)
        rows = min(number(attribute(cell, "number-rows-spanned"), 1), _MAX_COLUMNS)
        flow.open("cell", columns=columns, rows=rows, header=is_header)
        self.read(cell, flow)
        flow.close()


def _paragraphs(item: Element) -> str:
    """Give the text of the paragraphs and headings in an element, a line each."""
    paragraphs = (part for part in item.iter() if local(part) in {"p", "h"})
    return "\n".join("".join(part.itertext()) for part in paragraphs)


def _own_line(item: Element) -> Iterator[str]:
    """Yield a paragraph's own line in pieces."""
    yield item.text or ""
    for part in item:
        if local(part) not in _BESIDE:
            yield from _own_line(part)
        yield part.tail or ""
