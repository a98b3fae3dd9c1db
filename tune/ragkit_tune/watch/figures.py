"""Draw the curves of runs, one figure for each name, all runs over each other.

A long curve is drawn as the median of stretches of its steps, over a band from the least value of
each stretch to its greatest, so that no spike is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from markupsafe import Markup

from ragkit.report.curves import POINTS, Curve, describe_curves, draw_curves
from ragkit.report.safe_text import line
from ragkit.report.svg import Scale, axes, letter, linear, logarithmic, picture
from ragkit_tune.watch import texts
from ragkit_tune.watch.series import DEV, LOSS, NORM, RATE, REWARD, SPEED, Point, Series
from ragkit_tune.watch.summary import Best, Summary, deciding

WIDTH: Final = 360  # a phone's; wider pages scale it up
HEIGHT: Final = 250
_LEFT, _TOP, _RIGHT, _BOTTOM = 48, 24, 16, 42
_LOG_FROM: Final = 50.0  # greatest by least value, from which on a norm is on a logarithmic scale
_TITLES: Final = {
    LOSS: "Loss",
    NORM: "Gradient norm",
    RATE: "Learning rate",
    SPEED: "Tokens a second",
}
_ORDER: Final = (LOSS, DEV, REWARD, NORM, RATE, SPEED)

Line = tuple[tuple[float, float], ...]
Band = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of WIDTH by HEIGHT pixels: its title, what is drawn, the same in words.

    `note` names values that are no finite numbers and so not drawn; "" where there are none.
    """

    title: str
    drawn: Markup
    description: str
    note: str

    def picture(self, ident: str) -> Markup:
        """Return the figure as an SVG element of its own; `ident` names it on its page."""
        return picture(ident, self.title, self.description, WIDTH, HEIGHT, self.drawn)


def figures(runs: Sequence[Summary]) -> list[Figure]:
    """Draw every curve that a run has: the loss first, then the dev measures, then the others."""
    names = dict.fromkeys(name for run in runs for name in run.series)
    chosen = {deciding(run.series) for run in runs}

    def place(name: str) -> tuple[int, bool]:
        group = next(n for n, beginning in enumerate(_ORDER) if name.startswith(beginning))
        return group, name.removeprefix(DEV) not in chosen

    drawn = (_figure(name, runs) for name in sorted(names, key=place))
    return [figure for figure in drawn if figure is not None]


def stretches(points: Sequence[Point]) -> tuple[Line, Band]:
    """Return a curve's line, and its band where it is too long to draw each of its points.

    A stretch has equally many points, the last one perhaps fewer; the line is their median.
    """
    if len(points) <= POINTS:
        return tuple((float(point.step), point.value) for point in points), ()
    size = -(-len(points) // POINTS)
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    steps = [float(group[len(group) // 2].step) for group in groups]
    steps[0], steps[-1] = float(points[0].step), float(points[-1].step)
    values = [[point.value for point in group] for group in groups]
    middle = tuple((step, median(group)) for step, group in zip(steps, values, strict=True))
    band = tuple((step, min(group), max(group)) for step, group in zip(steps, values, strict=True))
    return middle, band


def _figure(name: str, runs: Sequence[Summary]) -> Figure | None:
    series = {n: run.series[name] for n, run in enumerate(runs) if name in run.series}
    curves = [_curve(n, runs[n], values) for n, values in series.items() if values.finite]
    if not curves:
        return None
    x = Scale(0, max(1, *(run.steps for run in runs)), _LEFT, WIDTH - _RIGHT)
    y = _scale(name, [point.value for values in series.values() for point in values.finite])
    grid = axes(
        x,
        y,
        "step",
        "logarithmic" if y.log else "",
        x_text=texts.tick,
        y_text=texts.tick,
        x_ticks=_whole_ticks(x.high),
    )
    drawn = Markup("").join((grid, *draw_curves(curves, x, y)))
    return Figure(_title(name), drawn, describe_curves(curves), _note(series))


def _curve(n: int, run: Summary, series: Series) -> Curve:
    points = series.finite
    shown, band = stretches(points)
    marked = _mark_best(series, run.best) if series.name.startswith(DEV) else None
    return Curve(n, run.name, shown, _describe(points), band, marked)


def _mark_best(series: Series, best: Best | None) -> tuple[float, float] | None:
    """Return where the checkpoint that became the model stands on a curve of the dev set."""
    if best is None:
        return None
    return next(((p.step, p.value) for p in series.finite if p.step == best.step), None)


def _scale(name: str, values: Sequence[float]) -> Scale:
    least, greatest = min(values), max(values)
    if name == NORM and least > 0 and greatest / least >= _LOG_FROM:
        return logarithmic(values, HEIGHT - _BOTTOM, _TOP)
    if name in (RATE, SPEED):
        values = [0.0, *values]
    return linear(values, HEIGHT - _BOTTOM, _TOP)


def _whole_ticks(last: float) -> list[float]:
    """Return about six round steps from 0 to the last one."""
    least = max(1, round(last)) / 6
    sizes = (n * 10**power for power in range(19) for n in (1, 2, 5))
    size = next(size for size in sizes if size >= least)
    return [float(step) for step in range(0, round(last) + 1, size)]


def _title(name: str) -> str:
    if name.startswith(DEV):
        return line(f"Dev {name.removeprefix(DEV)}", 60)
    if name.startswith(REWARD):
        measure = name.removeprefix(REWARD)
        return "Reward" if measure == "reward" else f"Answers: {measure}"
    return _TITLES[name]


def _describe(points: Sequence[Point]) -> str:
    first, last = points[0], points[-1]
    if len(points) == 1:
        return f"{texts.value(first.value)} at step {first.step}"
    least = min(points, key=lambda point: point.value)
    greatest = max(points, key=lambda point: point.value)
    return (
        f"{texts.value(first.value)} at step {first.step}, {texts.value(last.value)} at step"
        f" {last.step}, least {texts.value(least.value)} at step {least.step}, greatest"
        f" {texts.value(greatest.value)} at step {greatest.step}"
    )


def _note(series: Mapping[int, Series]) -> str:
    return "; ".join(
        f"{letter(n)} has {point.value} at step {point.step}"
        + (f" and {len(values.broken) - 1} more" if len(values.broken) > 1 else "")
        for n, values in series.items()
        for point in values.broken[:1]
    )
