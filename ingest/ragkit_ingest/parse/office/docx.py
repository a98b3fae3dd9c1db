"""Parse Word documents (.docx, strict and transitional) into Markdown-like text in body order.

Headings by style and outline level, lists with their labels, tables, text boxes, equations, the
figures of charts, and footnotes at the end. Headers and footers are left out; comments and tracked
changes by the options.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.content import Content, Table, is_layout
from ragkit_ingest.parse.dates import iso_date
from ragkit_ingest.parse.office.archive import Archive, attribute, child, local, number
from ragkit_ingest.parse.office.charts import chart_rows, chart_title
from ragkit_ingest.parse.office.coreproperties import properties
from ragkit_ingest.parse.office.docxlinks import Hyperlinks
from ragkit_ingest.parse.office.docxparts import chosen, count_comments, is_hidden, named_parts
from ragkit_ingest.parse.office.docxrevisions import Revisions, count, is_left_out, left_out
from ragkit_ingest.parse.office.docxstyles import Style, styles
from ragkit_ingest.parse.office.numbering import Numbering
from ragkit_ingest.parse.office.omml import linear
from ragkit_ingest.parse.office.remarks import Remark
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.titles import first_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.etree import _Element as Element

_SKIPPED = frozenset("instrText delInstrText pPr rPr fldChar sectPr".split())
_BREAKS = {"br": "\n", "cr": "\n", "tab": " ", "noBreakHyphen": "-", "ptab": " "}
_NOTES = ("footnote", "endnote")
_REFERENCES = {f"{kind}Reference": kind for kind in (*_NOTES, "comment")}
_PLAIN = Style()


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a .docx. Raises IngestError for one that is damaged, encrypted or hostile."""
    archive = Archive(data, options.unzipped_bytes)
    main = archive.main_part()
    parts = archive.related(main)
    related = dict(parts.values())
    comments = archive.xml(related.get("comments", ""))
    reader = _Reader(
        styles(archive.xml(related.get("styles", ""))),
        Numbering(archive.xml(related.get("numbering", ""))),
        options.revisions,
        comments if options.comments == "keep" else None,
        lambda relation: archive.xml(parts.get(relation, ("", ""))[1]),
    )
    reader.hyperlinks = Hyperlinks(archive.links(main))
    content = Content()
    root = archive.xml(main)
    reader.blocks(child(root, "body"), content)
    changes = count(root)
    for kind in _NOTES:
        part = related.get(f"{kind}s", "")
        notes = archive.xml(part)
        reader.hyperlinks = Hyperlinks(archive.links(part))
        changes += count(notes)
        reader.notes(notes, kind, content)
    builder = Builder()
    content.write(builder)
    title, metadata = properties(archive)
    parsed = builder.result(title=first_title(title, reader.title), metadata=metadata)
    counted = {
        "tracked changes": changes,
        "comments": count_comments(comments) if options.comments == "drop" else 0,
        "hidden text": reader.hidden,
    }
    return replace(parsed, notes={kind: number for kind, number in counted.items() if number})


