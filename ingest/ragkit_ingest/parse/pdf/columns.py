"""The reading order of a page's lines: from the top down, column by column.

Only columns of running text are taken apart; elsewhere what stands side by side keeps pdfium's
order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from ragkit_ingest.parse.pdf.evidence import best_order, weight
from ragkit_ingest.parse.pdf.lines import (
    Gap,
    Line,
    is_right_to_left,
    split,
    turned_box,
    usual_height,
)
from ragkit_ingest.parse.pdf.paragraphs import ITEM

_GUTTER = 0.8  # in line heights: narrower is a space between words
_NEXT_LINE = 2.0  # in line heights: further down begins another block
_MIN_LINES = 3  # in a column; arbitrary
_MANY_LINES = 12  # arbitrary; fewer lines that run over both columns may be rows of a table or code
_MIN_WIDTH = 8.0  # in line heights; arbitrary: narrower are numbers and marks
_MIN_CHARS = 16  # in the middle line of a column, Chinese characters counting two; arbitrary
_APART = 3.0  # in line heights: white from edge to edge, as above a footer, ends all columns
_FILLED = 0.6  # of its column: what most lines of running text are at least as wide as
_CORE = 0.3  # of a line's height to each side of its middle: lines set tight overlap beyond it
_SHEET = 1.15  # times as wide as high: such a page may be a sheet of two
_MARGINS = 1.5  # in line heights: between two pages on a sheet
_MIDDLE = 0.08  # of the width: the middle of a sheet is no further from that of its text
_MAX_NUMBER = 6  # digits of a page number; arbitrary
_MAX_LINES = 4000  # arbitrary; a page of more is a drawing
_MAX_DEPTH = 3  # columns in columns


@dataclass(frozen=True)
class _Strip:
    """Lines that stand side by side, from one height of the page to another."""

    lines: list[Line]
    top: float
    bottom: float


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Order a page's lines as they are read.

    Those set at an angle come last, those of one angle together, in the order in which a reader
    who turns the page finds them; their places are then those of the turned page. Where white
    runs over all columns, as beside a figure, the columns end there or go on below it, by what
    `best_order` finds.
    """
    halves = _halves(lines)
    if halves:
        return [line for half in halves for line in in_reading_order(half)]
    by_place = _by_place(lines, _APART)
    if len(lines) > _MAX_LINES:
        return by_place
    orders = [by_place, _by_place(lines, math.inf)] if _has_band(lines) else [by_place]
    return best_order(lines, *orders)


def _has_band(lines: Sequence[Line]) -> bool:
    """Say whether white that ends columns runs from edge to edge somewhere between lines."""
    upright = sorted((line for line in lines if not line.is_turned), key=lambda line: -line.top)
    least = _APART * max(usual_height(upright), 1.0)
    bottom = math.inf
    for line in upright:
        if bottom - line.top > least and bottom != math.inf:
            return True
        bottom = min(bottom, line.bottom)
    return False


def _halves(lines: Sequence[Line]) -> list[list[Line]]:
    """Take two pages on one sheet apart; empty where there are none.

    The sheet is wider than high, nothing crosses its middle, and each half is running text or both
    have page numbers that follow each other.
    """
    upright = [line for line in lines if not line.is_turned]
    if not 2 * _MIN_LINES <= len(upright) <= _MAX_LINES:
        return []
    left, right = min(line.left for line in upright), max(line.right for line in upright)
    width = right - left
    if width < _SHEET * (max(line.top for line in upright) - min(line.bottom for line in upright)):
        return []
    height = max(usual_height(upright), 1.0)
    middle = (left + right) / 2
    gutter = next(
        (
            gap
            for gap in free(upright, _MARGINS * height, least=_MARGINS * height)
            if abs((gap[0] + gap[1]) / 2 - middle) <= _MIDDLE * width
        ),
        None,
    )
    halves = _cut(upright, [gutter]) if gutter else []
    if not halves or not (_are_numbered(halves) or all(is_running(h, height) for h in halves)):
        return []
    return [halves[0], [*halves[1], *(line for line in lines if line.is_turned)]]


def _are_numbered(halves: Sequence[Sequence[Line]]) -> bool:
    numbers = []
    for half in halves:
        text = min(half, key=lambda line: line.bottom).text.strip(" -–—")
        numbers.append(int(text) if text.isdecimal() and len(text) < _MAX_NUMBER else -1)
    return numbers[0] >= 0 and numbers[1] == numbers[0] + 1


