"""Compare runs by item: bootstrap by cluster, exact tests, p-values corrected over all rows.

The first run is the baseline. `compare_text` writes the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal, TypedDict

from ragkit.errors import UsageError
from ragkit_eval.compare.pairing import (
    Coverage,
    Pairs,
    chosen,
    coverage,
    pairs,
    run_names,
    shared_metrics,
    shared_tasks,
)
from ragkit_eval.compare.ratios import Ratio, ratio
from ragkit_eval.run.corpus_records import count_records, is_corpus_metric
from ragkit_eval.run.item import TWO_SIDED
from ragkit_eval.run.record import Record, Run, TaskHeader
from ragkit_eval.stats.bootstrap import SAMPLES, Interval, mean_interval, paired_difference
from ragkit_eval.stats.corpus import CorpusDifference, corpus_difference
from ragkit_eval.stats.holm_correction import holm
from ragkit_eval.stats.mcnemar_exact import is_binary, mcnemar
from ragkit_eval.stats.power import detectable
from ragkit_eval.stats.signflip import permutation

Verdict = Literal["better", "worse", "no significant difference"]
Test = Literal[
    "exact McNemar",
    "sign-flip permutation",
    "sign-flip permutation of clusters",
    "approximate randomisation",
    "approximate randomisation of clusters",
]
_OF_SETS = ("approximate randomisation", "approximate randomisation of clusters")


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a candidate from the baseline in one metric of one task.

    Covers the items that both runs have. `group` is a subject, "" for the whole task. `a` and `b`
    are the baseline's and the candidate's means, or of BLEU, chrF, TER and gm_map their scores of
    the whole set; `difference` is b - a. `better` and `worse` count
    items; `undefined` counts those without a value. `p_holm` is corrected over all rows of its kind
    and decides `verdict`. `detectable` is the smallest difference that this data shows with a
    power of 80%.
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
    """The result of a comparison. `runs` are the runs' names, the baseline's first."""

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
    """Keyword arguments of the bootstrap."""

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

    Right and wrong of independent items is tested by McNemar's exact test, scores of a whole set by
    approximate randomisation, everything else by flipping signs, of entire clusters where items
    share one. `groups` adds a row for each group.
    Raises UsageError for runs of different questions, naming the differing fields, for unknown
    tasks and metrics, and where no item can be paired.
    """
    names = run_names(runs)
    headers = shared_tasks(runs)
    selected = chosen(tasks, [task.name for task in headers], "task")
    headers = tuple(task for task in headers if task.name in selected)
    by_task = shared_metrics(runs, headers, metrics)
    options = _Options(seed=seed, samples=samples, level=level)
    rows: list[Difference] = []
    parts: list[Difference] = []
    latencies: list[Ratio] = []
    for task in headers:
        picked = [metric for metric in by_task[task.name] if not metrics or metric in metrics]
        for run, name in zip(runs[1:], names[1:], strict=True):
            first, second = runs[0].of(task.name), run.of(task.name)
            rows += _compare_metrics(task, picked, first, second, (names[0], name), options)
            latencies += _compare_latencies(task, first, second, (names[0], name), options)
            if groups:
                parts += _compare_groups(task, picked, first, second, (names[0], name), options)
    if not rows:
        raise UsageError(
            f"no item has values in both of {', '.join(str(run.path) for run in runs)}:"
            f" {_explain_no_pairs(runs)}"
        )
    return Comparison(
        runs=names,
        rows=_correct_verdicts(rows, level),
        groups=_correct_verdicts(parts, level),
        latencies=tuple(latencies),
        coverage=tuple(
            coverage(run, name, task, runs[0])
            for task in headers
            for run, name in zip(runs, names, strict=True)
        ),
        notes=(
            *_list_notes(runs, names, headers),
            *_note_means_of_items(rows, headers),
            *_note_two_sided(rows, headers),
        ),
        level=level,
        seed=seed,
        samples=samples,
    )


