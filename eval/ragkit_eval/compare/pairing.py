"""Pair the values of runs by item, and refuse runs of different questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ragkit.errors import UsageError
from ragkit_eval.run.record import Record, Run, TaskHeader

# Fields of a task that runs must share to be compared; `prompt_hash` covers `items`, whose number
# makes the message clearer.
_COMPARED_FIELDS = ("version", "method", "metric", "data_hash", "prompt_hash", "items")


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two runs' values of one metric, over the items that both have.

    `records` are the items that the values are of. `undefined` counts items of both runs for which
    one run has no value.
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    clusters: tuple[str, ...]
    records: tuple[tuple[Record, Record], ...] = ()
    undefined: int = 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a task a run covers: its items, those with an outcome, and errors among these.

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
    """Name runs by their headers, by their files where these names are not unique."""
    for names in (
        [run.header.name for run in runs],
        [run.path.stem for run in runs],
        [str(run.path) for run in runs],
    ):
        if len(set(names)) == len(runs):
            return tuple(names)
    return tuple(f"{run.path} ({number})" for number, run in enumerate(runs, 1))


def shared_tasks(runs: Sequence[Run]) -> tuple[TaskHeader, ...]:
    """Return the tasks that every run has, in the first run's order.

    Raises UsageError for fewer than two runs, for runs without a common task, and for runs whose
    questions or scoring differ: it names each differing field, with both values.
    """
    if len(runs) < 2:
        raise UsageError(f"{len(runs)} run cannot be compared: give a baseline and one run or more")
    first, *candidates = runs
    names_by_run = [{task.name for task in run.header.tasks} for run in candidates]
    shared = tuple(
        task for task in first.header.tasks if all(task.name in names for names in names_by_run)
    )
    if not shared:
        listed = "; ".join(
            f"{run.path} has {', '.join(task.name for task in run.header.tasks) or 'none'}"
            for run in runs
        )
        raise UsageError(f"the runs have no task in common: {listed}: run the same tasks")
    for run in candidates:
        for task in shared:
            _check_same_task(first, run, task)
    return shared


def _check_same_task(baseline: Run, candidate: Run, task: TaskHeader) -> None:
    candidate_task = candidate.header.task(task.name)
    differing = [
        f"{name} {getattr(task, name)} and {getattr(candidate_task, name)}"
        for name in _COMPARED_FIELDS
        if getattr(task, name) != getattr(candidate_task, name)
    ]
    differing += [
        f"metric {name} {task.metrics[name]} and {candidate_task.metrics[name]}"
        for name in task.metrics
        if name in candidate_task.metrics and task.metrics[name] != candidate_task.metrics[name]
    ]
    if differing:
        raise UsageError(
            f"{baseline.path} and {candidate.path} cannot be compared: task {task.name} differs in"
            f" {'; '.join(differing)}: run both on the same data with the same version"
        )


def metrics_of(runs: Sequence[Run], task: TaskHeader) -> tuple[str, ...]:
    """List the metrics that every run has values of in a task, the task's first metric first."""
    metrics_by_run = [
        dict.fromkeys(metric for record in run.of(task.name) for metric in record.scores)
        for run in runs
    ]
    # A run that holds only errors has no values, but counts 0 in each metric of the other runs.
    measured = [names for names in metrics_by_run if names]
    shared = [
        name
        for name in (measured[0] if measured else ())
        if all(name in names for names in measured)
    ]
    return tuple(sorted(shared, key=lambda name: name != task.metric))


def shared_metrics(
    runs: Sequence[Run], tasks: Sequence[TaskHeader], selected: Sequence[str] | None
) -> Mapping[str, tuple[str, ...]]:
    """List each task's metrics that every run has. Raises UsageError for unknown `selected`."""
    by_task = {task.name: metrics_of(runs, task) for task in tasks}
    names = list(dict.fromkeys(name for metrics in by_task.values() for name in metrics))
    if names:  # runs that hold only errors have none
        chosen(selected, names, "metric")
    return by_task


def chosen(names: Sequence[str] | None, available: Sequence[str], noun: str) -> tuple[str, ...]:
    """Return the selected names, all for None. Raises UsageError that suggests close names."""
    if not names:
        return tuple(available)
    for name in names:
        if name not in available:
            close = get_close_matches(name, available, 3, 0.5) or available
            raise UsageError(f"the runs share no {noun} {name!r}: did you mean {', '.join(close)}?")
    return tuple(dict.fromkeys(names))


def pairs(a: Sequence[Record], b: Sequence[Record], metric: str) -> Pairs:
    """Pair one task's records by item; an error counts 0, items of one run only are left out."""
    candidates = {record.id: record for record in b}
    values: list[tuple[float, float, str]] = []
    records: list[tuple[Record, Record]] = []
    undefined = 0
    for record in a:
        candidate = candidates.get(record.id)
        if candidate is None:
            continue
        first, second = record.value(metric), candidate.value(metric)
        if first is None or second is None:
            undefined += 1
        else:
            values.append((first, second, record.cluster))
            records.append((record, candidate))
    firsts, seconds, clusters = zip(*values, strict=True) if values else ((), (), ())
    return Pairs(firsts, seconds, clusters, tuple(records), undefined)


def coverage(run: Run, name: str, task: TaskHeader, baseline: Run) -> Coverage:
    """Count a run's items, outcomes and errors in a task."""
    records = run.of(task.name)
    baseline_ids = {record.id for record in baseline.of(task.name)}
    return Coverage(
        run=name,
        task=task.name,
        items=run.header.task(task.name).items,
        outcomes=len(records),
        errors=sum(record.status == "error" for record in records),
        unpaired=sum(record.id not in baseline_ids for record in records),
    )
