"""Summarise a run: scores per task and per group, with intervals. Errors count 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from ragkit_eval.run.corpus_records import interval_of_set
from ragkit_eval.run.item import TWO_SIDED
from ragkit_eval.run.record import Record, Run, TaskHeader
from ragkit_eval.stats import mean_interval


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's mean over `items` and its 95% interval, by cluster where items share one.

    Of BLEU, chrF and TER it is the score of the whole set.
    """

    mean: float
    low: float
    high: float
    items: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The scores of one task.

    `items` are all items of the task and `answered` those with a score; `errors` count 0 in every
    mean, missing items in none. `scores` has each metric and `groups` the first metric of each
    group; `group_mean` is the mean of the groups' means, None without groups. `fallback` is the
    share of answered items whose prediction a second rule found.
    """

    task: str
    metric: str
    items: int
    answered: int
    errors: int
    fallback: float
    scores: Mapping[str, Score] = field(default_factory=dict)
    groups: Mapping[str, Score] = field(default_factory=dict)
    group_mean: float | None = None

    @property
    def coverage(self) -> float:
        """Return the share of the items that were answered and scored."""
        return self.answered / self.items if self.items else 0.0

    @property
    def missing(self) -> int:
        """Count the items that have no outcome yet."""
        return self.items - self.answered - self.errors


def summarise(run: Run) -> Mapping[str, Summary]:
    """Summarise a run, task by task; it may have been read without texts."""
    return {task.name: _summarise_task(task, run.of(task.name)) for task in run.header.tasks}


def summary_json(summary: Summary) -> dict[str, Any]:
    """Return a summary as JSON values."""
    return {
        "task": summary.task,
        "metric": summary.metric,
        "items": summary.items,
        "answered": summary.answered,
        "errors": summary.errors,
        "missing": summary.missing,
        "coverage": round(summary.coverage, 6),
        "fallback": round(summary.fallback, 6),
        "group_mean": None if summary.group_mean is None else round(summary.group_mean, 6),
        "scores": {name: _score_json(score) for name, score in summary.scores.items()},
        "groups": {name: _score_json(score) for name, score in summary.groups.items()},
    }


def summary_lines(summaries: Mapping[str, Summary]) -> list[str]:
    """Write summaries as a table: a row per task and metric, then the groups, indented."""
    rows = [("task", "metric", "score", "95% interval", "items", "errors", "fallback")]
    for summary in summaries.values():
        counts = (f"{summary.errors}", f"{100 * summary.fallback:.1f}%")
        for metric, score in summary.scores.items():
            rows.append((summary.task, metric, *_score_cells(score), *counts))
        if summary.group_mean is not None:
            macro = (f"{summary.group_mean:.4f}", "", f"{len(summary.groups)}", "", "")
            rows.append(("", "mean of groups", *macro))
        rows += [
            (f"  {name}", "", *_score_cells(score), "", "")
            for name, score in summary.groups.items()
        ]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return ["  ".join(_align(row, widths)).rstrip() for row in rows]


def coverage_line(summary: Summary) -> str:
    """Write how many items of a task were answered, failed, or not asked yet."""
    text = (
        f"{summary.task}: {summary.answered:,} of {summary.items:,} items answered"
        f" ({100 * summary.coverage:.4g}%), {summary.errors:,} error{'s' * (summary.errors != 1)}"
    )
    return text + (f", {summary.missing:,} not asked yet" if summary.missing else "")


def _summarise_task(task: TaskHeader, records: Sequence[Record]) -> Summary:
    answered = [record for record in records if record.status != "error"]
    names = {task.metric: None} | {
        name: None for record in answered for name in sorted(record.scores)
    }
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.group, []).append(record)
    group_scores = {
        name: _average(task, task.metric, groups[name]) for name in sorted(groups) if name
    }
    per_group = {name: score for name, score in group_scores.items() if score is not None}
    scores = {name: _average(task, name, records) for name in names}
    return Summary(
        task=task.name,
        metric=task.metric,
        items=task.items,
        answered=len(answered),
        errors=len(records) - len(answered),
        fallback=fmean(record.fallback for record in answered) if answered else 0.0,
        scores={name: score for name, score in scores.items() if score is not None},
        groups=per_group,
        group_mean=fmean(score.mean for score in per_group.values())
        if len(per_group) > 1
        else None,
    )


def _average(task: TaskHeader, metric: str, records: Sequence[Record]) -> Score | None:
    """Average a metric over the items that have it; None if none has."""
    values = [(value, record) for record in records if (value := record.value(metric)) is not None]
    if not values:
        return None
    interval = interval_of_set(metric, task.metrics.get(metric, ""), records)
    if interval is None:
        low = -1.0 if TWO_SIDED in task.metrics.get(metric, "") else 0.0
        interval = mean_interval(
            [value for value, _ in values],
            [record.cluster for _, record in values],
            bounds=(low, 1.0),
        )
    return Score(interval.mean, interval.low, interval.high, len(values))


def _score_json(score: Score) -> dict[str, float]:
    return {
        "mean": round(score.mean, 6),
        "low": round(score.low, 6),
        "high": round(score.high, 6),
        "items": score.items,
    }


def _score_cells(score: Score) -> tuple[str, str, str]:
    return f"{score.mean:.4f}", f"{score.low:.4f} to {score.high:.4f}", f"{score.items}"


def _align(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        cell.ljust(width) if n < 2 else cell.rjust(width)
        for n, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
