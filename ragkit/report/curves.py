"""Draw curves of runs, each with a mark that tells its run without its colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragkit.report.svg import Scale, colour, element, letter, mark, number

POINTS = 120  # of a curve; more cannot be seen at the size of a figure


@dataclass(frozen=True, slots=True)
class Curve:
    """A run's points, x ascending and at least one, and their description in words.

    `band` are x, least and greatest value, shaded behind the curve. `marked` is where the run's
    mark stands; without it, it stands on the curve at a height of its own.
    """

    run: int
    name: str
    points: Sequence[tuple[float, float]]
    description: str
    band: Sequence[tuple[float, float, float]] = ()
    marked: tuple[float, float] | None = None


def thin(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Select evenly spaced points, as many as are visible, with the first and last one."""
    if len(points) <= POINTS:
        return list(points)
    last = len(points) - 1
    return [points[round(n * last / (POINTS - 1))] for n in range(POINTS)]


def draw_curves(curves: Sequence[Curve], x: Scale, y: Scale) -> list[Markup]:
    """Draw bands, then curves, then marks, so that no curve hides a mark."""
    return [
        *(_draw_band(curve, x, y) for curve in curves if curve.band),
        *(_draw_curve(curve, x, y) for curve in curves),
        *(_draw_mark(n, curve, len(curves), x, y) for n, curve in enumerate(curves)),
    ]


def describe_curves(curves: Sequence[Curve]) -> str:
    """Write the curves in words, for those who do not see them."""
    return "; ".join(f"{letter(curve.run)} {curve.name}: {curve.description}" for curve in curves)


def _draw_curve(curve: Curve, x: Scale, y: Scale) -> Markup:
    points = " ".join(f"{number(x(a))},{number(y(b))}" for a, b in thin(curve.points))
    return element("polyline", points=points, class_=f"curve {colour(curve.run)} d{curve.run % 4}")


def _draw_band(curve: Curve, x: Scale, y: Scale) -> Markup:
    upper = [(a, high) for a, _, high in curve.band]
    lower = [(a, low) for a, low, _ in reversed(curve.band)]
    points = " ".join(f"{number(x(a))},{number(y(b))}" for a, b in (*upper, *lower))
    return element("polygon", points=points, class_=f"band {colour(curve.run)}")


def _draw_mark(n: int, curve: Curve, count: int, x: Scale, y: Scale) -> Markup:
    # On each curve at another place: curves that coincide are still told apart.
    place = int((len(curve.points) - 1) * (0.35 + 0.4 * n / count))
    a, b = curve.marked or curve.points[place]
    return mark(curve.run, x(a), y(b))
