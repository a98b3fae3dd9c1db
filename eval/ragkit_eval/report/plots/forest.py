"""Draw differences and means with their intervals: a forest plot, and a table's strips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragkit.report.svg import (
    Scale,
    colour,
    element,
    linear,
    mark,
    picture,
    rule,
    text,
    ticks,
)
from ragkit_eval.report.numbers import signed, signed_interval
from ragkit_eval.stats import Interval

_WIDTH = 360  # a phone's; wider pages scale it up
_ROW = 34
_TOP = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a forest plot: its label, its difference, and the run of its mark."""

    label: str
    estimate: Interval
    run: int


def forest(ident: str, title: str, rows: Sequence[Row]) -> Markup:
    """Draw differences with their intervals around a line at zero."""
    ends = [end for row in rows for end in (row.estimate.low, row.estimate.high)]
    scale = linear([0.0, *ends], 24, _WIDTH - 24)
    bottom = _TOP + _ROW * len(rows)
    parts = [rule(scale(value), _TOP, scale(value), bottom, "grid") for value in ticks(scale)]
    parts += [
        text(signed(value), scale(value), bottom + 15, anchor="middle", kind="tick")
        for value in ticks(scale)
    ]
    parts.append(rule(scale(0), _TOP - 4, scale(0), bottom + 3, "zero"))
    for n, row in enumerate(rows):
        y = _TOP + _ROW * n
        parts.append(text(row.label, 8, y + 12, kind="label halo"))
        value = signed(row.estimate.mean)
        parts.append(text(value, _WIDTH - 8, y + 12, anchor="end", kind="value halo"))
        parts.append(_draw_interval(scale, row.estimate, row.run, y + 23))
    label = "worse ← difference → better"
    parts.append(text(label, _WIDTH / 2, bottom + 31, anchor="middle", kind="label"))
    description = "; ".join(
        f"{row.label} {signed(row.estimate.mean)} {signed_interval(row.estimate)}" for row in rows
    )
    return picture(ident, title, description, _WIDTH, bottom + 38, *parts)


STRIP_WIDTH, STRIP_HEIGHT = 190, 20
_STRIP_TICKS = 4  # as many as have room for their labels


def strip(
    scale: Scale, estimates: Sequence[Interval | None], *, zero: bool, run: int = 0
) -> Markup:
    """Draw a row's estimates on the scale that all rows of a table share.

    With `zero` they are differences; `run` is the number of the first estimate's run.
    """
    middle = STRIP_HEIGHT / 2
    parts = [
        rule(scale(value), 0, scale(value), STRIP_HEIGHT, "grid")
        for value in ticks(scale, _STRIP_TICKS)
    ]
    if zero:
        parts.append(rule(scale(0), 0, scale(0), STRIP_HEIGHT, "zero"))
    distance = min(6.0, 8.0 / max(1, len(estimates) - 1)) if len(estimates) > 1 else 0.0
    for n, estimate in enumerate(estimates):
        if estimate is not None:
            y = middle + (n - (len(estimates) - 1) / 2) * distance
            parts.append(_draw_interval(scale, estimate, run + n, y, size=3.5))
    return element(
        "svg",
        *parts,
        aria_hidden="true",
        class_="strip",
        viewBox=f"0 0 {STRIP_WIDTH} {STRIP_HEIGHT}",
        width=STRIP_WIDTH,
        height=STRIP_HEIGHT,
    )


def strip_axis(scale: Scale, *, zero: bool) -> Markup:
    """Draw the axis above a table's strips."""
    parts = [
        text(
            signed(value, 2) if zero else f"{value:g}",
            scale(value),
            10,
            anchor="middle",
            kind="tick",
        )
        for value in ticks(scale, _STRIP_TICKS)
    ]
    return element(
        "svg",
        *parts,
        aria_hidden="true",
        class_="strip",
        viewBox=f"0 0 {STRIP_WIDTH} 14",
        width=STRIP_WIDTH,
        height=14,
    )


def _draw_interval(
    scale: Scale, estimate: Interval, run: int, y: float, size: float = 4.5
) -> Markup:
    low, high = scale(estimate.low), scale(estimate.high)
    kind = f"interval {colour(run)}"
    return Markup("").join(
        (
            rule(low, y, high, y, kind),
            rule(low, y - 3, low, y + 3, kind),
            rule(high, y - 3, high, y + 3, kind),
            mark(run, scale(estimate.mean), y, size),
        )
    )
