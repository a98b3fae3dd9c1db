"""Decide whether a candidate is worse than a baseline by more than a margin, chance excluded.

`gate_text` writes the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from ragkit.errors import UsageError
from ragkit_eval.compare.compare import Difference, compare
from ragkit_eval.compare.pairing import Coverage, chosen, shared_metrics, shared_tasks
from ragkit_eval.judge.certificate import is_checked
from ragkit_eval.run.item import TWO_SIDED
from ragkit_eval.run.record import Run
from ragkit_eval.stats.bootstrap import SAMPLES

Outcome = Literal["pass", "regression", "inconclusive", "unusable"]


@dataclass(frozen=True, slots=True)
class Check:
    """One metric of one task against the margin `max_drop`, and the row that decides it."""

    row: Difference
    max_drop: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Gate:
    """The checks of a gate, and the problems that make the runs unusable, one line each."""

    checks: tuple[Check, ...]
    problems: tuple[str, ...] = ()
    level: float = 0.95
    allow_inconclusive: bool = False

    @property
    def outcome(self) -> Outcome:
        """Return the worst outcome of the checks, or "unusable"."""
        outcomes = {check.outcome for check in self.checks}
        if self.problems or not self.checks:
            return "unusable"
        if "regression" in outcomes:
            return "regression"
        return "inconclusive" if "inconclusive" in outcomes else "pass"

    @property
    def exit_code(self) -> int:
        """Return 0 for a pass, 1 for a regression or an inconclusive result, 2 if unusable."""
        if self.outcome == "inconclusive":
            return 0 if self.allow_inconclusive else 1
        return {"pass": 0, "regression": 1}.get(self.outcome, 2)


def gate(
    baseline: Run,
    candidate: Run,
    margins: Mapping[str, float],
    *,
    tasks: Sequence[str] | None = None,
    min_coverage: float = 1.0,
    max_errors: float = 0.01,
    allow_inconclusive: bool = False,
    seed: int = 0,
    samples: int = SAMPLES,
    level: float = 0.95,
) -> Gate:
    """Judge each metric by the interval of its paired difference: a test of non-inferiority.

    Pass: the entire interval is at or above -margin. Regression: all of it is below. Anything else
    is inconclusive: more items or a wider margin are needed. Each metric must pass, so no p-value
    is corrected for their number. A run with less than `min_coverage` of its items, or with more
    than the share `max_errors` of errors, is unusable; so are runs of different questions and
    unknown names. An error counts 0, which in a baseline makes a gate lax: the share is for both
    runs.

    Source of the rule: the two-sided interval against a margin, ICH E9 section 3.3.2,
    https://www.ema.europa.eu/en/ich-e9-statistical-principles-clinical-trials-scientific-guideline.
    """
    try:
        _check_margins(margins)
        _check_metrics(baseline, candidate, margins, tasks)
        compared = compare(
            [baseline, candidate],
            list(margins),
            tasks=tasks,
            seed=seed,
            samples=samples,
            level=level,
        )
    except UsageError as error:
        return Gate((), (str(error),), level, allow_inconclusive)
    checks = tuple(
        Check(row, margins[row.metric], _judge_row(row, margins[row.metric]))
        for row in compared.rows
    )
    problems = [
        problem
        for coverage in compared.coverage
        for problem in _list_problems(coverage, min_coverage, max_errors)
    ]
    return Gate(checks, tuple(problems), level, allow_inconclusive)


def _judge_row(row: Difference, margin: float) -> Outcome:
    if row.difference.low >= -margin:
        return "pass"
    return "regression" if row.difference.high < -margin else "inconclusive"


def _check_margins(margins: Mapping[str, float]) -> None:
    if not margins:
        raise UsageError("no metric to check: name one with --metric")
    for metric, margin in margins.items():
        if not isfinite(margin) or margin < 0:
            raise UsageError(f"a drop of {margin} in {metric} makes no sense: give 0 or more")


def _check_metrics(
    baseline: Run, candidate: Run, margins: Mapping[str, float], tasks: Sequence[str] | None
) -> None:
    """Raise UsageError unless each selected task has each metric."""
    runs = (baseline, candidate)
    shared = shared_tasks(runs)
    names = chosen(tasks, [task.name for task in shared], "task")
    by_task = shared_metrics(runs, [task for task in shared if task.name in names], list(margins))
    if not any(by_task.values()):  # runs that hold only errors, which `compare` refuses
        return
    for task in tasks or ():
        chosen(list(margins), by_task[task], f"metric of {task}")
    if "judge" in margins:
        _check_judges(runs, names)
    for task in names:
        for metric in margins:
            if TWO_SIDED in baseline.header.task(task).metrics.get(metric, ""):
                raise UsageError(f"{metric} has no better end, 0 is best: gate by acc instead")


def _check_judges(runs: Sequence[Run], tasks: Sequence[str]) -> None:
    """Raise UsageError for scores of a judge whose agreement with people was not measured."""
    for run in runs:
        for name in tasks:
            signature = run.header.task(name).metrics.get("judge")
            if signature is not None and not is_checked(signature):
                raise UsageError(
                    f"{run.path}: its judge may not decide ({signature.rpartition('|')[2]}): run"
                    " 'ragkit eval judge-check' first, then make the run again"
                )


def _list_problems(counted: Coverage, min_coverage: float, max_errors: float) -> list[str]:
    problems = []
    required = min_coverage * counted.items
    if counted.outcomes < required - 1e-9:
        problems.append(
            f"{counted.run} has outcomes of {counted.outcomes} of {counted.items} items of"
            f" {counted.task}, and at least {min_coverage:.0%} are needed: finish the run"
        )
    if counted.outcomes and counted.errors / counted.outcomes > max_errors:
        problems.append(
            f"{counted.run} has {counted.errors} errors in {counted.outcomes} items of"
            f" {counted.task}, and at most {max_errors:.1%} are allowed: run it again"
        )
    return problems
