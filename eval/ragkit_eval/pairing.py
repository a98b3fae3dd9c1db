"""Runs that asked the same questions, and their values side by side, item by item.

It refuses what cannot be compared and counts what cannot be paired; statistics are elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ragkit.errors import UsageError
from ragkit_eval.record import Record, Run, TaskHeader

# What makes two runs' questions and scoring the same; `items` only says more of `prompt_hash`.
_SAME = ("version", "method", "metric", "data_hash", "prompt_hash", "items")


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two runs' values of one metric over the items that both have, and what was left out.

    `undefined` counts items of both for which one of them has no such value.
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    clusters: tuple[str, ...]
    undefined: int = 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a task a run has: its items, those with an outcome, errors among these.

    `unpaired` counts outcomes of items that the baseline lacks.
    """

    run: str
    task: str
    items: int
    outcomes: int
    errors: int
    unpaired: int = 0

    @property
    def missing(self) -> int:
        """Count the items without an outcome."""
        return max(0, self.items - self.outcomes)


def run_names(runs: Sequence[Run]) -> tuple[str, ...]:
    """Name runs as their headers do, by their files where that is not enough to tell them apart."""
    for names in (
        [run.header.name for run in runs],
        [run.path.stem for run in runs],
        [str(run.path) for run in runs],
    ):
        if len(set(names)) == len(runs):
            return tuple(names)
    return tuple(f"{run.path} ({number})" for number, run in enumerate(runs, 1))


def shared_tasks(runs: Sequence[Run]) -> tuple[TaskHeader, ...]:
    """Return the tasks that every run has, in the first one's order.

    Raises UsageError for fewer than two runs, none in common, and for runs whose questions or
    scoring differ: it names each field that does, with both values.
    """
    if len(runs) < 2:
        raise UsageError(f"{len(runs)} run cannot be compared: give a baseline and one run or more")
    first, *others = runs
    have = [{task.name for task in run.header.tasks} for run in others]
    shared = tuple(task for task in first.header.tasks if all(task.name in h for h in have))
    if not shared:
        listed = "; ".join(
            f"{run.path} has {', '.join(task.name for task in run.header.tasks) or 'none'}"
            for run in runs
        )
        raise UsageError(f"the runs have no task in common: {listed}: run the same tasks")
    for run in others:
        for task in shared:
            _same(first, run, task)
    return shared


def _same(first: Run, other: Run, task: TaskHeader) -> None:
    theirs = other.header.task(task.name)
    differing = [
        f"{name} {getattr(task, name)} and {getattr(theirs, name)}"
        for name in _SAME
        if getattr(task, name) != getattr(theirs, name)
    ]
    differing += [
        f"metric {name} {task.metrics[name]} and {theirs.metrics[name]}"
        for name in task.metrics
        if name in theirs.metrics and task.metrics[name] != theirs.metrics[name]
    ]
    if differing:
        raise UsageError(
            f"{first.path} and {other.path} cannot be compared: task {task.name} differs in"
            f" {'; '.join(differing)}: run both on the same data with the same version"
        )


def metrics_of(runs: Sequence[Run], task: TaskHeader) -> tuple[str, ...]:
    """List the metrics that every run has values of in a task, the one judged first at the head."""
    found = [
        dict.fromkeys(metric for record in run.of(task.name) for metric in record.scores)
        for run in runs
    ]
    # A run of errors alone has no values, but counts 0 in every one that the others have.
    told = [names for names in found if names]
    shared = [name for name in (told[0] if told else ()) if all(name in names for names in told)]
    return tuple(sorted(shared, key=lambda name: name != task.metric))


def chosen(names: Sequence[str] | None, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the names asked for, all for None. Raises UsageError suggesting close ones."""
    if not names:
        return tuple(known)
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 3, 0.5) or known
            raise UsageError(f"the runs share no {what} {name!r}: did you mean {', '.join(close)}?")
    return tuple(dict.fromkeys(names))


def pairs(a: Sequence[Record], b: Sequence[Record], metric: str) -> Pairs:
    """Pair one task's records by item; an error counts 0, an item that one run lacks is out."""
    theirs = {record.id: record for record in b}
    kept: list[tuple[float, float, str]] = []
    undefined = 0
    for record in a:
        other = theirs.get(record.id)
        if other is None:
            continue
        first, second = record.value(metric), other.value(metric)
        if first is None or second is None:
            undefined += 1
        else:
            kept.append((first, second, record.cluster))
    firsts, seconds, clusters = zip(*kept, strict=True) if kept else ((), (), ())
    return Pairs(firsts, seconds, clusters, undefined)


def coverage(run: Run, name: str, task: TaskHeader, baseline: Run) -> Coverage:
    """Count what a run has of a task."""
    records = run.of(task.name)
    known = {record.id for record in baseline.of(task.name)}
    return Coverage(
        run=name,
        task=task.name,
        items=run.header.task(task.name).items,
        outcomes=len(records),
        errors=sum(record.status == "error" for record in records),
        unpaired=sum(record.id not in known for record in records),
    )
