"""The cells of a workbook as text, and the regions that they form."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from ragkit_ingest.parse.links import Link, Targets
from ragkit_ingest.parse.office.archive import Archive, attribute, child, children, local, number
from ragkit_ingest.parse.office.numberformats import NUMBER, cell_formats
from ragkit_ingest.parse.office.xlsxhidden import Columns, is_filtered, is_hidden

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

Grid = dict[int, dict[int, str]]  # row: column: text, both from 1, without the empty ones

_AREA = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})$")
_MAX_SPREAD = 200_000  # arbitrary: cells that merged ones of a sheet may fill
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})$")
_HYPERLINK = re.compile(r'\s*HYPERLINK\(\s*"([^"]{1,2000})"', re.IGNORECASE)
_MAX_LINKS = 10_000  # of a sheet; arbitrary
_EPOCHS = {False: dt.datetime(1899, 12, 30), True: dt.datetime(1904, 1, 1)}
_MAX_DAYS = 2_958_466  # 9999-12-31


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet's cells, and how many of its rows and columns were left out."""

    cells: Grid
    notes: Counter[str] = field(default_factory=Counter)


class Cells:
    """Reads cells with a workbook's shared strings and formats."""

    def __init__(self, archive: Archive, main: str) -> None:
        self._archive = archive
        related = dict(archive.related(main).values())
        self._strings = [
            _rich_text(item) for item in archive.rows(related.get("sharedStrings", ""), "si")
        ]
        self._formats = cell_formats(archive.xml(related.get("styles", "")))
        self._targets = Targets()
        flag = attribute(child(archive.xml(main), "workbookPr"), "date1904")
        self._uncomputed = 0  # formulas of a sheet that no program has worked out
        self._epoch = _EPOCHS[flag in {"1", "true"}]

    def grid(self, part: str) -> Sheet:
        """Read a sheet's cells that are not empty and not hidden."""
        grid: Grid = {}
        hidden: Grid = {}
        self._uncomputed = 0
        top: Element | None = None
        columns = Columns(None)
        row = 0
        for element in self._archive.rows(part, "row"):
            if top is None:
                top = _worksheet(element)
                columns = Columns(child(top, "cols"))  # they come before the rows
            row = number(element.get("r"), row + 1)
            line = self._line(element)
            visible = {column: text for column, text in line.items() if not columns.hides(column)}
            if visible:
                (hidden if is_hidden(element) else grid)[row] = visible
        if is_filtered(top):
            grid.update(hidden)
            hidden = {}
        self._link(part, top, grid)
        _merge(top, grid)
        notes = Counter({"hidden rows": len(hidden), "hidden columns": len(columns.seen)})
        notes["formulas without values"] = self._uncomputed
        return Sheet(_closed_up(grid, sorted(hidden), sorted(columns.seen)), notes)

    def _link(self, part: str, top: Element | None, grid: Grid) -> None:
        """Write where cells lead after their text."""
        links = self._archive.links(part)
        for element in children(top, "hyperlinks")[:_MAX_LINKS] if links else ():
            place = _REFERENCE.match((element.get("ref") or "").partition(":")[0])
            target = links.get(attribute(element, "id") or "", "")
            if place is None or not target:
                continue
            line, column = grid.get(int(place.group(2)), {}), _column(place.group(1))
            if column in line:
                line[column] = self._targets.written(line[column], [Link(line[column], target)])

    def _line(self, row: Element) -> dict[int, str]:
        """Read a row's cells that are not empty."""
        line: dict[int, str] = {}
        column = 0
        for cell in row:
            reference = _REFERENCE.match(cell.get("r") or "")
            column = _column(reference.group(1)) if reference else column + 1
            text = self._value(cell)
            if text:
                line[column] = self._with_target(text, cell)
            elif len(cell) and cell.get("t") != "str" and child(cell, "f") is not None:
                self._uncomputed += 1  # a text that is empty has the type of one
        return line

    def _with_target(self, text: str, cell: Element) -> str:
        """Add where the function HYPERLINK of a cell leads."""
        formula = child(cell, "f") if len(cell) > 1 else None
        match = _HYPERLINK.match(formula.text or "") if formula is not None else None
        return self._targets.written(text, [Link(text, match[1])]) if match else text

    def _value(self, cell: Element) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            inline = child(cell, "is")
            return _rich_text(inline) if inline is not None else ""
        value = child(cell, "v")
        raw = (value.text or "").strip() if value is not None else ""
        if kind == "s":
            index = number(raw, -1)
            return self._strings[index] if 0 <= index < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if raw == "1" else "FALSE"
        if kind == "n" and raw:
            return self._number(raw, number(cell.get("s")))
        return raw

    def _number(self, raw: str, style: int) -> str:
        try:
            value = float(raw)
        except ValueError:
            return raw
        form = self._formats[style] if 0 <= style < len(self._formats) else NUMBER
        if form.is_date and 0 <= value < _MAX_DAYS:
            return _date(value, self._epoch)
        return form.format_value(value)


