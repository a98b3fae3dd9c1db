"""Choose a cell on one half of the questions, and confirm it on the other half.

The choice needs no significance, because the confirming half is unused until then: the one test on
it, of the one chosen cell, is the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragkit.errors import UsageError
from ragkit_eval.compare.compare import Comparison, Difference, compare
from ragkit_eval.compare.ratios import Ratio
from ragkit_eval.run.record import Run
from ragkit_eval.stats.bootstrap import SAMPLES, Interval
from ragkit_eval.sweep.grid import Cell

Verdict = Literal["winner", "no significant winner"]
RunCell = Callable[[Cell, Literal["choose", "confirm"]], Run]


@dataclass(frozen=True, slots=True)
class TriedCell:
    """A cell's result on the choosing half; the baseline has no difference from itself."""

    cell: Cell
    mean: Interval
    difference: Difference | None
    latency: Ratio | None
    errors: int
    run: Run


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """The result of a sweep.

    `chosen` is the cell of the highest mean on the choosing half, None if that is the baseline;
    `confirmed` is its difference from the baseline on the confirming half.
    """

    metric: str
    tried: tuple[TriedCell, ...]
    chosen: TriedCell | None
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
) -> SweepOutcome:
    """Run all cells on the choosing half, then the best and the baseline on the confirming half.

    The first cell is the baseline; `metric` "" means the task's first metric. Raises UsageError
    where runs cannot be compared, as `compare` does.
    """
    runs = [run(cell, "choose") for cell in cells]
    metric = metric or runs[0].header.tasks[0].metric
    _check_answered(runs)
    compared = compare(runs, [metric], seed=seed, samples=samples)
    tried = _collect_results(cells, runs, compared)
    best = max(
        tried[1:], key=lambda cell: cell.difference.difference.mean if cell.difference else -1
    )
    if best.difference is None or best.difference.difference.mean <= 0:
        return SweepOutcome(metric, tried, None, None, None, (compared,), tuple(runs))
    confirming = [run(cell, "confirm") for cell in (cells[0], best.cell)]
    confirmed = compare(confirming, [metric], seed=seed, samples=samples)
    return SweepOutcome(
        metric,
        tried,
        best,
        confirmed.rows[0],
        confirmed.latencies[0] if confirmed.latencies else None,
        (compared, confirmed),
        (*runs, *confirming),
    )


def _check_answered(runs: Sequence[Run]) -> None:
    """Raise UsageError if a cell has errors only: its zeros do not measure its options."""
    for run in runs:
        if run.records and all(record.status == "error" for record in run.records):
            raise UsageError(
                f"every question of {run.header.name} ended in an error, as"
                f" {run.records[0].error!r}: correct that cell, and run the same again"
            )


def _collect_results(
    cells: Sequence[Cell], runs: Sequence[Run], compared: Comparison
) -> tuple[TriedCell, ...]:
    rows = {row.candidate: row for row in compared.rows}
    ratios = {ratio.candidate: ratio for ratio in compared.latencies}
    results = []
    for cell, run, name in zip(cells, runs, compared.runs, strict=True):
        row = rows.get(name)
        mean = row.b if row else compared.rows[0].a
        errors = sum(record.status == "error" for record in run.records)
        results.append(TriedCell(cell, mean, row, ratios.get(name), errors, run))
    return tuple(results)
