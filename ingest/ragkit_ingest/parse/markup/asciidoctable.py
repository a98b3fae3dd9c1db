"""Read the lines between the fences of an AsciiDoc table into rows of cells."""

from __future__ import annotations

import csv
import re

_COLS = re.compile(r"cols\s*=\s*(?:\"([^\"]*)\"|([^,\]]+))")
_TIMES = re.compile(r"\s*(\d{1,3})\*")
_FORMAT = re.compile(r"format\s*=\s*\"?(\w+)")
# Before a bar: copies or spans, alignment, style. Only what follows white space is such a mark.
_CELL = re.compile(
    r"(?:(?:(?<=\s)|^)(?:(\d{1,3})?(?:\.(\d{1,3}))?([+*]))?[<^>]?(?:\.[<^>])?[adehlmsv]?)?\|"
)
_MAX_COLUMNS = 1000  # arbitrary, as for HTML
_MAX_REPEATED_CHARS = 1_000_000  # arbitrary; copies and spans can claim far more than there is


def rows_of(lines: list[str], block: str, mark: str) -> list[list[str]]:
    """Make rows of a table's lines; `block` is its attributes, `mark` how its fence begins."""
    form = _FORMAT.search(block)
    kind = form[1].lower() if form else {",": "csv", ":": "dsv"}.get(mark, "psv")
    if kind in {"csv", "tsv", "dsv"}:
        delimiter = {"csv": ",", "tsv": "\t", "dsv": ":"}[kind]
        filled = [line for line in lines if line.strip()]
        try:
            return list(csv.reader(filled, delimiter=delimiter))
        except csv.Error:
            return [line.split(delimiter) for line in filled]
    if mark == "!":
        lines = [line.replace("!", "|") for line in lines]
    first = next((line for line in lines if line.strip()), "")
    columns = _columns(block) or sum(copies * span for copies, span, *_ in _split(first)[1]) or 1
    return _grid(_cells(lines), min(columns, _MAX_COLUMNS))


def _columns(block: str) -> int:
    match = _COLS.search(block)
    if match is None:
        return 0
    spec = (match[1] or match[2]).strip().strip("'\"")
    total = 0
    for part in re.split(r"[,;]", spec):
        times = _TIMES.match(part)
        total += int(times[1]) if times else 1
    return min(total, _MAX_COLUMNS)


def _split(line: str) -> tuple[str, list[tuple[int, int, int, str]]]:
    """Split a line at its bars: what stands before the first, then copies, columns, rows, text."""
    line = line.replace("\\|", "\x00")
    marks = list(_CELL.finditer(line))
    if not marks:
        return line.replace("\x00", "|"), []
    cells = []
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        text = line[mark.end() : following.start() if following else len(line)].replace("\x00", "|")
        columns, rows = int(mark[1] or 1), int(mark[2] or 1)
        copies = columns if mark[3] == "*" else 1
        cells.append((copies, 1 if mark[3] == "*" else columns, rows, text.strip()))
    return line[: marks[0].start()].replace("\x00", "|"), cells


def _cells(lines: list[str]) -> list[tuple[int, int, int, str]]:
    """List the cells in order: copies, the columns and rows that each covers, text."""
    entries: list[tuple[int, int, int, list[str]]] = []
    for line in lines:
        continued, cells = _split(line)
        if continued.strip() and entries:
            entries[-1][3].append(continued.strip())
        entries += [(copies, columns, rows, [text]) for copies, columns, rows, text in cells]
    return [(copies, wide, high, " ".join(texts)) for copies, wide, high, texts in entries]


def _grid(cells: list[tuple[int, int, int, str]], columns: int) -> list[list[str]]:
    """Lay cells out in rows; one that spans stands in each place that it covers."""
    rows: list[list[str]] = [[]]
    below: dict[int, tuple[int, str]] = {}  # column: rows still covered, and by what
    spare = _MAX_REPEATED_CHARS
    for copies, width, height, text in cells:
        for copy in range(copies):
            spare -= (len(text) + 1) * (width * height - (copy == 0))
            repeated = text if spare > 0 else ""
            row = rows[-1]
            _cover(row, below)
            span = max(min(width, columns - len(row)), 1)
            if height > 1:
                below |= dict.fromkeys(range(len(row), len(row) + span), (height - 1, repeated))
            row += [repeated if copy else text, *[repeated] * (span - 1)]
            _cover(row, below)
            if len(row) >= columns:
                rows.append([])
    return rows


def _cover(row: list[str], below: dict[int, tuple[int, str]]) -> None:
    """Fill the places that cells of rows above reach down to."""
    while len(row) in below:
        remaining, text = below.pop(len(row))
        if remaining > 1:
            below[len(row)] = (remaining - 1, text)
        row.append(text)
