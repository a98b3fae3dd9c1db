"""Rows and columns of the lines that stand in a table without lines between its columns.

Where such a table is, by its level rules or by its bold head, is found elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from ragkit_ingest.parse.pdf.columns import free, goes_on, is_running
from ragkit_ingest.parse.pdf.lines import Gap, Line, split
from ragkit_ingest.parse.pdf.paragraphs import join_in_cell

# Line heights of white from top to bottom between two columns, by how many lines it runs through:
# a few lines of prose have such white by chance. Arbitrary.
_GUTTERS = ((2, 1.0), (4, 0.6), (7, 0.4), (0, 0.22))
_ALIGNED = 0.6  # of the rows: so many words that begin below each other make a column of less white
_EDGE = 0.4  # points
_LEVEL = 0.4  # of a line's height: middles so near stand side by side
_WHITER = 0.2  # of a line's height: so much more white is between rows, less within a cell
_SPREAD = 0.3  # of a line's height: lines of a text, set without white, stand nearer
_MAX_COLUMNS = 20  # arbitrary
_MAX_SHORT_CHARS = 24  # of a cell that has a line of its own; arbitrary
_MIN_WIDE = 2  # stretches of white, and more heights than these, where words tell rows apart
_MOSTLY_FULL = 0.6  # of the heights: so many have a cell in every column
_MIN_FILLED = 0.5  # of the cells
_FEW = 0.2  # of a column's cells
_MAX_CELL_CHARS = 400  # arbitrary; a longer cell is a text

Row = tuple[str, ...]
Band = Sequence[Line]


def gutters(lines: Sequence[Line]) -> list[Gap]:
    """Give the stretches of white between the columns of lines; none where there are no columns."""
    if not lines:
        return []
    height = median(line.height for line in lines)
    levels = len(_levels(lines))
    width = next(width for limit, width in _GUTTERS if levels <= limit or not limit) * height
    narrow = _GUTTERS[-1][1] * height
    stretches = [
        stretch
        for stretch in free(lines, narrow, least=narrow)
        if stretch[1] - stretch[0] >= width or _starts(lines, stretch[1]) >= _ALIGNED * levels > 1
    ]
    return stretches if len(stretches) < _MAX_COLUMNS else []


def _starts(lines: Sequence[Line], x: float) -> int:
    """Count the lines in which a word begins at a place."""
    return sum(
        abs(line.left - x) <= _EDGE or any(abs(gap[1] - x) <= _EDGE for gap in line.gaps)
        for line in lines
    )


def rows_of(bands: Sequence[Band], stretches: Sequence[Gap]) -> list[Row]:
    """Write the rows of bands, which come from the top; empty where these are no table's.

    A band between two rules is a row, unless it is the only one under its head: then white, or a
    first cell, begins a row. White that parts words of a few cells under no head is no column.
    """
    rows = _rows(bands, stretches)
    stray = _stray(rows)
    if stray:
        remaining = [stretch for place, stretch in enumerate(stretches) if place + 1 not in stray]
        return rows_of(bands, remaining) if remaining else []
    return rows if _are_table(rows, [line for band in bands for line in band], stretches) else []


def _stray(rows: Sequence[Row]) -> set[int]:
    """Give the columns after the first that have no head and hardly a cell."""
    return {
        place
        for place, cells in enumerate(zip(*rows, strict=True))
        if place and not cells[0] and sum(map(bool, cells)) <= max(_FEW * len(rows), 1)
    }


def _rows(bands: Sequence[Band], stretches: Sequence[Gap]) -> list[Row]:
    body = bands[1:] if len(bands) > 1 else bands
    rows: list[Row] = []
    for place, band in enumerate(bands):
        is_row = (place == 0 and len(bands) > 1) or len(body) > 1
        parts = [part for line in band for part in parts_of(line, stretches)]
        chunks = [parts] if is_row and not _is_parallel(parts, stretches) else None
        for chunk in chunks or _chunks(parts, stretches):
            rows.append(_row(chunk, stretches))
    return rows


def parts_of(line: Line, stretches: Sequence[Gap]) -> list[Line]:
    """Split a line where it goes over from one column into the next."""
    return split(line, lambda gap: any(gap[0] < g[1] and g[0] < gap[1] for g in stretches))


def column_of(part: Line, stretches: Sequence[Gap]) -> int:
    """Give the column of what stands between stretches of white."""
    return sum((part.left + part.right) / 2 > stretch[0] for stretch in stretches)


def _levels(parts: Sequence[Line]) -> list[list[Line]]:
    """Put what stands side by side together, from the top down."""
    levels: list[list[Line]] = []
    for part in sorted(parts, key=lambda part: -part.middle):
        if levels and levels[-1][0].middle - part.middle <= _LEVEL * part.height:
            levels[-1].append(part)
        else:
            levels.append([part])
    return levels


def _is_parallel(parts: Sequence[Line], stretches: Sequence[Gap]) -> bool:
    """Say whether a band has several rows: a figure in most cells at each of its heights.

    So it has with a short cell in the first column and in most others at each of three heights: a
    row of texts that go on below each other is seldom as long in all of its columns.
    """
    levels = _levels(parts)
    if len(levels) < 2:
        return False
    columns = [{column_of(part, stretches) for part in level} for level in levels]
    full = sum(len(filled) > len(stretches) for filled in columns)
    figures = sum(any(char.isdigit() for char in part.text) for part in parts)
    if full == len(levels) and 2 * figures >= len(parts):
        return True
    is_short = max(len(part.text) for part in parts) <= _MAX_SHORT_CHARS
    is_wide = len(stretches) >= _MIN_WIDE and len(levels) > _MIN_WIDE
    begins = all(0 in filled for filled in columns)
    return is_wide and is_short and begins and full >= _MOSTLY_FULL * len(levels)


def _chunks(parts: Sequence[Line], stretches: Sequence[Gap]) -> list[list[Line]]:
    """Cut a band into rows: by white where there is more and less of it, into its lines where all
    stand further apart than those of a text, else by first cells."""
    levels = _levels(parts)
    whites = [
        min(part.bottom for part in above) - max(part.top for part in below)
        for above, below in pairwise(levels)
    ]
    height = median(part.height for part in parts) if parts else 0.0
    level_whites = [white for white in whites if white >= -_WHITER * height]
    centred = _centred(levels, stretches) if len(level_whites) < len(whites) else []
    inner = min([*_inner_whites(parts, stretches), *level_whites], default=0.0)
    if level_whites and max(level_whites) - inner > _WHITER * height:
        limit = (max(level_whites) + inner) / 2
        cuts = [place for place, white in enumerate(whites, 1) if white > limit]
    elif centred:
        cuts = centred
    else:
        are_spread = len(level_whites) == len(whites) and inner >= _SPREAD * height
        cuts = [n for n in range(1, len(levels)) if are_spread or _begins_row(levels[n], stretches)]
    chunks = [
        [part for level in levels[begin:end] for part in level]
        for begin, end in pairwise([0, *cuts, len(levels)])
    ]
    return [
        piece
        for chunk in chunks
        for piece in (_levels(chunk) if _is_parallel(chunk, stretches) else [chunk])
    ]


def _inner_whites(parts: Sequence[Line], stretches: Sequence[Gap]) -> list[float]:
    """Give the white between lines of one column that follow each other."""
    columns: list[list[Line]] = [[] for _ in range(len(stretches) + 1)]
    for part in sorted(parts, key=lambda part: -part.middle):
        columns[column_of(part, stretches)].append(part)
    return [above.bottom - below.top for cells in columns for above, below in pairwise(cells)]


def _centred(levels: Sequence[Sequence[Line]], stretches: Sequence[Gap]) -> list[int]:
    """Give the levels at which rows begin whose first cell stands at half the row's height.

    Each row reaches as far below its first cell as above it; empty where that does not come out.
    """
    cuts: list[int] = []
    begin = 0
    while begin < len(levels):
        first = next(
            (n for n in range(begin, len(levels)) if _begins_row(levels[n], stretches)), -1
        )
        if first < 0:
            return []
        middle = next(p.middle for p in levels[first] if column_of(p, stretches) == 0)
        top, height = levels[begin][0].middle, levels[begin][0].height
        bottom = 2 * middle - top - _LEVEL * height
        end = begin + 1
        while end < len(levels) and levels[end][0].middle >= bottom:
            end += 1
        if end <= first:
            return []
        cuts.append(end)
        begin = end
    return cuts[:-1]


def _begins_row(level: Sequence[Line], stretches: Sequence[Gap]) -> bool:
    return any(column_of(part, stretches) == 0 for part in level)


def _row(chunk: Sequence[Line], stretches: Sequence[Gap]) -> Row:
    cells = [""] * (len(stretches) + 1)
    for level in _levels(chunk):
        for part in sorted(level, key=lambda part: part.left):
            place = column_of(part, stretches)
            cells[place] = join_in_cell(cells[place], part.text) if cells[place] else part.text
    return tuple(" ".join(cell.split()) for cell in cells)


def _are_table(rows: Sequence[Row], lines: Sequence[Line], stretches: Sequence[Gap]) -> bool:
    filled = [cell for row in rows for cell in row if cell]
    full = sum(sum(map(bool, row)) >= 2 for row in rows)
    if len(rows) < 2 or full < 2 or len(filled) < _MIN_FILLED * len(rows) * (len(stretches) + 1):
        return False
    if max(map(len, filled)) > _MAX_CELL_CHARS:
        return False
    height = median(line.height for line in lines)
    columns: list[list[Line]] = [[] for _ in range(len(stretches) + 1)]
    for line in lines:
        for part in parts_of(line, stretches):
            columns[column_of(part, stretches)].append(part)
    levels = len(_levels(lines))
    are_texts = all(
        is_running(column, height) and goes_on(column) and len(column) > 0.8 * levels
        for column in columns
    )
    return not are_texts or len(rows) < levels / 2
