"""Grids of ruling lines: columns, rows and merged cells."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ragkit_ingest.parse.pdf.rules import Rule

_NEAR = 3.0  # points: lines so near each other meet
_MAX_COLUMNS = 40  # arbitrary; with more it is graph paper
_MAX_ROWS = 300


@dataclass(frozen=True)
class Grid:
    """Where a grid's columns begin, from the left, and its rows, from the top; the last is its end.

    `cell` gives the cell at a row and a column: a number shared by what is not parted by a line.
    """

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cell: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        return len(self.xs) - 1

    @property
    def rows(self) -> int:
        return len(self.ys) - 1

    def is_continued_by(self, grid: Grid) -> bool:
        """Say whether a grid may be the rest of this one, at the top of the page's next column:
        right of it, higher up, and with columns of the same widths."""
        return (
            self.columns == grid.columns
            and self.xs[-1] < grid.xs[0]
            and self.ys[-1] < grid.ys[0]
            and all(
                abs(mine - self.xs[0] - x + grid.xs[0]) <= _NEAR
                for mine, x in zip(self.xs, grid.xs, strict=True)
            )
        )

    def find(self, x: float, y: float) -> tuple[int, int] | None:
        """Give the row and the column of a place; None outside the grid."""
        column = bisect_right(self.xs, x) - 1
        row = bisect_right([-value for value in self.ys], -y) - 1
        inside = 0 <= column < self.columns and 0 <= row < self.rows
        return (row, column) if inside else None


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows of a grid in which the same upright lines run, by their numbers, its sides apart."""

    top: float
    bottom: float
    columns: frozenset[int]
    rows: int


def grids(level: Sequence[Rule], upright: Sequence[Rule]) -> Iterator[Grid]:
    """Give the grids of at least two columns, no cell of which is bent.

    Tables that touch each other are taken apart where their columns change.
    """
    for levels, uprights in _connected(level, upright):
        stretches = _stretches(levels, uprights)
        parts = _tables(stretches)
        whole = _grid(levels, uprights) if len(parts) == 1 else None
        if whole:
            yield whole
            continue
        for stretch in parts if len(parts) > 1 else stretches:
            grid = _part(levels, uprights, stretch)
            if grid:
                yield grid


def _part(levels: Sequence[Rule], uprights: Sequence[Rule], stretch: _Stretch) -> Grid | None:
    top, bottom = stretch.top, stretch.bottom
    return _grid(
        [rule for rule in levels if bottom - _NEAR <= rule.at <= top + _NEAR],
        [_cut(rule, top, bottom) for rule in uprights if _reaches(rule, top, bottom)],
    )


def _grid(levels: Sequence[Rule], uprights: Sequence[Rule]) -> Grid | None:
    ends = [end for rule in levels for end in (rule.begin, rule.end)]
    tops = [end for rule in uprights for end in (rule.begin, rule.end)]
    if not ends or not tops:
        return None
    xs = _places([*(rule.at for rule in uprights), min(ends), max(ends)])
    ys = _places([*(rule.at for rule in levels), min(tops), max(tops)])[::-1]
    if not (2 <= len(xs) - 1 <= _MAX_COLUMNS and 1 <= len(ys) - 1 <= _MAX_ROWS):
        return None
    cell = _cells(xs, ys, levels, uprights)
    return Grid(tuple(xs), tuple(ys), cell) if _are_straight(cell) else None


def _stretches(levels: Sequence[Rule], uprights: Sequence[Rule]) -> list[_Stretch]:
    """Give the stretches from the top down in which the same upright lines run."""
    ys = _places([rule.at for rule in levels])[::-1]
    xs = _places([rule.at for rule in uprights])
    stretches: list[_Stretch] = []
    for top, bottom in pairwise(ys):
        running = frozenset(
            bisect_right(xs, rule.at + _NEAR)
            for rule in uprights
            if _reaches(rule, top, bottom) and rule.at - xs[0] > _NEAR and xs[-1] - rule.at > _NEAR
        )
        if stretches and stretches[-1].columns == running:
            last = stretches.pop()
            stretches.append(_Stretch(last.top, bottom, running, last.rows + 1))
        else:
            stretches.append(_Stretch(top, bottom, running, 1))
    return stretches


