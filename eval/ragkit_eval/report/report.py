"""All that a report says, as values: figures of each task, and the items that are shown.

The page, the summary and the command print this; it knows nothing of how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ragkit.errors import UsageError
from ragkit_eval.answers import Prices
from ragkit_eval.compare import Comparison, compare
from ragkit_eval.pairing import run_names, shared_tasks
from ragkit_eval.record import Run
from ragkit_eval.report.figures import TaskFigures, task_figures
from ragkit_eval.report.pairs import Choice, choose, pairs
from ragkit_eval.report.texts import Extract, extract

ITEMS: Final = 200  # arbitrary: what somebody reads, in a file of a megabyte or two


@dataclass(frozen=True, slots=True)
class Report:
    """Runs, the first one the baseline, and what is said of them."""

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    tasks: tuple[TaskFigures, ...]
    comparison: Comparison | None
    choice: Choice
    extracts: tuple[Extract, ...]


def compared(runs: Sequence[Run]) -> Comparison | None:
    """Compare runs as a report shows them: every metric, and each group in its task's first one.

    None where there is nothing to compare: of one run, and of runs that hold errors alone. Raises
    UsageError for runs of different questions.
    """
    if len(runs) < 2:
        return None
    firsts = [task.metric for task in shared_tasks(runs)]
    if not any(record.scores for run in runs for record in run.records):
        return None
    # Groups of all metrics would be corrected for many tests that nobody sees.
    groups = compare(runs, firsts, groups=True).groups
    return replace(compare(runs), groups=groups)


def report(
    runs: Sequence[Run],
    comparison: Comparison | None,
    *,
    items: int | None = ITEMS,
    prices: Sequence[Prices] = (),
) -> Report:
    """Compute everything that a report says.

    `items` are shown at most, None for all. `prices` are each run's, or one for all of them. Raises
    UsageError for no runs at all and for another number of prices.
    """
    if not runs:
        raise UsageError("there is no run to report: name one run file or more")
    if len(prices) not in (0, 1, len(runs)):
        raise UsageError(f"{len(prices)} prices for {len(runs)} runs: give one, or one for each")
    priced: Sequence[Prices | None] = prices or [None]
    if len(priced) == 1:
        priced = [priced[0]] * len(runs)
    choice = choose(pairs(runs), items)
    wanted = {pair.key for pair in choice.pairs}
    extracts = tuple(extract(run, wanted) for run in runs)
    names = dict.fromkeys(task.name for run in runs for task in run.header.tasks)
    return Report(
        tuple(runs),
        run_names(runs),
        tuple(task_figures(name, runs, extracts, comparison, priced) for name in names),
        comparison,
        choice,
        extracts,
    )
