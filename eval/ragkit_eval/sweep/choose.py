"""Choose a cell on one half of the questions, and confirm it on the other.

Choosing needs no significance, because the confirming half has not been looked at: one test on
it, of the one cell that was chosen, is the claim. Knows nothing of how cells are run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragkit.errors import UsageError
from ragkit_eval.compare import Comparison, Difference, compare
from ragkit_eval.ratios import Ratio
from ragkit_eval.record import Run
from ragkit_eval.stats.bootstrap import SAMPLES, Interval
from ragkit_eval.sweep.grid import Cell

Verdict = Literal["winner", "no significant winner"]
RunCell = Callable[[Cell, Literal["choose", "confirm"]], Run]


@dataclass(frozen=True, slots=True)
class Tried:
    """How a cell did on the choosing half; the baseline has no difference from itself."""

    cell: Cell
    mean: Interval
    difference: Difference | None
    latency: Ratio | None
    errors: int
    run: Run


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a sweep found.

    `chosen` is the cell of the highest mean on the choosing half, None where that is the
    baseline's; `confirmed` its difference from the baseline on the confirming half.
    """

    metric: str
    tried: tuple[Tried, ...]
    chosen: Tried | None
    confirmed: Difference | None
    latency: Ratio | None
    comparisons: tuple[Comparison, ...]
    runs: tuple[Run, ...]

    @property
    def verdict(self) -> Verdict:
        """Return "winner" when the confirming half shows that the chosen cell is better."""
        better = self.confirmed is not None and self.confirmed.verdict == "better"
        return "winner" if better else "no significant winner"


def choose(
    cells: Sequence[Cell],
    run: RunCell,
    *,
    metric: str = "",
    seed: int = 0,
    samples: int = SAMPLES,
) -> Outcome:
    """Run all cells on the choosing half, then the best and the baseline on the confirming half.

    The first cell is the baseline; `metric` is the task's own where it is "". Raises UsageError
    where runs cannot be compared, as compare does.
    """
    runs = [run(cell, "choose") for cell in cells]
    metric = metric or runs[0].header.tasks[0].metric
    _check_answered(runs)
    compared = compare(runs, [metric], seed=seed, samples=samples)
    tried = _tried(cells, runs, compared)
    best = max(tried[1:], key=lambda one: one.difference.difference.mean if one.difference else -1)
    if best.difference is None or best.difference.difference.mean <= 0:
        return Outcome(metric, tried, None, None, None, (compared,), tuple(runs))
    again = [run(cell, "confirm") for cell in (cells[0], best.cell)]
    confirmed = compare(again, [metric], seed=seed, samples=samples)
    return Outcome(
        metric,
        tried,
        best,
        confirmed.rows[0],
        confirmed.latencies[0] if confirmed.latencies else None,
        (compared, confirmed),
        (*runs, *again),
    )


def _check_answered(runs: Sequence[Run]) -> None:
    """Raise UsageError where a cell answered nothing: its zeros say nothing of its options."""
    for run in runs:
        if run.records and all(record.status == "error" for record in run.records):
            raise UsageError(
                f"every question of {run.header.name} ended in an error, as"
                f" {run.records[0].error!r}: correct that cell, and run the same again"
            )


def _tried(cells: Sequence[Cell], runs: Sequence[Run], compared: Comparison) -> tuple[Tried, ...]:
    rows = {row.candidate: row for row in compared.rows}
    ratios = {ratio.candidate: ratio for ratio in compared.latencies}
    found = []
    for cell, run, name in zip(cells, runs, compared.runs, strict=True):
        row = rows.get(name)
        mean = row.b if row else compared.rows[0].a
        errors = sum(record.status == "error" for record in run.records)
        found.append(Tried(cell, mean, row, ratios.get(name), errors, run))
    return tuple(found)