def _compare_metrics(
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
            corpus = compare_sets(metric, task.metrics.get(metric, ""), paired, **options)
            yield _compare_metric(task.name, metric, group, paired, names, options, corpus)


def _compare_groups(
    task: TaskHeader,
    metrics: Sequence[str],
    first: Sequence[Record],
    second: Sequence[Record],
    names: tuple[str, str],
    options: _Options,
) -> Iterator[Difference]:
    for group in sorted({record.group for record in first if record.group}):
        baseline, candidate = (
            [r for r in records if r.group == group] for records in (first, second)
        )
        yield from _compare_metrics(task, metrics, baseline, candidate, names, options, group)


def _compare_metric(
    task: str,
    metric: str,
    group: str,
    paired: Pairs,
    names: tuple[str, str],
    options: _Options,
    corpus: CorpusDifference | None,
) -> Difference:
    a, b, clusters = paired.a, paired.b, paired.clusters
    shares = all(0 <= value <= 1 for value in (*a, *b))
    bounds, spread = ((0.0, 1.0), (-1.0, 1.0)) if shares else ((-inf, inf), (-inf, inf))
    p, test = _test_difference(a, b, clusters, options)
    row = Difference(
        task=task,
        metric=metric,
        group=group,
        baseline=names[0],
        candidate=names[1],
        items=len(a),
        clusters=_count_clusters(clusters),
        a=mean_interval(a, clusters, bounds=bounds, **options),
        b=mean_interval(b, clusters, bounds=bounds, **options),
        difference=paired_difference(a, b, clusters, bounds=spread, **options),
        better=sum(second > first for first, second in zip(a, b, strict=True)),
        worse=sum(second < first for first, second in zip(a, b, strict=True)),
        undefined=paired.undefined,
        p=p,
        p_holm=p,
        test=test,
        detectable=detectable(a, b, clusters, alpha=1 - options["level"]),
        verdict="no significant difference",
    )
    return row if corpus is None else _of_sets(row, corpus)


def compare_sets(
    metric: str,
    signature: str,
    paired: Pairs,
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    level: float = 0.95,
) -> CorpusDifference | None:
    """Compare the scores of the whole set; None for a mean of items, and where none can be had."""
    if not is_corpus_metric(signature):
        return None
    first = count_records(metric, signature, [record for record, _ in paired.records])
    second = first and count_records(metric, signature, [record for _, record in paired.records])
    if first is None or second is None:
        return None
    return corpus_difference(
        first.rows,
        second.rows,
        paired.clusters,
        first.score,
        seed=seed,
        samples=samples,
        level=level,
        bounds=first.bounds,
    )


def _of_sets(row: Difference, corpus: CorpusDifference) -> Difference:
    """Return a row whose values are those of the whole set."""
    independent = row.clusters == row.items
    return replace(
        row,
        a=corpus.a,
        b=corpus.b,
        difference=corpus.difference,
        p=corpus.p,
        p_holm=corpus.p,
        test="approximate randomisation"
        if independent
        else "approximate randomisation of clusters",
        detectable=corpus.detectable,
    )


def _test_difference(
    a: Sequence[float], b: Sequence[float], clusters: Sequence[str], options: _Options
) -> tuple[float, Test]:
    independent = _count_clusters(clusters) == len(clusters)
    if independent and is_binary([*a, *b]):
        return mcnemar(a, b), "exact McNemar"
    p = permutation(a, b, clusters, seed=options["seed"], samples=options["samples"])
    return p, "sign-flip permutation" if independent else "sign-flip permutation of clusters"


def _count_clusters(clusters: Sequence[str]) -> int:
    return len({name for name in clusters if name}) + sum(not name for name in clusters)


def _correct_verdicts(rows: Sequence[Difference], level: float) -> tuple[Difference, ...]:
    """Correct the p-values over all rows, and set each row's verdict."""
    judged = []
    for row, p in zip(rows, holm([row.p for row in rows]), strict=True):
        verdict: Verdict = "no significant difference"
        if p <= 1 - level:
            verdict = "better" if row.difference.mean > 0 else "worse"
        judged.append(replace(row, p_holm=p, verdict=verdict))
    return tuple(judged)


def _compare_latencies(
    task: TaskHeader,
    first: Sequence[Record],
    second: Sequence[Record],
    names: tuple[str, str],
    options: _Options,
) -> Iterator[Ratio]:
    latency = ratio(
        {record.id: record.latency_s for record in first if record.status != "error"},
        {record.id: record.latency_s for record in second if record.status != "error"},
        {record.id: record.cluster for record in first},
        **options,
    )
    if latency is not None:
        yield Ratio(task.name, "latency", *names, *latency)


def _note_two_sided(rows: Sequence[Difference], headers: Sequence[TaskHeader]) -> Iterator[str]:
    """Say of which metrics the higher value is not the better one."""
    signatures = {task.name: task.metrics for task in headers}
    for metric in dict.fromkeys(row.metric for row in rows):
        if any(
            TWO_SIDED in signatures[row.task].get(metric, "")
            for row in rows
            if row.metric == metric
        ):
            yield f"{metric}: 0 is best, and 'better' says no more than that the value is higher"


def _list_notes(
    runs: Sequence[Run], names: Sequence[str], tasks: Sequence[TaskHeader]
) -> tuple[str, ...]:
    """List what differs between the runs besides the model, and the tasks that are left out."""
    notes = []
    compared = {task.name for task in tasks}
    for run, name in zip(runs, names, strict=True):
        extra_tasks = [task.name for task in run.header.tasks if task.name not in compared]
        if extra_tasks:
            notes.append(f"{name} has other tasks, which are left out: {', '.join(extra_tasks)}")
        notes += [f"{name}: {note}" for note in run.header.notes]
    for run, name in zip(runs[1:], names[1:], strict=True):
        if dict(run.header.sampling) != dict(runs[0].header.sampling):
            notes.append(
                f"{name} was sampled in another way than {names[0]}: {dict(run.header.sampling)}"
                f" and {dict(runs[0].header.sampling)}"
            )
    return tuple(notes)


def _note_means_of_items(rows: Sequence[Difference], tasks: Sequence[TaskHeader]) -> Iterator[str]:
    """Yield a note for each corpus metric whose score of the whole set could not be had."""
    signatures = {(task.name, name): text for task in tasks for name, text in task.metrics.items()}
    picked = dict.fromkeys((row.task, row.metric) for row in rows if row.test not in _OF_SETS)
    for task, name in picked:
        if is_corpus_metric(signatures.get((task, name), "")):
            yield (
                f"{task}: {name} is here the mean of the items' own, which is not that of the whole"
                " set that 'ragkit eval score' prints: the run was scored by another version of"
                " ragkit or of sacreBLEU; score its predictions again"
            )


def _explain_no_pairs(runs: Sequence[Run]) -> str:
    """Explain why no item could be paired, and name the remedy."""
    records = [record for run in runs for record in run.records]
    if records and all(record.status == "error" for record in records):
        return (
            f"every item ended in an error, the first as {records[0].error!r}: correct that, and"
            " run the same again"
        )
    return "finish the runs with 'ragkit eval run', which resumes"
