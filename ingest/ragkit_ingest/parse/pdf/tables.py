"""Tables on a PDF page: text in a grid of ruling lines becomes rows of cells.

What is not surely a table stays lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragkit_ingest.parse.pdf.grid import Grid, grids
from ragkit_ingest.parse.pdf.lines import Line, split
from ragkit_ingest.parse.pdf.paragraphs import join_in_cell
from ragkit_ingest.parse.pdf.rules import Rule

_NEAR = 3.0  # points by which text may reach over a line
_BASELINE = 0.4  # of a line's height: lines so near each other stand side by side
_MIN_CELLS = 4  # with text; fewer may be a frame around something
_MIN_FILLED = 0.5  # of the cells: a form or a chart has more empty ones
_MIN_MARKED = 0.2  # the same where each row and column has a head: marks stand in few cells
_MAX_ASTRAY = 0.05  # of the lines may cross a line between cells
_MIN_PARALLEL = 3  # columns in which several lines stand at the same heights are several rows

Cell = list[Line]
Cut = Callable[[Line, float], list[Line]]


def with_tables(
    lines: Sequence[Line], level: Sequence[Rule], upright: Sequence[Rule], cut: Cut
) -> list[Line]:
    """Put a table in the place of the lines that stand in each grid; `cut` cuts a line at a rule
    where no space parts its cells."""
    remaining = list(lines)
    for pieces in _tables(list(grids(level, upright)), lines):
        remaining = _with_table(remaining, pieces, cut)
    return remaining


def _tables(of_page: Sequence[Grid], lines: Sequence[Line]) -> list[list[Grid]]:
    """Put the grids together that are pieces of one table, broken where columns of the page end.

    The file writes a piece right after the one before it, and the first alone has a bold head.
    """
    tables: list[list[Grid]] = []
    by_end: dict[int, list[Grid]] = {}  # tables with a head, by the place after their last line
    for grid in sorted(of_page, key=lambda grid: grid.xs[0]):
        places = [n for n, line in enumerate(lines) if grid.find(line.left, line.middle)]
        begin, end = (places[0], places[-1] + 1) if places else (0, 0)
        has_head = bool(places) and lines[begin].font.is_bold
        pieces = [] if has_head else by_end.get(begin, [])
        if pieces and pieces[-1].is_continued_by(grid):
            pieces.append(grid)
        else:
            pieces = [grid]
            tables.append(pieces)
        if has_head or len(pieces) > 1:
            by_end[end] = pieces
    return tables


def _with_table(lines: list[Line], pieces: Sequence[Grid], cut: Cut) -> list[Line]:
    remaining, places = lines, []
    filled: list[dict[int, Cell]] = []
    for grid in pieces:
        cells, remaining, place = _filled(remaining, grid, cut)
        filled.append(cells)
        places.append(place)
    if not all(filled) or not any(map(_is_table, filled, pieces)):
        return lines
    rows = [row for cells, grid in zip(filled, pieces, strict=True) for row in _rows(cells, grid)]
    columns = [place for place, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    grid, first = pieces[0], next(iter(filled[0].values()))[0]
    table = Line(
        "",
        grid.xs[0],
        grid.xs[-1],
        grid.ys[-1],
        grid.ys[0] - grid.ys[-1],
        rows=tuple(tuple(row[place] for place in columns) for row in rows),
        font=first.font,
        first=first.first,
    )
    return [*remaining[: places[0]], table, *remaining[places[0] :]]


def _filled(lines: Sequence[Line], grid: Grid, cut: Cut) -> tuple[dict[int, Cell], list[Line], int]:
    """Give the cells of a grid with their lines, the lines outside it, and how many of these come
    before the first in it; no cells where too many lines cross a line between cells."""
    cells: dict[int, Cell] = {}
    widths = _widths(grid)
    outside: list[Line] = []
    place = astray = inside = 0
    for line in lines:
        for part in _parts(line, grid, cut):
            at = grid.find((part.left + part.right) / 2, part.middle)
            if at is None or part.rows or (part.is_turned and not _holds(grid, at, part)):
                outside.append(part)
                continue
            if not inside:
                place = len(outside)
            inside += 1
            number = grid.cell[at]
            astray += not _fits(part, widths[number], grid)
            cells.setdefault(number, []).append(part)
    return ({} if astray > _MAX_ASTRAY * inside else cells), outside, place


def _holds(grid: Grid, at: tuple[int, int], line: Line) -> bool:
    """Say whether a cell holds a line from its bottom to its top, as it does a turned head."""
    rows = [row for (row, column), n in grid.cell.items() if n == grid.cell[at]]
    top, bottom = grid.ys[min(rows)], grid.ys[max(rows) + 1]
    return bottom - _NEAR <= line.bottom and line.top <= top + _NEAR


def _parts(line: Line, grid: Grid, cut: Cut) -> list[Line]:
    """Split a line where it goes over from one column into the next, or out of the grid."""
    if not grid.ys[-1] < line.middle < grid.ys[0] or line.is_turned or line.rows:
        return [line]
    parts = split(
        line,
        lambda gap: any(gap[0] - _NEAR <= x <= gap[1] + _NEAR for x in grid.xs),
    )
    for x in grid.xs[1:-1]:
        if any(part.left < x - _NEAR and part.right > x + _NEAR for part in parts):
            left, right = grid.find(x - _NEAR, line.middle), grid.find(x + _NEAR, line.middle)
            if left and right and grid.cell[left] != grid.cell[right]:
                parts = [piece for part in parts for piece in cut(part, x)]
    return parts


def _widths(grid: Grid) -> dict[int, tuple[int, int]]:
    """Give the first and the last column of each cell."""
    widths: dict[int, tuple[int, int]] = {}
    for (_, column), number in grid.cell.items():
        first, last = widths.get(number, (column, column))
        widths[number] = min(first, column), max(last, column)
    return widths


def _fits(part: Line, columns: tuple[int, int], grid: Grid) -> bool:
    left, right = grid.xs[columns[0]], grid.xs[columns[1] + 1]
    return part.left >= left - _NEAR and part.right <= right + _NEAR


def _is_table(cells: dict[int, Cell], grid: Grid) -> bool:
    numbers = set(grid.cell.values())
    least = _MIN_MARKED if _has_heads(cells, grid) else _MIN_FILLED
    if len(cells) < _MIN_CELLS or len(cells) < least * len(numbers):
        return False
    rows: dict[int, set[int]] = {}
    columns: dict[int, set[int]] = {}
    for (row, column), number in grid.cell.items():
        if number in cells:
            rows.setdefault(row, set()).add(number)
            columns.setdefault(column, set()).add(number)
    full_rows = sum(len(filled) >= 2 for filled in rows.values())
    return full_rows >= 2 and sum(len(filled) >= 2 for filled in columns.values()) >= 2


def _has_heads(cells: dict[int, Cell], grid: Grid) -> bool:
    """Say whether every row and column has its head, in a grid without merged cells."""
    if len(set(grid.cell.values())) < grid.rows * grid.columns:
        return False
    heads = [(0, column) for column in range(1, grid.columns)]
    heads += [(row, 0) for row in range(1, grid.rows)]
    return all(grid.cell[place] in cells for place in heads)


def _rows(cells: dict[int, Cell], grid: Grid) -> list[tuple[str, ...]]:
    """Write the rows; a cell over several rows or columns stands in each, so that each row can be
    read by itself."""
    rows: list[tuple[str, ...]] = []
    for row in range(grid.rows):
        cells_of_row = [cells.get(grid.cell[row, column], []) for column in range(grid.columns)]
        if not any(cells_of_row):
            continue
        heights = _parallel(cells_of_row)
        for at in range(max(len(heights), 1)):
            rows.append(tuple(_text(cell, heights, at) for cell in cells_of_row))
    return rows


def _parallel(cells: list[Cell]) -> list[float]:
    """Give the heights of a row's lines where each has a figure and half of all are figures.

    Such a row holds several, with no line between them; other words are rather one cell's text.
    """
    columns = [cell for cell in cells if len(cell) > 1]
    filled = sum(map(bool, cells))
    if len(columns) < max(_MIN_PARALLEL, filled / 2) or len(set(map(len, columns))) > 1:
        return []
    figures = [[_is_figure(line.text) for line in level] for level in zip(*columns, strict=True)]
    if not all(map(any, figures)) or 2 * sum(map(sum, figures)) < len(columns) * len(figures):
        return []
    heights = [line.middle for line in columns[0]]
    are_level = all(
        abs(line.middle - height) <= _BASELINE * line.height
        for cell in columns
        for line, height in zip(cell, heights, strict=True)
    )
    return heights if are_level else []


def _is_figure(text: str) -> bool:
    """Say whether a text has as many digits as letters: it is rather whole than part of a text."""
    digits = sum(map(str.isdigit, text))
    return digits > 0 and digits >= sum(map(str.isalpha, text))


def _text(cell: Cell, heights: Sequence[float], at: int) -> str:
    """Write a cell, or what of it stands at one of the heights; one line alone stands at each."""
    if len(cell) == len(heights):
        near = [line for line in cell if abs(line.middle - heights[at]) <= _BASELINE * line.height]
        cell = near or cell
    text = ""
    for line in cell:
        text = join_in_cell(text, line.text) if text else line.text
    return " ".join(text.split())