def _by_place(lines: Sequence[Line], white: float, depth: int = 0) -> list[Line]:
    """Order lines from the top down, column by column.

    White from edge to edge of more than `white` line heights ends all columns.
    """
    upright = [line for line in lines if not line.is_turned]
    turned = _turned([line for line in lines if line.is_turned], depth)
    if len(upright) > _MAX_LINES or len(upright) < _MIN_LINES or depth >= _MAX_DEPTH:
        return upright + turned
    height = max(usual_height(upright), 1.0)
    ordered: list[Line] = []
    for group in _groups(_strips(_blocks(upright)), height, white):
        columns = _columns([line for strip in group for line in strip.lines], height)
        for column in columns:
            ordered += _by_place(column, white, depth + 1)
        if not columns:
            ordered += [line for strip in group for line in strip.lines]
    return ordered + turned


def _turned(lines: Sequence[Line], depth: int) -> list[Line]:
    ordered: list[Line] = []
    for turn in sorted({line.turn for line in lines}):
        group = [line for line in lines if line.turn == turn]
        if turn > 0:
            group = _by_place([_placed(line, turn) for line in group], _APART, depth)
        ordered += [replace(line, turn=turn) for line in group]
    return ordered


def _placed(line: Line, turn: int) -> Line:
    sides = turned_box(turn, line.left, line.right, line.bottom, line.top)
    left, right, bottom, top = sides
    return replace(line, left=left, right=right, bottom=bottom, height=top - bottom, turn=0)


def free(lines: Iterable[Line], width: float, *, least: float) -> list[Gap]:
    """Give the stretches at least `width` wide that no line has anything in, from left to right.

    Gaps in a line count when they are at least `least` wide.
    """
    occupied = sorted(span for line in lines for span in _spans(line, least))
    return _between(_merged(occupied), width)


def _merged(spans: Iterable[Gap]) -> list[Gap]:
    """Join stretches, which come from left to right, where they meet."""
    merged: list[Gap] = []
    for left, right in spans:
        if merged and left <= merged[-1][1]:
            if right > merged[-1][1]:
                merged[-1] = (merged[-1][0], right)
        else:
            merged.append((left, right))
    return merged


def _between(merged: Sequence[Gap], width: float) -> list[Gap]:
    return [
        (previous[1], following[0])
        for previous, following in pairwise(merged)
        if following[0] - previous[1] >= width
    ]


def _spans(line: Line, least: float) -> list[Gap]:
    spans: list[Gap] = []
    begin = line.left
    for left, right in line.gaps:
        if right - left >= least:
            spans.append((begin, left))
            begin = right
    return [*spans, (begin, line.right)]


def _blocks(lines: Sequence[Line]) -> list[list[Line]]:
    """Put lines together that follow each other and stand below each other."""
    blocks: list[list[Line]] = []
    for line in lines:
        last = blocks[-1][-1] if blocks else None
        if last and not (last.rows or line.rows) and _is_below(last, line):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks


def _is_below(last: Line, line: Line) -> bool:
    if _has_gutter(last) != _has_gutter(line):
        return False  # where a file goes on row by row, columns begin or end there
    drop = last.bottom - line.bottom
    height = max(last.height, line.height)
    overlap = min(last.right, line.right) - max(last.left, line.left)
    return 0.3 * height < drop <= _NEXT_LINE * height and overlap > 0


def _has_gutter(line: Line) -> bool:
    return any(right - left >= _GUTTER * line.height for left, right in line.gaps)


def _strips(blocks: Sequence[list[Line]]) -> list[_Strip]:
    """Put blocks side by side together, from the top down; within a strip they keep their order."""
    placed = [
        (max(map(_core_top, block)), min(map(_core_bottom, block)), place)
        for place, block in enumerate(blocks)
    ]
    strips: list[tuple[float, float, list[int]]] = []
    for top, bottom, place in sorted(placed, key=lambda group: -group[0]):
        if strips and top > strips[-1][1]:
            high, low, places = strips[-1]
            places.append(place)
            strips[-1] = high, min(low, bottom), places
        else:
            strips.append((top, bottom, [place]))
    return [
        _Strip([line for place in sorted(places) for line in blocks[place]], top, bottom)
        for top, bottom, places in strips
    ]


def _core_top(line: Line) -> float:
    return line.middle + (line.height / 2 if line.rows else _CORE * line.height)


def _core_bottom(line: Line) -> float:
    return line.middle - (line.height / 2 if line.rows else _CORE * line.height)


