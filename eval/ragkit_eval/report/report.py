"""All that a report says, as values: figures of each task, and the items that are shown.

The page, the summary and the command print this; it knows nothing of how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.errors import UsageError
from ragkit_eval.compare import Comparison
from ragkit_eval.pairing import run_names
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


def report(
    runs: Sequence[Run], comparison: Comparison | None, *, items: int | None = ITEMS
) -> Report:
    """Compute everything that a report says. Raises UsageError for no runs at all."""
    if not runs:
        raise UsageError("there is no run to report: name one run file or more")
    choice = choose(pairs(runs), items)
    wanted = {pair.key for pair in choice.pairs}
    extracts = tuple(extract(run, wanted) for run in runs)
    names = dict.fromkeys(task.name for run in runs for task in run.header.tasks)
    return Report(
        tuple(runs),
        run_names(runs),
        tuple(task_figures(name, runs, extracts, comparison) for name in names),
        comparison,
        choice,
        extracts,
    )
