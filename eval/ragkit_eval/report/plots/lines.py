"""Draw curves of runs: the share of answers by latency, and the risk by the share answered."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from ragkit.report.curves import Curve, describe_curves, draw_curves
from ragkit.report.svg import Scale, axes, linear, logarithmic, picture
from ragkit_eval.report.numbers import seconds

_WIDTH, _HEIGHT = 360, 270


def latencies(ident: str, title: str, curves: Sequence[Curve]) -> Markup:
    """Draw the share of answers that had arrived by each second, on a logarithmic scale."""
    x = logarithmic([x for curve in curves for x, _ in curve.points], 44, _WIDTH - 24)
    y = Scale(0, 1, _HEIGHT - 42, 26)
    grid = axes(x, y, "seconds", "share of answers", x_text=seconds, y_text=_format_share)
    return picture(
        ident, title, describe_curves(curves), _WIDTH, _HEIGHT, grid, *draw_curves(curves, x, y)
    )


def risk(ident: str, title: str, meaning: str, curves: Sequence[Curve]) -> Markup:
    """Draw the share of wrong answers when only the most confident ones are given."""
    x = Scale(0, 1, 44, _WIDTH - 24)
    ends = [0.0, *(y for curve in curves for _, y in curve.points)]
    y = linear(ends, _HEIGHT - 42, 26, at_most=1)
    label = "share answered, the surest first"
    grid = axes(x, y, label, f"risk: {meaning}", x_text=_format_share, y_text=lambda v: f"{v:g}")
    return picture(
        ident, title, describe_curves(curves), _WIDTH, _HEIGHT, grid, *draw_curves(curves, x, y)
    )


def shares(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return pairs of a value and the share of values that are no greater, of ascending values."""
    return [(value, (n + step) / len(values)) for n, value in enumerate(values) for step in (0, 1)]


def _format_share(value: float) -> str:
    return f"{value * 100:g}%"
