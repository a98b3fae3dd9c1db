"""A run in figures: its rows, its best measure, its verdict, its time, its speed, its memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from ragkit.errors import RagkitError
from ragkit_tune.data.data_set import read_data_set
from ragkit_tune.proof.verdict import Verdict, read_verdict
from ragkit_tune.run.folder import Run
from ragkit_tune.run.log import Log, read_log
from ragkit_tune.watch.series import DEV, SPEED, Series, number, read_series

# What chooses a checkpoint: the first of these that a run measures.
_DECIDING: Final = ("ndcg@10", "reward", "loss")


@dataclass(frozen=True, slots=True)
class Best:
    """The best value of the dev measure that decides, and what it was before training.

    `before` is None for a run that did not measure it.
    """

    measure: str
    value: float
    step: int
    before: float | None

    @property
    def is_lower_better(self) -> bool:
        """Tell whether small values are good ones."""
        return self.measure == "loss"


@dataclass(frozen=True, slots=True)
class Summary:
    """A run with its curves and figures; a figure is None where the run does not tell it.

    `rows` and `dev_rows` are counted, None where the data folder is gone or changed. `seconds` are
    of training, pauses left out; `tokens_per_s` is the median of the steps. `peak_bytes` are of the
    GPU, or of the whole process where `peak_of` is "process".
    """

    run: Run
    log: Log
    series: Mapping[str, Series]
    rows: int | None
    dev_rows: int | None
    best: Best | None
    verdict: Verdict | None
    seconds: float | None
    tokens_per_s: float | None
    peak_bytes: int | None
    peak_of: str

    @property
    def name(self) -> str:
        """Return the run's name."""
        return self.run.name

    @property
    def base(self) -> str:
        """Return the name of the model that was trained."""
        return str((self.run.values.get("base") or {}).get("name", ""))

    @property
    def steps(self) -> int:
        """Return the number of steps so far."""
        return max(
            (point.step for line in self.series.values() for point in line.points), default=0
        )

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON, without the curves."""
        values = self.run.values
        return {
            "name": self.name,
            "kind": self.run.kind,
            "state": self.run.state,
            "failure": self.run.failure,
            "base": self.base,
            "data_hash": values.get("data_hash"),
            "rows": self.rows,
            "dev_rows": self.dev_rows,
            "steps": self.steps,
            "best": asdict(self.best) if self.best else None,
            "verdict": self.verdict.as_json() if self.verdict else None,
            "seconds": self.seconds,
            "tokens_per_s": self.tokens_per_s,
            "peak_bytes": self.peak_bytes,
            "peak_of": self.peak_of,
            "recipe": dict(self.run.recipe),
        }


def summarise(run: Run) -> Summary:
    """Read a run's log and rows and compute its figures. Raises UsageError for a bad verdict."""
    log = read_log(run.folder.steps)
    series = read_series(log)
    counts = _count_rows(run)
    verdict = run.values.get("verdict")
    peak, peak_of = _peak(log)
    speeds = [point.value for point in series[SPEED].points] if SPEED in series else []
    seconds = [point.seconds for line in series.values() for point in line.points]
    return Summary(
        run,
        log,
        series,
        counts.get("train"),
        counts.get("dev"),
        _best(series),
        read_verdict(verdict, str(run.folder.file)) if verdict else None,
        max(seconds, default=0.0) or None,
        median(speeds) if speeds else None,
        peak,
        peak_of,
    )


def deciding(series: Mapping[str, Series]) -> str | None:
    """Return the dev measure by which a run's checkpoint is chosen; None where there is none."""
    names = [name.removeprefix(DEV) for name in series if name.startswith(DEV)]
    return next((name for name in _DECIDING if name in names), names[0] if names else None)


def _best(series: Mapping[str, Series]) -> Best | None:
    measure = deciding(series)
    if measure is None:
        return None
    points = series[DEV + measure].finite
    before = next((point.value for point in points if point.step == 0), None)
    trained = [point for point in points if point.step > 0]
    if not trained:
        return None
    sign = -1 if measure == "loss" else 1
    best = max(trained, key=lambda point: sign * point.value)  # the first of equal ones, as in runs
    return Best(measure, best.value, best.step, before)


def _count_rows(run: Run) -> Mapping[str, int]:
    """Count the rows that a run has, where they are still those that it began with."""
    try:
        data = read_data_set(Path(str(run.recipe.get("data", ""))).expanduser())
    except RagkitError:
        return {}
    return data.counts if data.hash == run.values.get("data_hash") else {}


def _peak(log: Log) -> tuple[int | None, str]:
    for of in ("gpu", "process"):
        values = [number(row.get(f"peak_{of}_bytes")) for row in log.steps]
        if positive := [value for value in values if 0 < value < 2**63]:
            return int(max(positive)), of
    return None, ""
