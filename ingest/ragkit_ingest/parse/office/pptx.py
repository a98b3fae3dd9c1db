"""Parse presentations (.pptx): a slide is a page, its title a heading, then its text, tables,
charts and notes in the order of the slide; comments by the options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.labels import labelled
from ragkit_ingest.parse.office.archive import Archive, attribute, child, local, number
from ragkit_ingest.parse.office.charts import chart_rows, chart_title
from ragkit_ingest.parse.office.coreproperties import properties
from ragkit_ingest.parse.office.omml import linear
from ragkit_ingest.parse.office.pptxremarks import authors, slide_remarks
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.titles import first_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

_TITLES = frozenset({"title", "ctrTitle"})
_LISTS = frozenset({"body", "obj", ""})  # placeholders whose paragraphs have bullets by default
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})
_TRUE = frozenset({"1", "true"})
_BULLETS = frozenset({"buChar", "buAutoNum", "buBlip"})


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a .pptx. Raises IngestError for one that is damaged, encrypted or hostile."""
    archive = Archive(data, options.unzipped_bytes)
    main = archive.main_part()
    related = archive.related(main)
    people = authors(archive, main)
    dropped = 0
    labels: dict[int, str] = {}
    builder, slide_title = Builder(), ""
    listed = child(archive.xml(main), "sldIdLst")
    for place, item in enumerate(listed if listed is not None else (), 1):
        relation = item.get(next((key for key in item.attrib if "}" in str(key)), "id"))
        part = related.get(str(relation), ("", ""))[1]
        builder.page(place)
        slide = _Slide(archive, part, builder)
        slide.write()
        labels[place] = slide.title
        if slide.is_title_slide and place == 1:
            slide_title = slide.title
        remarks = list(slide_remarks(archive, part, people))
        if options.comments == "drop":
            dropped += len(remarks)
            continue
        for remark in remarks:
            builder.paragraph(remark.line())
    title, metadata = properties(archive)
    parsed = builder.result(title=first_title(title, slide_title), metadata=metadata)
    return labelled(parsed, labels, {"comments": dropped})


class _Slide:
    """One slide on its way into the builder."""

    def __init__(self, archive: Archive, part: str, builder: Builder) -> None:
        self._archive = archive
        self._part = part
        self._related = archive.related(part)
        self._builder = builder
        self.title = ""
        self.is_title_slide = False  # by its layout, as the first of a presentation is

    def write(self) -> None:
        """Write the title, the shapes, the notes."""
        shapes = list(_shapes(child(self._archive.xml(self._part), "cSld", "spTree")))
        for shape in shapes:
            if _role(shape) in _TITLES:
                self.title = self.title or _text(shape)
                self.is_title_slide |= _role(shape) == "ctrTitle"
                self._builder.heading(1, _text(shape))
        for shape in shapes:
            self._shape(shape)
        for part in self._archive.parts(self._part, "notesSlide"):
            for shape in _shapes(child(self._archive.xml(part), "cSld", "spTree")):
                text = _text(shape) if _role(shape) == "body" else ""
                self._builder.paragraph(f"Notes: {text}" if text else "")

    def _shape(self, shape: Element) -> None:
        name, role = local(shape), _role(shape)
        if name == "graphicFrame":
            for item in shape.iter():
                self._graphic(item)
        elif role not in _TITLES and role not in _FURNITURE:
            self._text_frame(shape, role)

    def _text_frame(self, shape: Element, role: str | None) -> None:
        body = child(shape, "txBody")
        paragraphs = [
            (item, text)
            for item in (body if body is not None else ())
            if local(item) == "p" and (text := _line(item).strip())
        ]
        for paragraph, text in paragraphs:
            properties = child(paragraph, "pPr")
            marks = {local(item) for item in (properties if properties is not None else ())}
            by_default = role in _LISTS and len(paragraphs) > 1
            depth = number(attribute(properties, "lvl"))
            if marks & _BULLETS or ((by_default or depth) and "buNone" not in marks):
                self._builder.item(text, depth=depth)
            else:
                self._builder.paragraph(text)

    def _graphic(self, item: Element) -> None:
        """Write a table, a chart, or the texts of a diagram."""
        name = local(item)
        if name == "tbl":
            self._builder.table(_table(item))
        elif name == "chart":
            root = self._archive.xml(self._target(item, "id"))
            if root is not None:
                self._builder.paragraph(chart_title(root))
                self._builder.table(chart_rows(root))
        elif name == "relIds":
            root = self._archive.xml(self._target(item, "dm"))
            for paragraph in root.iter() if root is not None else ():
                if local(paragraph) == "p":
                    self._builder.item(_line(paragraph))

    def _target(self, item: Element, name: str) -> str:
        return self._related.get(attribute(item, name) or "", ("", ""))[1]


def _shapes(tree: Element | None) -> Iterator[Element]:
    """Give a slide's shapes, those of groups too."""
    for item in tree if tree is not None else ():
        name = local(item)
        if name in {"grpSp", "AlternateContent", "Choice"}:
            yield from _shapes(item)
        elif name in {"sp", "graphicFrame", "cxnSp"}:
            yield item


def _role(shape: Element) -> str | None:
    """Say which placeholder of its layout a shape is; None when it is not one."""
    for item in shape:
        place = child(item, "nvPr", "ph")
        if place is not None:
            return place.get("type") or ""
    return None


def _text(shape: Element) -> str:
    body = child(shape, "txBody")
    lines = (_line(item).strip() for item in (body if body is not None else ()))
    return "\n".join(line for line in lines if line)


def _line(paragraph: Element) -> str:
    """Give a paragraph's text: runs, fields, line breaks and equations."""
    parts: list[str] = []
    for item in paragraph:
        name = local(item)
        if name in {"r", "fld"}:
            text = child(item, "t")
            parts.append(text.text or "" if text is not None else "")
        elif name == "br":
            parts.append("\n")
        elif name in {"m", "AlternateContent"}:
            parts.append(linear(item if name == "m" else child(item, "Choice")))
    return "".join(parts)


def _table(element: Element) -> list[list[str]]:
    """Give a table's cells; a merged one stands in each of its places, a wide one once."""
    rows: list[list[str]] = []
    for row in element:
        if local(row) != "tr":
            continue
        line: list[str] = []
        cells = [item for item in row if local(item) == "tc"]
        is_wide = len(cells) > 1 and all(item.get("hMerge") in _TRUE for item in cells[1:])
        for place, cell in enumerate(cells):
            if cell.get("hMerge") in _TRUE:
                line.append("" if is_wide else line[-1] if line else "")
            elif cell.get("vMerge") in _TRUE and rows and place < len(rows[-1]):
                line.append(rows[-1][place])
            else:
                line.append(_text(cell))
        rows.append(line)
    return rows
