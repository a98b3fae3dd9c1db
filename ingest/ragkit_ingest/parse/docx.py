"""Parse Word documents (.docx, strict and transitional) into Markdown-like text in body order.

Headings by style and outline level, lists with their labels, tables, text boxes, equations, and
footnotes at the end. Headers, footers, comments and deleted text are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.types import ParsedText
from ragkit_ingest.parse.archive import Archive, attribute, child, local, number
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.content import Content, Table, is_layout
from ragkit_ingest.parse.docxstyles import Style, styles
from ragkit_ingest.parse.numbering import Numbering
from ragkit_ingest.parse.omml import linear
from ragkit_ingest.parse.options import ParseOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element as Element

_SKIPPED = frozenset(
    "del moveFrom instrText delText pPr rPr fldChar sectPr commentReference".split()
)
_BREAKS = {"br": "\n", "cr": "\n", "tab": " ", "noBreakHyphen": "-", "ptab": " "}
_NOTES = ("footnote", "endnote")
_PLAIN = Style()


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a .docx. Raises IngestError for one that is damaged, encrypted or hostile."""
    archive = Archive(data, options.unzipped_bytes)
    main = archive.main_part()
    related = dict(archive.related(main).values())
    reader = _Reader(
        styles(archive.xml(related.get("styles", ""))),
        Numbering(archive.xml(related.get("numbering", ""))),
    )
    content = Content()
    root = archive.xml(main)
    reader.blocks(child(root, "body"), content)
    for kind in _NOTES:
        reader.notes(archive.xml(related.get(f"{kind}s", "")), kind, content)
    builder = Builder()
    content.write(builder)
    title, metadata = archive.properties()
    return builder.result(title=title, metadata=metadata)


