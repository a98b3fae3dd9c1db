"""Parse old and binary workbooks (.xls, .xlsb) as .xlsx are: a page per sheet, tables of cells.

The values are the stored ones without their number formats; rows and columns that are hidden stay.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.labels import labelled
from ragkit_ingest.parse.office import renamed
from ragkit_ingest.parse.office.cells import Grid, regions
from ragkit_ingest.parse.office.numberformats import NUMBER
from ragkit_ingest.parse.office.xlsx import write_sheet
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.zipped import Zip

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

_ZIP = b"PK\x03\x04"
_BINARY = b"xl/workbook.bin"  # a member of every .xlsb, and of no .xlsx
_MAX_CELLS = 5_000_000  # arbitrary; places of a sheet, empty ones too, which the reader fills
_MAX_SPREAD = 200_000  # arbitrary, as for .xlsx: cells that merged ones may fill


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a workbook. Raises IngestError for one that is damaged, encrypted or too large."""
    is_zip = data.startswith(_ZIP)
    if not data.startswith(renamed.OLE) and not (is_zip and _BINARY in data):
        return renamed.parse(data, options, kind="Excel", today=".xlsx")
    if is_zip:
        _check_sizes(data, options)
    from python_calamine import CalamineWorkbook

    builder = Builder()
    labels: dict[int, str] = {}
    hidden = 0
    with _reading():
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
    for place, (name, is_visible) in enumerate(_sheets(workbook), 1):
        if not is_visible:
            hidden += 1
            continue
        builder.page(place)
        labels[place] = name
        write_sheet(name, list(regions(_grid(workbook, name))), [], builder)
    return labelled(builder.result(), labels, {"hidden sheets": hidden})


def _check_sizes(data: bytes, options: ParseOptions) -> None:
    """Inflate every member once, on the budget, before another program does."""
    archive = Zip(data, options.unzipped_bytes, unusual="which Office never uses")
    for info in archive.infos:
        for _ in archive.pieces(info):
            pass


@contextmanager
def _reading() -> Iterator[None]:
    """Translate the library's errors; a panic of its Rust code is none of Python's exceptions."""
    import python_calamine

    reason = "damaged, or no workbook: open it in Excel or LibreOffice and save it as .xlsx"
    try:
        yield
    except python_calamine.PasswordError as error:
        raise IngestError("parse", "encrypted: it needs a password; save it without one") from error
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise IngestError("parse", reason) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise IngestError("parse", reason) from error


def _sheets(workbook: CalamineWorkbook) -> list[tuple[str, bool]]:
    """List the sheets with cells: their names, and whether they are shown."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    return [
        (sheet.name, sheet.visible == SheetVisibleEnum.Visible)
        for sheet in workbook.sheets_metadata
        if sheet.typ == SheetTypeEnum.WorkSheet
    ]


def _grid(workbook: CalamineWorkbook, name: str) -> Grid:
    with _reading():
        sheet = workbook.get_sheet_by_name(name)
    if sheet.height * sheet.width > _MAX_CELLS:
        reason = f"sheet {name[:40]!r} has more than {_MAX_CELLS:,} places"
        raise IngestError("parse", f"{reason}: save it as .xlsx, whose empty ones take no memory")
    grid: Grid = {}
    top, left = sheet.start or (0, 0)
    for row, values in enumerate(sheet.iter_rows(), top + 1):
        line = {
            column: text for column, value in enumerate(values, left + 1) if (text := _text(value))
        }
        if line:
            grid[row] = line
    _merge(sheet, grid)
    return grid


def _merge(sheet: CalamineSheet, grid: Grid) -> None:
    """Let a merged cell stand in all its places; one that is alone in its rows stands once."""
    spare = _MAX_SPREAD
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        text = grid.get(top + 1, {}).get(left + 1)
        rows, columns = range(top + 1, bottom + 2), range(left + 1, right + 2)
        spare -= len(rows) * len(columns)
        if text is None or spare < 0:
            continue
        if all(grid.get(row, {}).keys() <= {left + 1} for row in rows):
            continue
        for row in rows:
            grid.setdefault(row, {}).update(dict.fromkeys(columns, text))


def _text(value: object) -> str:
    """Write a value as a cell of .xlsx without a format is written."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return NUMBER.format_value(float(value))
    if isinstance(value, dt.datetime):
        is_day = value.time() == dt.time()
        return value.date().isoformat() if is_day else value.isoformat(" ", "seconds")
    return str(value).strip()