def _tables(stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """Join stretches that share a column's edge; two that share none are two tables."""
    tables: list[_Stretch] = []
    for stretch in stretches:
        last = tables[-1] if tables else None
        are_two = last and last.columns and stretch.columns and not last.columns & stretch.columns
        if last and not (are_two and min(last.rows, stretch.rows) > 1):
            columns = last.columns | stretch.columns
            rows = last.rows + stretch.rows
            tables[-1] = _Stretch(last.top, stretch.bottom, columns, rows)
        else:
            tables.append(stretch)
    return tables


def _reaches(rule: Rule, top: float, bottom: float) -> bool:
    return rule.begin <= bottom + _NEAR and rule.end >= top - _NEAR


def _cut(rule: Rule, top: float, bottom: float) -> Rule:
    return Rule(rule.at, max(rule.begin, bottom), min(rule.end, top))


def _connected(
    level: Sequence[Rule], upright: Sequence[Rule]
) -> Iterator[tuple[list[Rule], list[Rule]]]:
    """Put lines together that touch each other."""
    parent = list(range(len(level) + len(upright)))
    for i, flat in enumerate(level):
        for j, steep in enumerate(upright, len(level)):
            crosses = flat.begin - _NEAR <= steep.at <= flat.end + _NEAR
            if crosses and steep.begin - _NEAR <= flat.at <= steep.end + _NEAR:
                parent[_root(parent, i)] = _root(parent, j)
    groups: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for i, rule in enumerate([*level, *upright]):
        groups.setdefault(_root(parent, i), ([], []))[i >= len(level)].append(rule)
    yield from groups.values()


def _root(parent: list[int], place: int) -> int:
    while parent[place] != place:
        parent[place] = parent[parent[place]]
        place = parent[place]
    return place


def _places(values: list[float]) -> list[float]:
    """Order places and drop those near the one before."""
    distinct: list[float] = []
    for value in sorted(values):
        if not distinct or value - distinct[-1] > _NEAR:
            distinct.append(value)
    return distinct


def _cells(
    xs: Sequence[float], ys: Sequence[float], level: Sequence[Rule], upright: Sequence[Rule]
) -> dict[tuple[int, int], int]:
    """Number the cells; neighbours without a line between them share a number."""
    columns, rows = len(xs) - 1, len(ys) - 1
    parent = list(range(columns * rows))
    for row in range(rows):
        middle = (ys[row] + ys[row + 1]) / 2
        for column in range(columns):
            cell = row * columns + column
            if column + 1 < columns and not _covers(upright, xs[column + 1], middle):
                parent[_root(parent, cell)] = _root(parent, cell + 1)
            centre = (xs[column] + xs[column + 1]) / 2
            if row + 1 < rows and not _covers(level, ys[row + 1], centre):
                parent[_root(parent, cell)] = _root(parent, cell + columns)
    return {
        (row, column): _root(parent, row * columns + column)
        for row in range(rows)
        for column in range(columns)
    }


def _covers(rules: Sequence[Rule], at: float, along: float) -> bool:
    return any(abs(rule.at - at) <= _NEAR and rule.begin <= along <= rule.end for rule in rules)


def _are_straight(cell: dict[tuple[int, int], int]) -> bool:
    """Say whether each cell is a rectangle."""
    places: dict[int, list[tuple[int, int]]] = {}
    for place, number in cell.items():
        places.setdefault(number, []).append(place)
    for group in places.values():
        rows = {row for row, _ in group}
        columns = {column for _, column in group}
        size = (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1)
        if size != len(group):
            return False
    return True
