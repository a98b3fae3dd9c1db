"""Two runs or more compared soundly: paired by item, clusters kept whole, all tests at once.

The first run is the baseline. It returns values; what they look like is others' business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Literal, TypedDict

from ragkit.errors import UsageError
from ragkit_eval.pairing import (
    Coverage,
    Pairs,
    chosen,
    coverage,
    metrics_of,
    pairs,
    run_names,
    shared_tasks,
)
from ragkit_eval.ratios import Ratio, ratio
from ragkit_eval.record import Record, Run, TaskHeader
from ragkit_eval.stats.bootstrap import SAMPLES, Interval, mean_interval, paired_difference
from ragkit_eval.stats.exact import is_binary, mcnemar
from ragkit_eval.stats.family import holm
from ragkit_eval.stats.power import detectable
from ragkit_eval.stats.signflip import permutation

Verdict = Literal["better", "worse", "no significant difference"]
Test = Literal["exact McNemar", "sign-flip permutation", "sign-flip permutation of clusters"]
_OF_A_SET: Final = ("bleu", "chrf")  # not means of items; the heads of signatures


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of one task, a candidate against the baseline, over the items both have.

    `group` is a subject, "" for the whole task. `a` and `b` are the baseline's and the
    candidate's means, `difference` is b - a. `better` and `worse` count items; `undefined` those
    that have no value. `p_holm` is corrected over all rows of its kind, and decides `verdict`.
    `detectable` is the smallest difference that this data would show four times in five.
    """

    task: str
    metric: str
    group: str
    baseline: str
    candidate: str
    items: int
    clusters: int
    a: Interval
    b: Interval
    difference: Interval
    better: int
    worse: int
    undefined: int
    p: float
    p_holm: float
    test: Test
    detectable: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison found. `runs` are the names, the baseline's first."""

    runs: tuple[str, ...]
    rows: tuple[Difference, ...]
    groups: tuple[Difference, ...]
    latencies: tuple[Ratio, ...]
    coverage: tuple[Coverage, ...]
    notes: tuple[str, ...]
    level: float = 0.95
    seed: int = 0
    samples: int = SAMPLES


class _Options(TypedDict):
    """How intervals are drawn, as the statistics take it."""

    seed: int
    samples: int
    level: float


def compare(
    runs: Sequence[Run],
    metrics: Sequence[str] | None = None,
    *,
    tasks: Sequence[str] | None = None,
    groups: bool = False,
    seed: int = 0,
    samples: int = SAMPLES,
    level: float = 0.95,
) -> Comparison:
    """Compare runs with the first of them, in each task and metric that all of them have.

    Right and wrong of independent items is judged by McNemar's exact test, everything else by
    flipping signs, of whole clusters where items share one. `groups` adds each group's own rows.
    Raises UsageError for runs of different questions, naming what differs, for unknown tasks and
    metrics, and where nothing can be paired.
    """
    names = run_names(runs)
    headers = shared_tasks(runs)
    wanted = chosen(tasks, [task.name for task in headers], "task")
    headers = tuple(task for task in headers if task.name in wanted)
    known = {task.name: metrics_of(runs, task) for task in headers}
    told = list(dict.fromkeys(metric for each in known.values() for metric in each))
    if told:  # runs of errors alone have none
        chosen(metrics, told, "metric")
    options = _Options(seed=seed, samples=samples, level=level)
    rows: list[Difference] = []
    parts: list[Difference] = []
    latencies: list[Ratio] = []
    for task in headers:
        picked = [metric for metric in known[task.name] if not metrics or metric in metrics]
        for run, name in zip(runs[1:], names[1:], strict=True):
            first, second = runs[0].of(task.name), run.of(task.name)
            rows += _differences(task, picked, first, second, (names[0], name), options)
            latencies += _latency(task, first, second, (names[0], name), options)
            if groups:
                parts += _by_group(task, picked, first, second, (names[0], name), options)
    if not rows:
        raise UsageError(
            f"no item has values in both of {', '.join(str(run.path) for run in runs)}:"
            f" {_why_none(runs)}"
        )
    return Comparison(
        runs=names,
        rows=_judged(rows, level),
        groups=_judged(parts, level),
        latencies=tuple(latencies),
        coverage=tuple(
            coverage(run, name, task, runs[0])
            for task in headers
            for run, name in zip(runs, names, strict=True)
        ),
        notes=(*_notes(runs, names, headers), *_of_items(headers, rows)),
        level=level,
        seed=seed,
        samples=samples,
    )


def _differences(
    task: TaskHeader,
    metrics: Sequence[str],
    first: Sequence[Record],
    second: Sequence[Record],
    names: tuple[str, str],
    options: _Options,
    group: str = "",
) -> Iterator[Difference]:
    for metric in metrics:
        paired = pairs(first, second, metric)
        if paired.a:
            yield _difference(task.name, metric, group, paired, names, options)


