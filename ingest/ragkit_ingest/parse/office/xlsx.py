"""Parse workbooks (.xlsx): a sheet is a page with its name as heading; each region of cells that
touch is a table; then the charts' figures, and the comments by the options.

Values are the stored ones, formulas are not computed. What the author hid is left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.labels import labelled
from ragkit_ingest.parse.office.archive import Archive, children
from ragkit_ingest.parse.office.cells import Cells, Sheet, regions
from ragkit_ingest.parse.office.charts import chart_rows, chart_title
from ragkit_ingest.parse.office.coreproperties import properties
from ragkit_ingest.parse.office.xlsxremarks import authors, sheet_remarks
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.sheet_table import write_rows
from ragkit_ingest.parse.titles import first_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

_HIDDEN = frozenset({"hidden", "veryHidden"})


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an .xlsx. Raises IngestError for one that is damaged, encrypted or hostile."""
    archive = Archive(data, options.unzipped_bytes)
    main = archive.main_part()
    related = archive.related(main)
    cells = Cells(archive, main)
    people = authors(archive, main)
    builder = Builder()
    labels: dict[int, str] = {}
    notes: Counter[str] = Counter()
    for place, sheet in enumerate(children(archive.xml(main), "sheets"), 1):
        if sheet.get("state") in _HIDDEN:
            notes["hidden sheets"] += 1
            continue
        kind, part = related.get(_relation(sheet), ("", ""))
        builder.page(place)
        labels[place] = sheet.get("name") or f"Sheet {place}"
        remarks = list(sheet_remarks(archive, part, people))
        if options.comments == "drop":
            notes["comments"] += len(remarks)
            remarks = []
        grid = cells.grid(part) if kind == "worksheet" else Sheet({})
        notes.update(grid.notes)
        write_sheet(labels[place], list(regions(grid.cells)), list(_charts(archive, part)), builder)
        for remark in remarks:
            builder.paragraph(remark.line())
    title, metadata = properties(archive)
    return labelled(builder.result(title=first_title(title), metadata=metadata), labels, notes)


def write_sheet(
    name: str, tables: list[list[list[str]]], charts: list[Element], builder: Builder
) -> None:
    """Write what is on a sheet, if there is anything, under its name."""
    builder.heading(1, name if tables or charts else "")
    for table in tables:
        _region(table, builder)
    for chart in charts:
        builder.paragraph(chart_title(chart))
        builder.table(chart_rows(chart))


def _region(table: list[list[str]], builder: Builder) -> None:
    """Write a region; a single cell is a remark or a title rather than a table."""
    if len(table) == 1 and len(table[0]) == 1:
        builder.paragraph(table[0][0])
    else:
        write_rows(table, builder)


def _charts(archive: Archive, part: str) -> Iterator[Element]:
    """Give the charts drawn on a sheet, or that a chart sheet is."""
    for drawing in archive.parts(part, "drawing"):
        for name in archive.parts(drawing, "chart"):
            root = archive.xml(name)
            if root is not None:
                yield root


def _relation(sheet: Element) -> str:
    return next((str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id")), "")