class _Reader:
    """Reads a document's blocks, counting its lists and remembering what hangs on a paragraph."""

    def __init__(
        self,
        styles: dict[str, Style],
        numbering: Numbering,
        revisions: Revisions,
        comments: Element | None,
        part: Callable[[str], Element | None],
    ) -> None:
        self.hyperlinks = Hyperlinks({})  # of the part that is read
        self.hidden = 0  # runs of text that the document hides
        self.title = ""  # the first paragraph in the style of a title
        self._styles = styles
        self._numbering = numbering
        self._revisions = revisions
        self._part = part  # gives the main text's part of a relation's id
        self._skipped = _SKIPPED | left_out(revisions)
        self._comments = {
            attribute(item, "id"): item for item in (comments if comments is not None else ())
        }
        self._remarks: list[Remark] = []  # on the paragraph being read
        self._boxes: list[Element] = []  # text boxes and charts of the paragraph being read
        self._notes: list[tuple[str, str]] = []  # (kind, id) in the order referred to

    def blocks(self, parent: Element | None, content: Content) -> None:
        """Read everything that stands in a body, cell or text box."""
        for item in parent if parent is not None else ():
            name = local(item)
            if name == "p":
                self._paragraph(item, content)
            elif name == "tbl":
                self._table(item, content)
            elif name not in self._skipped:
                self.blocks(chosen(item), content)  # sdt, customXml, ins and the like

    def notes(self, root: Element | None, kind: str, content: Content) -> None:
        """Read the foot- or endnotes that the text refers to, in its order."""
        by_id = {attribute(note, "id"): note for note in (root if root is not None else ())}
        notes = [note for note in self._notes if note[0] == kind]
        for place, (_, note_id) in enumerate(notes, 1):
            note = Content()
            self.blocks(by_id.get(note_id), note)
            text = note.flat()
            if text:
                content.paragraph(f"[{_mark(kind)}{place}]: {text}")
                content.link([link for piece in note.pieces for link in piece.links])

    def _paragraph(self, paragraph: Element, content: Content) -> None:
        boxes, self._boxes = self._boxes, []
        remarks, self._remarks = self._remarks, []
        properties = child(paragraph, "pPr")
        style = self._styles.get(attribute(child(properties, "pStyle"), "val") or "", _PLAIN)
        text = "".join(self._inline(paragraph)).strip()
        links = self.hyperlinks.take()
        if text:
            self._place(text, properties, style, content)
            content.link(links)
        paragraph_remarks, self._remarks = self._remarks, remarks
        for remark in paragraph_remarks:
            content.paragraph(remark.line())
        paragraph_boxes, self._boxes = self._boxes, boxes
        for box in paragraph_boxes:
            if local(box) == "chart":
                self._chart(box, content)
            else:
                self.blocks(box, content)

    def _chart(self, chart: Element, content: Content) -> None:
        root = self._part(attribute(chart, "id") or "")
        rows = chart_rows(root) if root is not None else []
        if root is not None and rows:
            title = chart_title(root)
            if title:
                content.paragraph(title)
            content.cells(rows)

    def _place(self, text: str, properties: Element | None, style: Style, content: Content) -> None:
        outline_level = attribute(child(properties, "outlineLvl"), "val")
        level = number(outline_level, 9) + 1 if outline_level is not None else style.level
        num_id, depth = _list_place(properties, style)
        label = self._numbering.label(num_id, depth) if num_id not in {"", "0"} else None
        if style.is_title:
            self.title = self.title or text
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
            self.hyperlinks.note(name, item)
            if name in self._skipped:
                continue
            if name in {"t", "delText"}:
                yield self.hyperlinks.heard(item.text or "")
            elif name == "r":
                if not is_hidden(item):
                    yield from self._inline(item)
                elif "".join(item.itertext()).strip():
                    self.hidden += 1
            elif name in _BREAKS:
                yield _BREAKS[name]
            elif name == "oMathPara":
                yield "\n" + "\n".join(linear(part) for part in item if local(part) == "oMath")
                yield "\n"
            elif name == "oMath":
                previous = item.getprevious()
                separated = previous is not None and local(previous) == "oMath"
                yield (" " if separated else "") + linear(item)
            elif name in {"txbxContent", "chart"}:
                self._boxes.append(item)
            elif name in _REFERENCES:
                yield self._reference(_REFERENCES[name], attribute(item, "id") or "")
            else:
                yield from self._inline(chosen(item))
                self.hyperlinks.leave(name)

    def _remark(self, comment_id: str) -> None:
        """Note a comment, if comments are kept; each stands once."""
        comment = self._comments.pop(comment_id, None)
        content = Content()
        if comment is not None:
            self.blocks(comment, content)
        text = content.flat()
        if comment is not None and text:
            author, date = (attribute(comment, name) or "" for name in ("author", "date"))
            self._remarks.append(Remark(text, author, iso_date(date)))

    def _reference(self, kind: str, note_id: str) -> str:
        """Note what a footnote, an endnote or a comment is, and give its mark in the text."""
        if kind == "comment":
            self._remark(note_id)
            return ""
        self._notes.append((kind, note_id))
        return f"[{_mark(kind)}{sum(noted == kind for noted, _ in self._notes)}]"

    def _table(self, element: Element, content: Content) -> None:
        table_rows = named_parts(element, "tr")
        rows = [row for row in table_rows if not self._is_gone(row, "trPr")]
        cells = [
            [cell for cell in named_parts(row, "tc") if not self._is_gone(cell, "tcPr")]
            for row in rows
        ]
        # A box drawn with a table holds running text, and often the whole document.
        table = Table(presentation=sum(len(row) for row in cells) == 1)
        above: dict[int, Content] = {}  # by column: the merged cell that goes on below
        for index, row in enumerate(cells):
            table.rows.append([])
            skipped = number(attribute(child(rows[index], "trPr", "gridBefore"), "val"))
            column = min(skipped, _MAX_COLUMNS)
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

    def _is_gone(self, element: Element, properties: str) -> bool:
        return is_left_out(child(element, properties), self._revisions)


_MAX_COLUMNS = 63  # Word's own limit


def _mark(kind: str) -> str:
    return "^" if kind == "footnote" else "^e"


def _list_place(properties: Element | None, style: Style) -> tuple[str, int]:
    place = child(properties, "numPr")
    num_id = attribute(child(place, "numId"), "val")
    depth = attribute(child(place, "ilvl"), "val")
    return (
        style.num_id if num_id is None else num_id,
        min(max(style.depth if depth is None else number(depth), 0), 8),
    )