def _by_group(
    task: TaskHeader,
    metrics: Sequence[str],
    first: Sequence[Record],
    second: Sequence[Record],
    names: tuple[str, str],
    options: _Options,
) -> Iterator[Difference]:
    for group in sorted({record.group for record in first if record.group}):
        one, other = ([r for r in records if r.group == group] for records in (first, second))
        yield from _differences(task, metrics, one, other, names, options, group)


def _difference(
    task: str, metric: str, group: str, paired: Pairs, names: tuple[str, str], options: _Options
) -> Difference:
    a, b, clusters = paired.a, paired.b, paired.clusters
    shares = all(0 <= value <= 1 for value in (*a, *b))
    bounds, spread = ((0.0, 1.0), (-1.0, 1.0)) if shares else ((-inf, inf), (-inf, inf))
    p, test = _tested(a, b, clusters, options)
    return Difference(
        task=task,
        metric=metric,
        group=group,
        baseline=names[0],
        candidate=names[1],
        items=len(a),
        clusters=_count(clusters),
        a=mean_interval(a, clusters, bounds=bounds, **options),
        b=mean_interval(b, clusters, bounds=bounds, **options),
        difference=paired_difference(a, b, clusters, bounds=spread, **options),
        better=sum(second > one for one, second in zip(a, b, strict=True)),
        worse=sum(second < one for one, second in zip(a, b, strict=True)),
        undefined=paired.undefined,
        p=p,
        p_holm=p,
        test=test,
        detectable=detectable(a, b, clusters, alpha=1 - options["level"]),
        verdict="no significant difference",
    )


def _tested(
    a: Sequence[float], b: Sequence[float], clusters: Sequence[str], options: _Options
) -> tuple[float, Test]:
    alone = _count(clusters) == len(clusters)
    if alone and is_binary([*a, *b]):
        return mcnemar(a, b), "exact McNemar"
    p = permutation(a, b, clusters, seed=options["seed"], samples=options["samples"])
    return p, "sign-flip permutation" if alone else "sign-flip permutation of clusters"


def _count(clusters: Sequence[str]) -> int:
    return len({name for name in clusters if name}) + sum(not name for name in clusters)


def _judged(rows: Sequence[Difference], level: float) -> tuple[Difference, ...]:
    """Correct the p-values over all rows, and say of each row what it shows."""
    judged = []
    for row, p in zip(rows, holm([row.p for row in rows]), strict=True):
        verdict: Verdict = "no significant difference"
        if p <= 1 - level:
            verdict = "better" if row.difference.mean > 0 else "worse"
        judged.append(replace(row, p_holm=p, verdict=verdict))
    return tuple(judged)


def _latency(
    task: TaskHeader,
    first: Sequence[Record],
    second: Sequence[Record],
    names: tuple[str, str],
    options: _Options,
) -> Iterator[Ratio]:
    found = ratio(
        {record.id: record.latency_s for record in first if record.status != "error"},
        {record.id: record.latency_s for record in second if record.status != "error"},
        {record.id: record.cluster for record in first},
        **options,
    )
    if found is not None:
        yield Ratio(task.name, "latency", *names, *found)


def _notes(
    runs: Sequence[Run], names: Sequence[str], tasks: Sequence[TaskHeader]
) -> tuple[str, ...]:
    """Say what is not the same besides the model, and what is left out."""
    notes = []
    compared = {task.name for task in tasks}
    for run, name in zip(runs, names, strict=True):
        others = [task.name for task in run.header.tasks if task.name not in compared]
        if others:
            notes.append(f"{name} has other tasks, which are left out: {', '.join(others)}")
        notes += [f"{name}: {note}" for note in run.header.notes]
    for run, name in zip(runs[1:], names[1:], strict=True):
        if dict(run.header.sampling) != dict(runs[0].header.sampling):
            notes.append(
                f"{name} was sampled in another way than {names[0]}: {dict(run.header.sampling)}"
                f" and {dict(runs[0].header.sampling)}"
            )
    return tuple(notes)


def _of_items(tasks: Sequence[TaskHeader], rows: Sequence[Difference]) -> Iterator[str]:
    """Say of which metrics the mean of the items, as it is compared, is not the whole set's."""
    picked = {(row.task, row.metric) for row in rows}
    for task in tasks:
        for name, signature in task.metrics.items():
            if (task.name, name) in picked and signature.partition("|")[0] in _OF_A_SET:
                yield (
                    f"{task.name}: {name} is here the mean of the items' own, which is not that of"
                    " the whole set that 'ragkit eval score' prints"
                )


def _why_none(runs: Sequence[Run]) -> str:
    """Say why nothing could be paired, and what helps."""
    records = [record for run in runs for record in run.records]
    if records and all(record.status == "error" for record in records):
        return (
            f"every item ended in an error, the first as {records[0].error!r}: correct that, and"
            " run the same again"
        )
    return "finish the runs with 'ragkit eval run', which resumes"