class _Reader:
    """Reads a document's blocks, counting its lists and remembering what hangs on a paragraph."""

    def __init__(self, styles: dict[str, Style], numbering: Numbering) -> None:
        self._styles = styles
        self._numbering = numbering
        self._boxes: list[Element] = []  # text boxes of the paragraph being read
        self._notes: list[tuple[str, str]] = []  # (kind, id) in the order referred to

    def blocks(self, parent: Element | None, content: Content) -> None:
        """Read everything that stands in a body, cell or text box."""
        for item in parent if parent is not None else ():
            name = local(item)
            if name == "p":
                self._paragraph(item, content)
            elif name == "tbl":
                self._table(item, content)
            elif name not in _SKIPPED:
                self.blocks(_chosen(item), content)  # sdt, customXml, ins and the like

    def notes(self, root: Element | None, kind: str, content: Content) -> None:
        """Read the foot- or endnotes that the text refers to, in its order."""
        by_id = {attribute(note, "id"): note for note in (root if root is not None else ())}
        wanted = [note for note in self._notes if note[0] == kind]
        for place, (_, note_id) in enumerate(wanted, 1):
            note = Content()
            self.blocks(by_id.get(note_id), note)
            text = note.flat()
            if text:
                content.paragraph(f"[{_mark(kind)}{place}]: {text}")

    def _paragraph(self, paragraph: Element, content: Content) -> None:
        boxes, self._boxes = self._boxes, []
        properties = child(paragraph, "pPr")
        style = self._styles.get(attribute(child(properties, "pStyle"), "val") or "", _PLAIN)
        text = "".join(self._inline(paragraph)).strip()
        if text:
            self._place(text, properties, style, content)
        mine, self._boxes = self._boxes, boxes
        for box in mine:
            self.blocks(box, content)

    def _place(self, text: str, properties: Element | None, style: Style, content: Content) -> None:
        own = attribute(child(properties, "outlineLvl"), "val")
        level = number(own, 9) + 1 if own is not None else style.level
        num_id, depth = _list_place(properties, style)
        label = self._numbering.label(num_id, depth) if num_id not in {"", "0"} else None
        if 1 <= level <= 9:
            lead = "" if label in {None, "-"} else f"{label} "
            content.heading(min(level, 6), lead.lstrip() + text)
        elif label:
            content.item(text, depth, label)
        else:
            content.paragraph(text)

    def _inline(self, parent: Element) -> Iterator[str]:
        """Give a paragraph's text in pieces."""
        for item in parent:
            name = local(item)
            if name == "t":
                yield item.text or ""
            elif name == "r":
                if not _is_hidden(item):
                    yield from self._inline(item)
            elif name in _BREAKS:
                yield _BREAKS[name]
            elif name == "oMathPara":
                yield "\n" + "\n".join(linear(part) for part in item if local(part) == "oMath")
                yield "\n"
            elif name == "oMath":
                before = item.getprevious()
                apart = before is not None and local(before) == "oMath"
                yield (" " if apart else "") + linear(item)
            elif name == "txbxContent":
                self._boxes.append(item)
            elif name in {"footnoteReference", "endnoteReference"}:
                yield self._note(name.removesuffix("Reference"), attribute(item, "id") or "")
            elif name not in _SKIPPED:
                yield from self._inline(_chosen(item))

    def _note(self, kind: str, note_id: str) -> str:
        self._notes.append((kind, note_id))
        return f"[{_mark(kind)}{sum(known == kind for known, _ in self._notes)}]"

    def _table(self, element: Element, content: Content) -> None:
        rows = list(_found(element, "tr"))
        cells = [list(_found(row, "tc")) for row in rows]
        # A box drawn with a table holds running text, and often the whole document.
        table = Table(presentation=sum(len(row) for row in cells) == 1)
        above: dict[int, Content] = {}  # by column: the merged cell that goes on below
        for index, row in enumerate(cells):
            table.rows.append([])
            before = number(attribute(child(rows[index], "trPr", "gridBefore"), "val"))
            column = min(before, _MAX_COLUMNS)
            for _ in range(column):
                table.cell(1, 1, is_header=False)
            for cell in row:
                properties = child(cell, "tcPr")
                span = number(attribute(child(properties, "gridSpan"), "val"), 1)
                target = table.cell(min(span, _MAX_COLUMNS), 1, is_header=index == 0)
                merge = child(properties, "vMerge")
                if merge is None or attribute(merge, "val") == "restart":
                    self.blocks(cell, target)
                    above[column] = target
                elif column in above:
                    target.pieces = above[column].pieces
                column += min(max(span, 1), _MAX_COLUMNS)
        if is_layout(table):
            content.extend(table)
        else:
            content.table(table)


_MAX_COLUMNS = 63  # Word's own limit


def _mark(kind: str) -> str:
    return "^" if kind == "footnote" else "^e"


def _chosen(item: Element) -> Element:
    """Take one of the ways in which newer and older programs draw the same thing."""
    if local(item) != "AlternateContent":
        return item
    choice = child(item, "Choice")
    fallback = child(item, "Fallback")
    chosen = fallback if choice is None else choice
    return item if chosen is None else chosen


def _found(parent: Element, name: str) -> Iterable[Element]:
    """Give the rows of a table or the cells of a row, also where controls are wrapped around."""
    for item in parent:
        if local(item) == name:
            yield item
        elif local(item) in {"sdt", "sdtContent", "customXml", "ins", "smartTag"}:
            yield from _found(item, name)


def _list_place(properties: Element | None, style: Style) -> tuple[str, int]:
    place = child(properties, "numPr")
    num_id = attribute(child(place, "numId"), "val")
    depth = attribute(child(place, "ilvl"), "val")
    return (
        style.num_id if num_id is None else num_id,
        min(max(style.depth if depth is None else number(depth), 0), 8),
    )


def _is_hidden(run: Element) -> bool:
    vanish = child(run, "rPr", "vanish")
    return vanish is not None and attribute(vanish, "val") not in {"0", "false", "off"}
