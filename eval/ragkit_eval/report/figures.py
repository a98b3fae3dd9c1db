"""Compute the numbers of a report: means with intervals, by task, metric, group and slice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from ragkit_eval.answers import Prices
from ragkit_eval.compare.compare import Comparison, compare_sets
from ragkit_eval.compare.pairing import pairs
from ragkit_eval.report.extract import Extract
from ragkit_eval.report.risk import Risk, risk
from ragkit_eval.report.speed import Speed, speed
from ragkit_eval.run.corpus_records import interval_of_set
from ragkit_eval.run.record import Record, Run, TaskHeader
from ragkit_eval.stats import Interval, mean_interval, paired_difference

GROUP_SAMPLES = 2_000  # of a bootstrap: a group's interval is shown, but decides nothing
SLICES = 40  # of a tag, the most frequent values; arbitrary
Records = Sequence[Record]


@dataclass(frozen=True, slots=True)
class Cell:
    """One run's mean of one metric.

    `items` have the metric, errors among them with 0; `expected` is the number of the task's items.
    """

    interval: Interval
    items: int
    errors: int
    answered: int
    expected: int

    @property
    def coverage(self) -> float:
        """Return the share of the items that were answered."""
        return self.answered / self.expected if self.expected else 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of a run from the first one, with its interval.

    `p` is after Holm's correction, as in `ragkit eval compare`; None without a test, as in slices,
    where `verdict` is "unclear".
    """

    interval: Interval
    p: float | None = None
    verdict: Literal["better", "worse", "unclear"] = "unclear"


Row = tuple[Change | None, ...]  # by run; None for the first, and without a comparison
Changes = Mapping[tuple[str, str, str, int], Change]  # by task, metric, group and number of the run


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of a task in every run."""

    name: str
    signature: str
    cells: tuple[Cell | None, ...]
    changes: Row


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The first metric over the items of a group or slice."""

    name: str
    cells: tuple[Cell | None, ...]
    changes: Row


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """All figures of a task, its first metric first."""

    header: TaskHeader
    metrics: tuple[MetricRow, ...]
    groups: tuple[GroupRow, ...]
    slices: Mapping[str, tuple[GroupRow, ...]]
    speeds: tuple[Speed | None, ...]
    risks: tuple[Risk | None, ...]
    fallbacks: tuple[float, ...]


def index_changes(comparison: Comparison) -> Changes:
    """Index a comparison by task, metric, group ("" for all items) and the run's number."""
    numbers = {name: n for n, name in enumerate(comparison.runs)}
    return {
        (row.task, row.metric, row.group, numbers[row.candidate]): Change(
            row.difference,
            row.p_holm,
            "unclear" if row.verdict == "no significant difference" else row.verdict,
        )
        for row in (*comparison.rows, *comparison.groups)
    }


def task_figures(
    name: str,
    runs: Sequence[Run],
    extracts: Sequence[Extract],
    comparison: Comparison | None,
    prices: Sequence[Prices | None],
) -> TaskFigures:
    """Compute a task's figures over the runs that have it. `prices` has an entry per run."""
    header = next(task for run in runs for task in run.header.tasks if task.name == name)
    has_task = [any(task.name == name for task in run.header.tasks) for run in runs]
    records = [run.of(name) for run in runs]
    changes = index_changes(comparison) if comparison else {}
    is_compared = any((name, header.metric, "", n) in changes for n in range(len(runs)))
    rows = tuple(
        MetricRow(
            metric,
            header.metrics.get(metric, ""),
            tuple(
                cell(run_records, metric, header.metrics.get(metric, ""), expected=header.items)
                if present
                else None
                for run_records, present in zip(records, has_task, strict=True)
            ),
            tuple(changes.get((name, metric, "", n)) for n in range(len(runs))),
        )
        for metric in _list_metrics(header, records)
    )
    # A metric without any value has no row; the first metric always has one.
    rows = (rows[0], *(row for row in rows[1:] if any(row.cells)))
    return TaskFigures(
        header,
        rows,
        _make_groups(header, records, changes, is_compared),
        _make_slices(header, records, extracts, is_compared),
        tuple(
            speed(run_records, price) if present else None
            for run_records, present, price in zip(records, has_task, prices, strict=True)
        ),
        tuple(
            risk(run_records, header.metric, extract)
            for run_records, extract in zip(records, extracts, strict=True)
        ),
        tuple(_fallback_share(run_records) for run_records in records),
    )


