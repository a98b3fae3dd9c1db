"""The curves in a run's log: loss, gradient norm, learning rate, speed, measures of the dev set.

How they are drawn or exported is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, nan
from statistics import fmean
from typing import Any, Final

from ragkit_tune.run.log import REWARDS, Log

LOSS: Final = "train/loss"
NORM: Final = "train/grad_norm"
RATE: Final = "train/learning_rate"
SPEED: Final = "train/tokens_per_s"
DEV: Final = "dev/"
REWARD: Final = "reward/"
_OF_STEPS: Final = {"loss": LOSS, "grad_norm": NORM, "learning_rate": RATE}


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a step, so many seconds of training after the beginning; it may be nan or inf."""

    step: int
    value: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one name by step, ascending and at least one.

    A name is `train/loss`, `train/grad_norm`, `train/learning_rate`, `train/tokens_per_s`, or
    begins with `dev/` or `reward/`.
    """

    name: str
    points: tuple[Point, ...]

    @property
    def finite(self) -> tuple[Point, ...]:
        """Return the points whose value is a finite number."""
        return tuple(point for point in self.points if isfinite(point.value))

    @property
    def broken(self) -> tuple[Point, ...]:
        """Return the points whose value is no finite number."""
        return tuple(point for point in self.points if not isfinite(point.value))


def read_series(log: Log) -> dict[str, Series]:
    """Return a log's curves by name; one that has no values is absent."""
    lines: dict[str, list[Point]] = {}
    for key, name in _OF_STEPS.items():
        lines[name] = _points(log.steps, key)
    lines[SPEED] = list(_speeds(log.steps))
    measures = dict.fromkeys(name for row in log.measurements for name in _values(row))
    for name in measures:
        rows = [{**row, "value": _values(row).get(name)} for row in log.measurements]
        lines[DEV + name] = _points(rows, "value")
    for name in REWARDS:
        lines[REWARD + name] = _points(_with_seconds(log), name)
    return {name: Series(name, _joined(points)) for name, points in lines.items() if points}


def number(value: object) -> float:
    """Return a value of a log as a number; what is none is nan. A log writes nan and inf as text.

    >>> number(2), number("inf"), number("x"), number(True)
    (2.0, inf, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return nan


def step_of(row: Mapping[str, Any]) -> int:
    """Return the step of a line of a log; 0 where it has none."""
    step = row.get("step", 0)
    return step if type(step) is int and 0 <= step < 2**63 else 0


def _points(rows: Sequence[Mapping[str, Any]], key: str) -> list[Point]:
    return [
        Point(step_of(row), number(row[key]), _seconds(row))
        for row in rows
        if row.get(key) is not None
    ]


def _speeds(steps: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    """Yield the tokens a second of each step but the first, whose beginning is not logged."""
    for before, row in pairwise(steps):
        tokens, seconds = number(row.get("tokens")), _seconds(row) - _seconds(before)
        if tokens > 0 and seconds > 0:
            yield Point(step_of(row), tokens / seconds, _seconds(row))


def _with_seconds(log: Log) -> list[Mapping[str, Any]]:
    """Give the rewards the time of the step that they belong to."""
    times = {step_of(row): _seconds(row) for row in log.steps}
    last = max(times.values(), default=0.0)  # of the step at hand, which is not over
    return [{"seconds": times.get(step_of(row), last), **row} for row in log.rewards]


def _joined(points: Sequence[Point]) -> tuple[Point, ...]:
    """Sort by step, and take the mean of several values of a step."""
    by_step: dict[int, list[Point]] = {}
    for point in points:
        by_step.setdefault(point.step, []).append(point)
    return tuple(
        Point(step, fmean(point.value for point in same), same[-1].seconds)
        for step, same in sorted(by_step.items())
    )


def _values(row: Mapping[str, Any]) -> Mapping[str, Any]:
    values = row.get("dev")
    return values if isinstance(values, dict) else {}


def _seconds(row: Mapping[str, Any]) -> float:
    seconds = number(row.get("seconds", 0.0))
    return seconds if isfinite(seconds) and seconds >= 0 else 0.0
