"""Compute the values of a report: figures of each task, and the items that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ragkit.errors import UsageError
from ragkit_eval.answers import Prices
from ragkit_eval.compare.compare import Comparison, compare
from ragkit_eval.compare.pairing import run_names, shared_tasks
from ragkit_eval.report.extract import Extract, extract
from ragkit_eval.report.figures import TaskFigures, task_figures
from ragkit_eval.report.pairs import Choice, choose, pairs
from ragkit_eval.run.record import Run

ITEMS: Final = 200  # arbitrary: readable, and a file of one or two megabytes


@dataclass(frozen=True, slots=True)
class Report:
    """Runs, the first one the baseline, with their figures and chosen items."""

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    tasks: tuple[TaskFigures, ...]
    comparison: Comparison | None
    choice: Choice
    extracts: tuple[Extract, ...]


def compared(runs: Sequence[Run]) -> Comparison | None:
    """Compare runs for a report: every metric, and each group in its task's first metric.

    None for one run, and for runs that hold only errors. Raises UsageError for runs of different
    questions.
    """
    if len(runs) < 2:
        return None
    firsts = [task.metric for task in shared_tasks(runs)]
    if not any(record.scores for run in runs for record in run.records):
        return None
    # Comparing groups in all metrics would correct for many tests that are not shown.
    groups = compare(runs, firsts, groups=True).groups
    return replace(compare(runs), groups=groups)


def report(
    runs: Sequence[Run],
    comparison: Comparison | None,
    *,
    items: int | None = ITEMS,
    prices: Sequence[Prices] = (),
) -> Report:
    """Compute all values of a report.

    At most `items` items are shown, None for all. `prices` has one entry per run, or one for all.
    Raises UsageError for no runs, and for another number of prices.
    """
    if not runs:
        raise UsageError("there is no run to report: name one run file or more")
    if len(prices) not in (0, 1, len(runs)):
        raise UsageError(f"{len(prices)} prices for {len(runs)} runs: give one, or one for each")
    priced: Sequence[Prices | None] = prices or [None]
    if len(priced) == 1:
        priced = [priced[0]] * len(runs)
    choice = choose(pairs(runs), items)
    selected = {pair.key for pair in choice.pairs}
    extracts = tuple(extract(run, selected) for run in runs)
    names = dict.fromkeys(task.name for run in runs for task in run.header.tasks)
    return Report(
        tuple(runs),
        run_names(runs),
        tuple(task_figures(name, runs, extracts, comparison, priced) for name in names),
        comparison,
        choice,
        extracts,
    )