def cell(
    records: Records,
    metric: str,
    signature: str = "",
    *,
    expected: int | None = None,
    samples: int = 10_000,
) -> Cell | None:
    """Average a metric over records, an error counting 0; None if no record has it.

    Of BLEU, chrF and TER, which `signature` tells, the value is that of the whole set.
    """
    values, clusters = [], []
    for record in records:
        value = record.value(metric)
        if value is not None:
            values.append(float(value))
            clusters.append(record.cluster)
    if not values:
        return None
    errors = sum(record.status == "error" for record in records)
    return Cell(
        interval_of_set(metric, signature, records, samples=samples)
        or mean_interval(
            values,
            clusters,
            seed=0,
            samples=samples,
            bounds=(0.0, 1.0) if _are_shares(values) else (-inf, inf),
        ),
        len(values),
        errors,
        len(records) - errors,
        len(records) if expected is None else max(expected, len(records)),
    )


def change(
    baseline: Records, candidate: Records, metric: str, signature: str = ""
) -> Change | None:
    """Compare two runs over the items that both have: an interval, without a test."""
    paired = pairs(baseline, candidate, metric)
    if not paired.a:
        return None
    corpus = compare_sets(metric, signature, paired, samples=GROUP_SAMPLES)
    if corpus is not None:
        return Change(corpus.difference)
    return Change(
        paired_difference(
            paired.a,
            paired.b,
            paired.clusters,
            seed=0,
            samples=GROUP_SAMPLES,
            bounds=(-1.0, 1.0) if _are_shares((*paired.a, *paired.b)) else (-inf, inf),
        )
    )


def _list_metrics(header: TaskHeader, records: Sequence[Records]) -> list[str]:
    names = dict.fromkeys([header.metric, *header.metrics])
    for run_records in records:
        for record in run_records:
            names.update(dict.fromkeys(record.scores))
    return list(names)


def _are_shares(values: Sequence[float]) -> bool:
    return all(0 <= value <= 1 for value in values)


def _make_rows(
    header: TaskHeader,
    records: Sequence[Records],
    name_of: Callable[[Record], str],
    compared: bool,
) -> list[GroupRow]:
    metric, signature = header.metric, header.metrics.get(header.metric, "")
    by_name: dict[str, list[list[Record]]] = {}
    for n, run_records in enumerate(records):
        for record in run_records:
            by_name.setdefault(name_of(record), [[] for _ in records])[n].append(record)
    by_name.pop("", None)
    rows = []
    for name, by_run in by_name.items():
        expected = max(len(run_records) for run_records in by_run)
        cells = tuple(
            cell(run_records, metric, signature, expected=expected, samples=GROUP_SAMPLES)
            for run_records in by_run
        )
        changes = tuple(
            change(by_run[0], run_records, metric, signature) if compared and n else None
            for n, run_records in enumerate(by_run)
        )
        rows.append(GroupRow(name, cells, changes))
    return rows


def _make_groups(
    header: TaskHeader, records: Sequence[Records], changes: Changes, compared: bool
) -> tuple[GroupRow, ...]:
    rows = _make_rows(header, records, lambda record: record.group, compared)
    rows = [
        replace(
            row,
            changes=tuple(
                changes.get((header.name, header.metric, row.name, n), change)
                for n, change in enumerate(row.changes)
            ),
        )
        for row in rows
    ]
    return tuple(sorted(rows, key=lambda row: row.name)) if len(rows) > 1 else ()


def _make_slices(
    header: TaskHeader, records: Sequence[Records], extracts: Sequence[Extract], compared: bool
) -> dict[str, tuple[GroupRow, ...]]:
    # An item has its tags in any run: one that ended in an error has none.
    tags: dict[str, dict[str, str]] = {}
    for extract in extracts:
        for (task, item), values in extract.tags.items():
            if task == header.name:
                tags.setdefault(item, {}).update(values)
    slices = {}
    for tag in dict.fromkeys(tag for item_tags in tags.values() for tag in item_tags):
        rows = _make_rows(
            header,
            records,
            lambda record, tag=tag: tags.get(record.id, {}).get(tag, ""),  # type: ignore[misc]
            compared,
        )
        rows.sort(key=lambda row: -max(cell.items if cell else 0 for cell in row.cells))
        if len(rows) > 1:
            slices[tag] = tuple(rows[:SLICES])
    return slices


def _fallback_share(records: Records) -> float:
    answered = [record for record in records if record.status != "error"]
    return sum(record.fallback for record in answered) / len(answered) if answered else 0.0
