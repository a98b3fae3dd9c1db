"""Parse workbooks (.xlsx): a sheet is a page with its name as heading; each region of cells that
touch is a table; then the charts' figures and the comments.

Values are the stored ones, formulas are not computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.types import ParsedText
from ragkit_ingest.parse.archive import Archive, child, children
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.cells import Cells, Grid, regions
from ragkit_ingest.parse.charts import chart_rows, chart_title
from ragkit_ingest.parse.options import ParseOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

_THREADED = "[Threaded comment]"  # a copy for older programs, with an advertisement in it


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an .xlsx. Raises IngestError for one that is damaged, encrypted or hostile."""
    archive = Archive(data, options.unzipped_bytes)
    main = archive.main_part()
    related = archive.related(main)
    cells = Cells(archive, main)
    builder = Builder()
    for place, sheet in enumerate(children(archive.xml(main), "sheets"), 1):
        kind, part = related.get(_relation(sheet), ("", ""))
        builder.page(place)
        grid: Grid = cells.grid(part) if kind == "worksheet" else {}
        tables = list(regions(grid))
        notes = list(_comments(archive, part))
        charts = list(_charts(archive, part))
        if tables or notes or charts:
            builder.heading(1, sheet.get("name") or f"Sheet {place}")
        for table in tables:
            _region(table, builder)
        for chart in charts:
            builder.paragraph(chart_title(chart))
            builder.table(chart_rows(chart))
        for note in notes:
            builder.paragraph(note)
    title, metadata = archive.properties()
    return builder.result(title=title, metadata=metadata)


def _region(table: list[list[str]], builder: Builder) -> None:
    """Write a region; a single cell is a remark or a title rather than a table."""
    if len(table) == 1 and len(table[0]) == 1:
        builder.paragraph(table[0][0])
    else:
        builder.table(table)


def _charts(archive: Archive, part: str) -> Iterator[Element]:
    """Give the charts drawn on a sheet, or that a chart sheet is."""
    for drawing in archive.parts(part, "drawing"):
        for name in archive.parts(drawing, "chart"):
            root = archive.xml(name)
            if root is not None:
                yield root


def _comments(archive: Archive, part: str) -> Iterator[str]:
    people = _people(archive)
    for name in archive.parts(part, "threadedComment"):
        for item in archive.xml(name) if name in archive else ():  # type: ignore[union-attr]
            author = people.get(item.get("personId") or "", "")
            yield _comment(item, author, item.get("dT") or "")
    for name in archive.parts(part, "comments"):
        root = archive.xml(name)
        authors = [item.text or "" for item in children(root, "authors")]
        for item in children(root, "commentList"):
            index = item.get("authorId") or ""
            author = authors[int(index)] if index.isdigit() and int(index) < len(authors) else ""
            text = _comment(item, author, "")
            if _THREADED not in text:
                yield text


def _comment(item: Element, author: str, time: str) -> str:
    text = child(item, "text")
    said = "" if text is None else "".join(str(part) for part in text.itertext()).strip()
    named = [f"{name}: {value}" for name, value in (("author", author), ("time", time)) if value]
    return f"Comment on {item.get('ref') or '?'} ({', '.join(named)}): {said}"


def _people(archive: Archive) -> dict[str, str]:
    """Map the ids of those who comment to their names."""
    found: dict[str, str] = {}
    for name in archive.parts(archive.main_part(), "person"):
        for person in archive.xml(name) if name in archive else ():  # type: ignore[union-attr]
            found[person.get("id") or ""] = person.get("displayName") or ""
    return found


def _relation(sheet: Element) -> str:
    return next((str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id")), "")
