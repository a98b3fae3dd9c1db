"""Grids of ruling lines: columns, rows and merged cells."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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

    def find(self, x: float, y: float) -> tuple[int, int] | None:
        """Give the row and the column of a place; None outside the grid."""
        column = bisect_right(self.xs, x) - 1
        row = bisect_right([-value for value in self.ys], -y) - 1
        inside = 0 <= column < self.columns and 0 <= row < self.rows
        return (row, column) if inside else None


def grids(level: Sequence[Rule], upright: Sequence[Rule]) -> Iterator[Grid]:
    """Give the grids of at least two rows and two columns, no cell of which is bent."""
    for levels, uprights in _connected(level, upright):
        ends = [end for rule in levels for end in (rule.begin, rule.end)]
        tops = [end for rule in uprights for end in (rule.begin, rule.end)]
        if not ends or not tops:
            continue
        xs = _places([*(rule.at for rule in uprights), min(ends), max(ends)])
        ys = _places([*(rule.at for rule in levels), min(tops), max(tops)])[::-1]
        if not (2 <= len(xs) - 1 <= _MAX_COLUMNS and 2 <= len(ys) - 1 <= _MAX_ROWS):
            continue
        cell = _cells(xs, ys, levels, uprights)
        if _are_straight(cell):
            yield Grid(tuple(xs), tuple(ys), cell)


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
    xs: list[float], ys: list[float], level: list[Rule], upright: list[Rule]
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


def _covers(rules: list[Rule], at: float, along: float) -> bool:
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
