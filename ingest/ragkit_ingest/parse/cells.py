"""The cells of a workbook as text, and the regions they form.

It knows nothing of charts or comments.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from ragkit_ingest.parse.archive import Archive, attribute, child, children, local, number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

Grid = dict[int, dict[int, str]]  # row: column: text, both from 1, without the empty ones

_AREA = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})$")
_MAX_SPREAD = 200_000  # arbitrary: cells that merged ones of a sheet may fill
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})$")
# Built-in formats of dates and times (ECMA-376 part 1, 18.8.30).
_BUILTIN_DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_NOT_CODE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_DATE_CODE = re.compile(r"[dmyhs年月日]", re.IGNORECASE)
_EPOCHS = {False: dt.datetime(1899, 12, 30), True: dt.datetime(1904, 1, 1)}
_MAX_DAYS = 2_958_466  # 9999-12-31


class Cells:
    """Reads cells with a workbook's shared strings and formats."""

    def __init__(self, archive: Archive, main: str) -> None:
        self._archive = archive
        related = dict(archive.related(main).values())
        self._strings = [
            _rich_text(item) for item in archive.rows(related.get("sharedStrings", ""), "si")
        ]
        self._dates = _date_styles(archive.xml(related.get("styles", "")))
        flag = attribute(child(archive.xml(main), "workbookPr"), "date1904")
        self._epoch = _EPOCHS[flag in {"1", "true"}]

    def grid(self, part: str) -> Grid:
        """Read a sheet's cells that are not empty."""
        grid: Grid = {}
        row = 0
        for element in self._archive.rows(part, "row"):
            row = number(element.get("r"), row + 1)
            line: dict[int, str] = {}
            column = 0
            for cell in element:
                reference = _REFERENCE.match(cell.get("r") or "")
                column = _column(reference.group(1)) if reference else column + 1
                text = self._value(cell)
                if text:
                    line[column] = text
            if line:
                grid[row] = line
        self._merge(part, grid)
        return grid

    def _merge(self, part: str, grid: Grid) -> None:
        """Let a merged cell stand in all its places; one that is alone in its rows stands once."""
        left = _MAX_SPREAD
        for element in self._archive.rows(part, "mergeCell"):
            area = _AREA.match(element.get("ref") or "")
            if area is None:
                continue
            columns = range(_column(area.group(1)), _column(area.group(3)) + 1)
            rows = range(int(area.group(2)), int(area.group(4)) + 1)
            text = grid.get(rows.start, {}).get(columns.start)
            left -= len(columns) * len(rows)
            alone = all(grid.get(row, {}).keys() <= {columns.start} for row in rows)
            if text is None or alone or left < 0:
                continue
            for row in rows:
                grid.setdefault(row, {}).update(dict.fromkeys(columns, text))

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
        if style in self._dates and 0 <= value < _MAX_DAYS:
            return _date(value, self._epoch)
        return f"{value:.15g}"


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


def _date_styles(root: Element | None) -> frozenset[int]:
    """Find the cell formats that show a number as a date or a time."""
    codes = {
        number(attribute(item, "numFmtId")): attribute(item, "formatCode") or ""
        for item in children(root, "numFmts")
    }
    dates: set[int] = set()
    for place, item in enumerate(children(root, "cellXfs")):
        form = number(attribute(item, "numFmtId"))
        own = codes.get(form)
        if _is_date(own) if own is not None else form in _BUILTIN_DATES:
            dates.add(place)
    return frozenset(dates)


def _is_date(code: str) -> bool:
    positive = code.split(";", maxsplit=1)[0]
    return "General" not in positive and bool(_DATE_CODE.search(_NOT_CODE.sub("", positive)))


def _date(value: float, epoch: dt.datetime) -> str:
    """Write a date, a time of day, or both."""
    moment = epoch + dt.timedelta(seconds=round(value * 86_400))
    if value < 1:
        return moment.time().isoformat()
    return moment.date().isoformat() if value == int(value) else moment.isoformat(" ")
