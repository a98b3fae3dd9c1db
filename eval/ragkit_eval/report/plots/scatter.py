"""Plot quality against cost, one mark per run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragkit.report.svg import (
    axes,
    colour,
    letter,
    linear,
    mark,
    picture,
    rule,
    text,
)
from ragkit_eval.stats import Interval

_WIDTH, _HEIGHT = 360, 270


@dataclass(frozen=True, slots=True)
class Point:
    """A run's cost and its quality with the interval."""

    run: int
    name: str
    x: float
    y: Interval


def scatter(
    ident: str,
    title: str,
    points: Sequence[Point],
    x_label: str,
    y_label: str,
    x_text: Callable[[float], str],
) -> Markup:
    """Plot runs by cost, left to right, and by quality, upwards, each with its interval."""
    x = linear([0.0, *(point.x for point in points)], 44, _WIDTH - 24)
    ends = [end for point in points for end in (point.y.low, point.y.high)]
    y = linear(ends, _HEIGHT - 42, 26, at_most=1.0)
    parts = [axes(x, y, x_label, y_label, x_text=x_text, y_text=lambda value: f"{value:g}")]
    for point in points:
        centre = x(point.x)
        kind = f"interval {colour(point.run)}"
        parts.append(rule(centre, y(point.y.low), centre, y(point.y.high), kind))
        parts.append(mark(point.run, centre, y(point.y.mean), 5.5))
        near_edge = centre > _WIDTH - 40
        parts.append(
            text(
                letter(point.run),
                centre + (-10 if near_edge else 10),
                y(point.y.mean) + 4,
                anchor="end" if near_edge else "start",
                kind="value halo",
            )
        )
    points_text = "; ".join(
        f"{letter(p.run)} {p.name}: {p.y.mean:.3f} at {x_text(p.x)}" for p in points
    )
    return picture(ident, title, f"{y_label} by {x_label}: {points_text}", _WIDTH, _HEIGHT, *parts)
