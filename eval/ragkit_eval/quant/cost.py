"""The cost of a candidate against the base, on the same items: scores, flips, agreement, speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragkit.errors import UsageError
from ragkit_eval.compare.compare import Comparison, Difference, compare
from ragkit_eval.compare.pairing import metrics_of, shared_tasks
from ragkit_eval.compare.ratios import Ratio, ratio
from ragkit_eval.run.record import Record, Run, TaskHeader
from ragkit_eval.stats.bootstrap import SAMPLES

# Metrics of answers over a collection that are compared besides the main one.
ANSWERS = ("refused_rightly", "groundedness", "citation_validity", "citation_recall")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost in a task. Counts are of items that both runs answered.

    `broken` items are right only in the base, `fixed` items only in the candidate; `agreement` is
    the share of equal predictions. `rows` are the differences by metric, the main metric first.
    `latency` and `tokens_per_s` are the candidate's over the base's; None if unknown.
    """

    task: str
    candidate: str
    items: int
    broken: int
    fixed: int
    agreement: float
    rows: tuple[Difference, ...]
    latency: Ratio | None
    tokens_per_s: Ratio | None


@dataclass(frozen=True, slots=True)
class Costs:
    """The base's name, each candidate's cost by task, and their comparison."""

    base: str
    costs: tuple[Cost, ...]
    comparison: Comparison


def costs(
    runs: Sequence[Run],
    metrics: Sequence[str] | None = None,
    *,
    seed: int = 0,
    samples: int = SAMPLES,
) -> Costs:
    """Compare candidates with the first run; without `metrics`, by main metrics and grounding.

    Raises UsageError for runs of different questions.
    """
    tasks = shared_tasks(runs)
    compared = compare(runs, metrics or _default_metrics(runs, tasks), seed=seed, samples=samples)
    task_costs = []
    for task in tasks:
        for run, name in zip(runs[1:], compared.runs[1:], strict=True):
            task_costs.append(_cost(task, runs[0], run, (compared.runs[0], name), compared))
    return Costs(compared.runs[0], tuple(task_costs), compared)


def merged(runs: Sequence[Run]) -> Run:
    """Merge the runs of a model over different tasks into a run with the first one's name.

    Raises UsageError for a task that two of them have.
    """
    first = runs[0]
    tasks = [task for run in runs for task in run.header.tasks]
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        raise UsageError(
            f"{first.header.name} has a task twice: {', '.join(names)}: give each task once"
        )
    header = replace(first.header, tasks=tuple(tasks), label=first.header.name)
    return Run(header, tuple(record for run in runs for record in run.records), first.path)


def _default_metrics(runs: Sequence[Run], tasks: Sequence[TaskHeader]) -> list[str]:
    selected: dict[str, None] = {}
    for task in tasks:
        available = metrics_of(runs, task)
        extra = ANSWERS if task.method == "rag" else ()
        selected |= dict.fromkeys(name for name in (task.metric, *extra) if name in available)
    return list(selected)


def _cost(
    task: TaskHeader, base: Run, run: Run, names: tuple[str, str], compared: Comparison
) -> Cost:
    base_records = {record.id: record for record in base.of(task.name)}
    pairs = [
        (base_records[record.id], record)
        for record in run.of(task.name)
        if record.id in base_records
        and "error" not in (record.status, base_records[record.id].status)
    ]
    right = [(a.status == "ok", b.status == "ok") for a, b in pairs]
    rows = [row for row in compared.rows if (row.task, row.candidate) == (task.name, names[1])]
    equal = sum(a.prediction == b.prediction for a, b in pairs)
    return Cost(
        task=task.name,
        candidate=names[1],
        items=len(pairs),
        broken=right.count((True, False)),
        fixed=right.count((False, True)),
        agreement=equal / len(pairs) if pairs else 0.0,
        rows=tuple(rows),
        latency=_ratio("latency", lambda record: record.latency_s, pairs, task, names, compared),
        tokens_per_s=_ratio("tokens a second", _rate, pairs, task, names, compared),
    )


def _ratio(
    quantity: str,
    of: Callable[[Record], float],
    pairs: Sequence[tuple[Record, Record]],
    task: TaskHeader,
    names: tuple[str, str],
    compared: Comparison,
) -> Ratio | None:
    measured = ratio(
        {a.id: of(a) for a, _ in pairs},
        {b.id: of(b) for _, b in pairs},
        {a.id: a.cluster for a, _ in pairs},
        seed=compared.seed,
        samples=compared.samples,
        level=compared.level,
    )
    return None if measured is None else Ratio(task.name, quantity, *names, *measured)


def _rate(record: Record) -> float:
    """Return the written tokens a second; 0.0 for fewer than two tokens."""
    tokens = record.usage.get("completion_tokens", 0)
    return tokens / record.latency_s if tokens > 1 and record.latency_s > 0 else 0.0