def regions(grid: Grid) -> Iterator[list[list[str]]]:
    """Cut a sheet at its empty rows and columns, again and again; give the pieces as tables."""
    waiting = [grid]
    while waiting:
        piece = waiting.pop()
        parts = _bands(piece)
        if len(parts) <= 1:
            parts = _columns(piece)
        if len(parts) > 1:
            waiting.extend(reversed(parts))
        elif parts:
            yield _rectangle(piece)


def _worksheet(row: Element) -> Element | None:
    """Give what rows and columns of a sheet stand in; what follows the rows is read later."""
    rows = row.getparent()
    return rows.getparent() if rows is not None else None


def _merge(top: Element | None, grid: Grid) -> None:
    """Let a merged cell stand in all its places; one that is alone in its rows stands once."""
    budget = _MAX_SPREAD
    for element in children(top, "mergeCells"):
        area = _AREA.match(element.get("ref") or "")
        if area is None:
            continue
        columns = range(_column(area.group(1)), _column(area.group(3)) + 1)
        rows = range(int(area.group(2)), int(area.group(4)) + 1)
        text = grid.get(rows.start, {}).get(columns.start)
        budget -= len(columns) * len(rows)
        alone = all(grid.get(row, {}).keys() <= {columns.start} for row in rows)
        if text is None or alone or budget < 0:
            continue
        for row in rows:
            grid.setdefault(row, {}).update(dict.fromkeys(columns, text))


def _closed_up(grid: Grid, rows: list[int], columns: list[int]) -> Grid:
    """Move cells together over rows and columns that were left out, which part no tables."""
    if not rows and not columns:
        return grid
    return {
        row - bisect_left(rows, row): {
            column - bisect_left(columns, column): text for column, text in line.items()
        }
        for row, line in grid.items()
    }


def _bands(grid: Grid) -> list[Grid]:
    """Cut at empty rows."""
    rows = sorted(grid)
    return [{row: grid[row] for row in rows[a:b]} for a, b in _runs(rows)]


def _columns(grid: Grid) -> list[Grid]:
    """Cut at empty columns."""
    columns = sorted({column for line in grid.values() for column in line})
    runs = list(_runs(columns))
    if len(runs) <= 1:
        return [grid] if grid else []
    place = {column: index for index, (a, b) in enumerate(runs) for column in columns[a:b]}
    parts: list[Grid] = [{} for _ in runs]
    for row, line in grid.items():
        for column, text in line.items():
            parts[place[column]].setdefault(row, {})[column] = text
    return parts


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Give the index ranges of numbers that follow each other without a gap."""
    gaps = [i + 1 for i, (a, b) in enumerate(pairwise(numbers)) if b > a + 1]
    return pairwise([0, *gaps, len(numbers)]) if numbers else iter(())


def _rectangle(grid: Grid) -> list[list[str]]:
    columns = sorted({column for line in grid.values() for column in line})
    return [[grid[row].get(column, "") for column in columns] for row in sorted(grid)]


def _column(letters: str) -> int:
    value = 0
    for letter in letters:
        value = value * 26 + ord(letter) - ord("A") + 1
    return value


def _rich_text(item: Element) -> str:
    """Join a string's runs; phonetic guides to its reading are left out."""
    parts: list[str] = []
    for piece in item:
        if local(piece) == "t":
            parts.append(piece.text or "")
        elif local(piece) == "r":
            text = child(piece, "t")
            parts.append(text.text or "" if text is not None else "")
    return "".join(parts).strip()


def _date(value: float, epoch: dt.datetime) -> str:
    """Write a date, a time of day, or both."""
    moment = epoch + dt.timedelta(seconds=round(value * 86_400))
    if value < 1:
        return moment.time().isoformat()
    return moment.date().isoformat() if value == int(value) else moment.isoformat(" ")
