"""The numbers of a report: means with intervals, by task, metric, group and slice.

It computes from records and the statistics of ragkit_eval.stats; it knows nothing of pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from ragkit_eval.answers import Prices
from ragkit_eval.compare import Comparison
from ragkit_eval.pairing import pairs
from ragkit_eval.record import Record, Run, TaskHeader
from ragkit_eval.report.risk import Risk, risk
from ragkit_eval.report.speed import Speed, speed
from ragkit_eval.report.texts import Extract
from ragkit_eval.stats import Interval, mean_interval, paired_difference

GROUP_SAMPLES = 2_000  # of a bootstrap: a group's interval is drawn, not decided by
SLICES = 40  # values of a tag, the most frequent ones; more would be no slices
Records = Sequence[Record]


@dataclass(frozen=True, slots=True)
class Cell:
    """One run's mean of one metric, and what it is a mean of.

    `told` items have the metric, errors among them with 0; `expected` were to be asked.
    """

    interval: Interval
    told: int
    errors: int
    answered: int
    expected: int

    @property
    def coverage(self) -> float:
        """Return the share of the items that were answered."""
        return self.answered / self.expected if self.expected else 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """What a run has more than the first one, with its interval.

    `p` is after Holm's correction, as `ragkit eval compare` has it; None where nothing was tested,
    as in slices, and then nothing is shown either.
    """

    interval: Interval
    p: float | None = None
    verdict: Literal["better", "worse", "unclear"] = "unclear"


Row = tuple[Change | None, ...]  # by run; None for the first, and where nothing was compared
Tested = Mapping[tuple[str, str, str, int], Change]  # by task, metric, group and number of the run


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of a task in every run."""

    name: str
    signature: str
    cells: tuple[Cell | None, ...]
    changes: Row


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The first metric over a group's items, or a slice's."""

    name: str
    cells: tuple[Cell | None, ...]
    changes: Row


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """All of a task: the first metric first."""

    header: TaskHeader
    metrics: tuple[MetricRow, ...]
    groups: tuple[GroupRow, ...]
    slices: Mapping[str, tuple[GroupRow, ...]]
    speeds: tuple[Speed | None, ...]
    risks: tuple[Risk | None, ...]
    fallbacks: tuple[float, ...]


def tested(comparison: Comparison) -> Tested:
    """Look up what a comparison found, by task, metric, group ("" for all) and the run's number."""
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
    """Compute a task's figures over the runs that have it. `prices` are each run's."""
    header = next(task for run in runs for task in run.header.tasks if task.name == name)
    asked = [any(task.name == name for task in run.header.tasks) for run in runs]
    records = [run.of(name) for run in runs]
    found = tested(comparison) if comparison else {}
    compared = any((name, header.metric, "", n) in found for n in range(len(runs)))
    rows = tuple(
        MetricRow(
            metric,
            header.metrics.get(metric, ""),
            tuple(
                cell(these, metric, expected=header.items) if there else None
                for these, there in zip(records, asked, strict=True)
            ),
            tuple(found.get((name, metric, "", n)) for n in range(len(runs))),
        )
        for metric in _metrics(header, records)
    )
    # What no item of these runs could be told of is no row; the first metric always is.
    rows = (rows[0], *(row for row in rows[1:] if any(row.cells)))
    return TaskFigures(
        header,
        rows,
        _groups(header, records, found, compared),
        _slices(header, records, extracts, compared),
        tuple(
            speed(these, price) if there else None
            for these, there, price in zip(records, asked, prices, strict=True)
        ),
        tuple(
            risk(these, header.metric, extract)
            for these, extract in zip(records, extracts, strict=True)
        ),
        tuple(_fallback(these) for these in records),
    )


def cell(
    records: Records, metric: str, *, expected: int | None = None, samples: int = 10_000
) -> Cell | None:
    """Average a metric over records, an error counting 0; None where no record has it."""
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
        mean_interval(
            values,
            clusters,
            seed=0,
            samples=samples,
            bounds=(0.0, 1.0) if _shares(values) else (-inf, inf),
        ),
        len(values),
        errors,
        len(records) - errors,
        len(records) if expected is None else max(expected, len(records)),
    )


def change(first: Records, other: Records, metric: str) -> Change | None:
    """Compare two runs over the items that both have; an interval only, nothing is tested."""
    paired = pairs(first, other, metric)
    if not paired.a:
        return None
    return Change(
        paired_difference(
            paired.a,
            paired.b,
            paired.clusters,
            seed=0,
            samples=GROUP_SAMPLES,
            bounds=(-1.0, 1.0) if _shares((*paired.a, *paired.b)) else (-inf, inf),
        )
    )


def _metrics(header: TaskHeader, records: Sequence[Records]) -> list[str]:
    seen = dict.fromkeys([header.metric, *header.metrics])
    for these in records:
        for record in these:
            seen.update(dict.fromkeys(record.scores))
    return list(seen)


def _shares(values: Sequence[float]) -> bool:
    return all(0 <= value <= 1 for value in values)


def _rows(
    records: Sequence[Records], metric: str, name_of: Callable[[Record], str], compared: bool
) -> list[GroupRow]:
    parts: dict[str, list[list[Record]]] = {}
    for n, these in enumerate(records):
        for record in these:
            parts.setdefault(name_of(record), [[] for _ in records])[n].append(record)
    parts.pop("", None)
    rows = []
    for name, part in parts.items():
        expected = max(len(these) for these in part)
        cells = tuple(
            cell(these, metric, expected=expected, samples=GROUP_SAMPLES) for these in part
        )
        changes = tuple(
            change(part[0], these, metric) if compared and n else None
            for n, these in enumerate(part)
        )
        rows.append(GroupRow(name, cells, changes))
    return rows


def _groups(
    header: TaskHeader, records: Sequence[Records], found: Tested, compared: bool
) -> tuple[GroupRow, ...]:
    rows = _rows(records, header.metric, lambda record: record.group, compared)
    rows = [
        replace(
            row,
            changes=tuple(
                found.get((header.name, header.metric, row.name, n), one)
                for n, one in enumerate(row.changes)
            ),
        )
        for row in rows
    ]
    return tuple(sorted(rows, key=lambda row: row.name)) if len(rows) > 1 else ()


def _slices(
    header: TaskHeader, records: Sequence[Records], extracts: Sequence[Extract], compared: bool
) -> dict[str, tuple[GroupRow, ...]]:
    # What one run says of an item holds of all: an item that ended in an error has no tags.
    tags: dict[str, dict[str, str]] = {}
    for extract in extracts:
        for (task, ident), pairs_ in extract.tags.items():
            if task == header.name:
                tags.setdefault(ident, {}).update(pairs_)
    slices = {}
    for tag in dict.fromkeys(tag for each in tags.values() for tag in each):
        rows = _rows(
            records,
            header.metric,
            lambda record, tag=tag: tags.get(record.id, {}).get(tag, ""),  # type: ignore[misc]
            compared,
        )
        rows.sort(key=lambda row: -max(cell.told if cell else 0 for cell in row.cells))
        if len(rows) > 1:
            slices[tag] = tuple(rows[:SLICES])
    return slices


def _fallback(records: Records) -> float:
    answered = [record for record in records if record.status != "error"]
    return sum(record.fallback for record in answered) / len(answered) if answered else 0.0