def _groups(strips: Sequence[_Strip], height: float, white: float) -> list[list[_Strip]]:
    """Put strips together as long as a gutter runs through all of them."""
    groups: list[list[_Strip]] = []
    occupied: list[Gap] = []
    for strip in strips:
        strip_spans = _occupied(strip, height)
        together = _merged(sorted([*occupied, *strip_spans]))
        is_near = bool(groups) and groups[-1][-1].bottom - strip.top <= white * height
        if is_near and _between(together, _GUTTER * height):
            groups[-1].append(strip)
            occupied = together
            continue
        moved = _heading_of(groups[-1], strip, height) if groups else []
        groups.append([*moved, strip])
        occupied = _merged(
            sorted([*strip_spans, *(s for heading in moved for s in _occupied(heading, height))])
        )
    return [group for group in groups if group]


def _occupied(strip: _Strip, height: float) -> list[Gap]:
    least = _GUTTER * height
    return _merged(sorted(span for line in strip.lines for span in _spans(line, least)))


def _heading_of(group: list[_Strip], strip: _Strip, height: float) -> list[_Strip]:
    """Take from a group's end what stands nearer to the strip below it, such as its heading."""
    if len(group) < 2:
        return []
    previous, last = group[-2], group[-1]
    is_alone = not free(last.lines, _GUTTER * height, least=_GUTTER * height)
    if is_alone and previous.bottom - last.top > last.bottom - strip.top:
        return [group.pop()]
    return []


def _columns(lines: Sequence[Line], height: float) -> list[list[Line]]:
    """Cut lines into columns of running text; none where they are not such."""
    gutters = free(lines, _GUTTER * height, least=_GUTTER * height)
    widest = sorted(gutters, key=lambda gap: gap[0] - gap[1])[:4]
    for cuts in [gutters, *([gap] for gap in widest)] if len(gutters) > 1 else [gutters]:
        columns = _cut(lines, cuts)
        if len(columns) > 1 and (
            all(is_running(column, height) for column in columns) or _are_written(columns)
        ):
            is_across = sum(map(len, columns)) > len(lines)
            if is_across and len(lines) < _MANY_LINES and not all(map(goes_on, columns)):
                continue
            bottoms = [min(line.bottom for line in column) for column in columns]
            tops = [max(line.top for line in column) for column in columns]
            if all(
                min(tops[n], tops[m]) - max(bottoms[n], bottoms[m]) > _MIN_LINES * height
                for n, m in pairwise(range(len(columns)))
            ):
                leftward = sum(map(is_right_to_left, (line.text for line in lines)))
                return columns[::-1] if 2 * leftward > len(lines) else columns
    return []


def _cut(lines: Sequence[Line], cuts: Sequence[Gap]) -> list[list[Line]]:
    columns: list[list[Line]] = [[] for _ in range(len(cuts) + 1)]
    for line in lines:
        for part in split(line, lambda gap: any(_holds(gap, cut) for cut in cuts)):
            middle = (part.left + part.right) / 2
            columns[sum(middle > cut[0] for cut in cuts)].append(part)
    return columns if all(columns) else []


def _holds(gap: Gap, cut: Gap) -> bool:
    return gap[0] <= cut[0] + 0.01 and gap[1] >= cut[1] - 0.01


def _are_written(columns: Sequence[Sequence[Line]]) -> bool:
    """Say whether columns with tables or lists follow each other in the file.

    Their order in the file tells them from tables and lists that are compared side by side.
    """
    places = [[line.first for line in column if line.first >= 0] for column in columns]
    have_items = all(
        any(line.rows or ITEM.match(line.text) for line in column) for column in columns
    )
    return have_items and all(places) and all(max(a) < min(b) for a, b in pairwise(places))


def is_running(column: Sequence[Line], height: float) -> bool:
    """Say whether lines look like a column of text: wide, filled, and of many characters."""
    text = [line for line in column if not line.rows]
    width = max(line.right for line in column) - min(line.left for line in column)
    if len(text) < _MIN_LINES or width < _MIN_WIDTH * height:
        return False
    filled = sum(line.right - line.left >= _FILLED * width for line in text)
    return 2 * filled >= len(text) and median(map(weight, text)) >= _MIN_CHARS


def goes_on(column: Sequence[Line]) -> bool:
    """Say whether a third of the lines begin within a sentence; in a table few cells do."""
    starts = [line.text[:1] for line in column[1:]]
    return 3 * sum(char.isalpha() and not char.isupper() for char in starts) >= len(starts)
