"""Draw curves of runs: the share of answers by latency, and the risk by the share answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragkit_eval.report.numbers import seconds
from ragkit_eval.report.svg import (
    Scale,
    axes,
    colour,
    element,
    letter,
    linear,
    logarithmic,
    mark,
    number,
    picture,
)

_WIDTH, _HEIGHT = 360, 270
_POINTS = 120  # of a curve; more cannot be seen at this size


@dataclass(frozen=True, slots=True)
class Curve:
    """A run's points, x ascending, and their description in words."""

    run: int
    name: str
    points: Sequence[tuple[float, float]]
    description: str


def latencies(ident: str, title: str, curves: Sequence[Curve]) -> Markup:
    """Draw the share of answers that had arrived by each second, on a logarithmic scale."""
    x = logarithmic([x for curve in curves for x, _ in curve.points], 44, _WIDTH - 24)
    y = Scale(0, 1, _HEIGHT - 42, 26)
    grid = axes(x, y, "seconds", "share of answers", x_text=seconds, y_text=_format_share)
    return picture(
        ident, title, _describe_curves(curves), _WIDTH, _HEIGHT, grid, *_draw_curves(curves, x, y)
    )


def risk(ident: str, title: str, meaning: str, curves: Sequence[Curve]) -> Markup:
    """Draw the share of wrong answers when only the most confident ones are given."""
    x = Scale(0, 1, 44, _WIDTH - 24)
    ends = [0.0, *(y for curve in curves for _, y in curve.points)]
    y = linear(ends, _HEIGHT - 42, 26, at_most=1)
    label = "share answered, the surest first"
    grid = axes(x, y, label, f"risk: {meaning}", x_text=_format_share, y_text=lambda v: f"{v:g}")
    return picture(
        ident, title, _describe_curves(curves), _WIDTH, _HEIGHT, grid, *_draw_curves(curves, x, y)
    )


def thin(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Select evenly spaced points, as many as are visible, with the first and last one."""
    if len(points) <= _POINTS:
        return list(points)
    last = len(points) - 1
    return [points[round(n * last / (_POINTS - 1))] for n in range(_POINTS)]


def shares(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return pairs of a value and the share of values that are no greater, of ascending values."""
    return [(value, (n + step) / len(values)) for n, value in enumerate(values) for step in (0, 1)]


def _draw_curves(curves: Sequence[Curve], x: Scale, y: Scale) -> list[Markup]:
    parts = []
    for curve in curves:
        points = " ".join(f"{number(x(a))},{number(y(b))}" for a, b in thin(curve.points))
        kind = f"curve {colour(curve.run)} d{curve.run % 4}"
        parts.append(element("polyline", points=points, class_=kind))
    for n, curve in enumerate(curves):
        # A mark on each curve, at different heights, identifies its run.
        a, b = curve.points[int((len(curve.points) - 1) * (0.35 + 0.4 * n / len(curves)))]
        parts.append(mark(curve.run, x(a), y(b)))
    return parts


def _describe_curves(curves: Sequence[Curve]) -> str:
    return "; ".join(f"{letter(curve.run)} {curve.name}: {curve.description}" for curve in curves)


def _format_share(value: float) -> str:
    return f"{value * 100:g}%"
