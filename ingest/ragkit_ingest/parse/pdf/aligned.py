"""Tables without ruling lines: rows with gaps at the same places.

Columns of running text have such gaps too, and so have justified lines by chance, so that only
short cells with figures among them are believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ragkit_ingest.parse.pdf.columns import free
from ragkit_ingest.parse.pdf.lines import Gap, Line, split
from ragkit_ingest.parse.pdf.paragraphs import ITEM

_GAP = 1.0  # in line heights: wider than a space between words, even of a justified line
_STEP = 2.6  # in line heights: rows are no further apart
_MIN_ROWS = 3
_MIN_ROWS_OF_TWO = 4  # with two columns alone it takes more to be sure
_MAX_CELL_CHARS = 40  # of the middle cell; arbitrary: sentences are longer
_FIGURES = 0.6  # of the cells of one column after the first have a digit; the header has none


def with_aligned(lines: Sequence[Line]) -> list[Line]:
    """Put tables in the place of lines, which come in reading order."""
    done: list[Line] = []
    run: list[Line] = []
    for line in lines:
        if run and (not _has_cells(line) or not _follows(run, line)):
            done += _table(run)
            run = []
        if _has_cells(line):
            run.append(line)
        else:
            done.append(line)
    return done + _table(run)


def _has_cells(line: Line) -> bool:
    return not line.is_turned and any(
        right - left >= _GAP * line.height > 0 for left, right in line.gaps
    )


def _follows(run: Sequence[Line], line: Line) -> bool:
    """Say whether a line is the next row: near below, of the same size, with a gap in common."""
    drop, height = run[-1].bottom - line.bottom, run[-1].height
    if not 0 < drop <= _STEP * height or abs(line.height - height) > 0.2 * height:
        return False
    return bool(free([*run[-_MIN_ROWS:], line], _GAP * height, least=_GAP * height))


def _table(run: list[Line]) -> list[Line]:
    if len(run) < _MIN_ROWS:
        return run
    height = run[0].height
    gutters = free(run, _GAP * height, least=_GAP * height)
    rows = [_cells(line, gutters) for line in run]
    if not gutters or not _is_table(rows):
        return run
    left, right = min(line.left for line in run), max(line.right for line in run)
    return [Line("", left, right, run[-1].bottom, run[0].top - run[-1].bottom, rows=tuple(rows))]


def _cells(line: Line, gutters: Sequence[Gap]) -> tuple[str, ...]:
    cells = [""] * (len(gutters) + 1)
    for part in split(line, lambda gap: any(gap[0] < g[1] and g[0] < gap[1] for g in gutters)):
        column = sum((part.left + part.right) / 2 > gutter[0] for gutter in gutters)
        cells[column] = f"{cells[column]} {part.text}".strip()
    return tuple(cells)


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    columns = list(zip(*rows, strict=True))
    filled = [cell for row in rows for cell in row if cell]
    if len(filled) < 0.7 * len(rows) * len(columns):  # arbitrary: holes are seldom
        return False
    if median(map(len, filled)) > _MAX_CELL_CHARS or any("...." in cell for cell in filled):
        return False
    if sum(bool(ITEM.match(f"{row[0]} ")) for row in rows) * 2 >= len(rows):
        return False  # a list, its marks apart
    figures = [sum(any(c.isdigit() for c in cell) for cell in column) for column in columns[1:]]
    has_figures = max(figures) >= _FIGURES * (len(rows) - 1)
    return has_figures and (len(columns) > 2 or len(rows) >= _MIN_ROWS_OF_TWO)
