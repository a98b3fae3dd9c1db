"""Tables with level rules only: over and under the head, under the last row, or under each row."""

from __future__ import annotations

from collections.abc import Sequence

from ragkit_ingest.parse.pdf.lines import Line
from ragkit_ingest.parse.pdf.regions import gutters, rows_of
from ragkit_ingest.parse.pdf.rules import Rule

_NEAR = 6.0  # points: rules that begin and end so near each other are of one table
_REACH = 3.0  # points by which text may reach over a rule's ends
_ROW = 2.4  # in line heights: the head above the first rule is no further from it
_MIN_WIDTH = 40.0  # points; arbitrary: shorter rules underline words
_MAX_BANDS = 150  # arbitrary; of one table on one page
_MAX_FAILURES = 100  # rules of a page that begin no table; arbitrary
_MAX_LINES = 600  # arbitrary; a page of more is a drawing


def with_banded(
    lines: Sequence[Line], level: Sequence[Rule], upright: Sequence[Rule]
) -> list[Line]:
    """Put a table in the place of lines between level rules of one length."""
    if len(lines) > _MAX_LINES:
        return list(lines)
    remaining = list(lines)
    failures = 0
    for rules in _groups([rule for rule in level if not _is_crossed(rule, upright)]):
        begin = 0
        while begin < len(rules) - 1 and failures < _MAX_FAILURES:
            size = len(remaining)
            remaining, begin = _with_table(remaining, rules[: begin + _MAX_BANDS], begin)
            failures += len(remaining) == size
    return remaining


def _is_crossed(rule: Rule, upright: Sequence[Rule]) -> bool:
    """Say whether upright lines begin, end or cross within a rule: it is part of a grid."""
    return any(
        rule.begin + _NEAR < line.at < rule.end - _NEAR
        and line.begin - _NEAR <= rule.at <= line.end + _NEAR
        for line in upright
    )


def _groups(level: Sequence[Rule]) -> list[list[Rule]]:
    """Put rules of one length together, each group from the top down."""
    groups: list[list[Rule]] = []
    for rule in sorted(level, key=lambda rule: -rule.at):
        if rule.end - rule.begin < _MIN_WIDTH:
            continue
        for group in groups:
            first = group[0]
            if abs(first.begin - rule.begin) <= _NEAR and abs(first.end - rule.end) <= _NEAR:
                group.append(rule)
                break
        else:
            groups.append([rule])
    return [group for group in groups if len(group) > 1]


def _with_table(lines: list[Line], rules: list[Rule], begin: int) -> tuple[list[Line], int]:
    """Make a table of as many bands from `begin` on as have columns in common.

    Returns the lines with it, and the rule at which another may begin.
    """
    bands: list[list[Line]] = []
    end = begin
    for above, below in zip(rules[begin:], rules[begin + 1 :], strict=False):
        band = _between(lines, above, below.at, above.at)
        if not band or not gutters(
            [*(line for lines_of_band in bands for line in lines_of_band), *band]
        ):
            break
        bands.append(band)
        end += 1
    if not bands:
        return lines, begin + 1
    head = _head(lines, rules[begin], bands)
    if head:
        bands.insert(0, head)
    inside = [line for band in bands for line in band]
    rows = rows_of(bands, gutters(inside)) if len(bands) > 1 else []
    if not rows:
        return lines, begin + 1
    numbers = {id(line) for line in inside}
    place = next(n for n, line in enumerate(lines) if id(line) in numbers)
    top, bottom = max(line.top for line in inside), min(line.bottom for line in inside)
    rule = rules[begin]
    table = Line(
        "",
        rule.begin,
        rule.end,
        bottom,
        top - bottom,
        rows=tuple(rows),
        font=bands[-1][0].font,
        first=inside[0].first,
    )
    preceding = [line for line in lines[:place] if id(line) not in numbers]
    following = [line for line in lines[place:] if id(line) not in numbers]
    return [*preceding, table, *following], end


def _between(lines: Sequence[Line], rule: Rule, bottom: float, top: float) -> list[Line]:
    return [
        line
        for line in lines
        if bottom < line.middle < top
        and rule.begin - _REACH <= line.left
        and line.right <= rule.end + _REACH
        and not (line.rows or line.is_turned)
    ]


def _head(lines: Sequence[Line], rule: Rule, bands: Sequence[Sequence[Line]]) -> list[Line]:
    """Give the lines right above the first rule, where they stand over the table's columns."""
    inside = [line for band in bands for line in band]
    height = max(line.height for line in inside)
    head = _between(lines, rule, rule.at, rule.at + _ROW * height)
    stretches = gutters(inside)
    if not head or len(gutters([*inside, *head])) < len(stretches):
        return []
    has_cells = any(line.has_gap for line in head) or len(head) > 1
    return head if has_cells else []
