"""A report's numbers as JSON values, unrounded; additive only."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ragkit_eval.compare_text import as_finite
from ragkit_eval.report.figures import Cell, Change, GroupRow, MetricRow, TaskFigures
from ragkit_eval.report.report import Report
from ragkit_eval.report.speed import Speed


def report_json(made: Report) -> dict[str, Any]:
    """Return what a report says: runs, and of each task metrics, groups, slices and speed."""
    return {
        "runs": [
            {"name": name, "file": str(run.path), "created": run.header.created}
            for name, run in zip(made.names, made.runs, strict=True)
        ],
        "tasks": [_task(task) for task in made.tasks],
        "items": {
            "all": dict(made.choice.all),
            "shown": len(made.choice.pairs),
            "left_out": made.choice.left_out,
        },
        "notes": _notes(made),
    }


def _task(task: TaskFigures) -> dict[str, Any]:
    return {
        "name": task.header.name,
        "metric": task.header.metric,
        "items": task.header.items,
        "metrics": [_row(row) | {"signature": row.signature} for row in task.metrics],
        "groups": [_row(row) for row in task.groups],
        "slices": {tag: [_row(row) for row in rows] for tag, rows in task.slices.items()},
        "speed": [_speed(speed) for speed in task.speeds],
        "fallback": list(task.fallbacks),
    }


def _row(row: MetricRow | GroupRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "runs": [_cell(cell) for cell in row.cells],
        "differences": [_change(change) for change in row.changes],
    }


def _cell(cell: Cell | None) -> dict[str, Any] | None:
    if cell is None:
        return None
    return {
        **as_finite(asdict(cell.interval)),
        "items": cell.told,
        "errors": cell.errors,
        "answered": cell.answered,
        "expected": cell.expected,
        "coverage": cell.coverage,
    }


def _change(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {**as_finite(asdict(change.interval)), "p": change.p, "verdict": change.verdict}


def _speed(speed: Speed | None) -> dict[str, Any] | None:
    if speed is None:
        return None
    times = {f"{name}_s": value for name, value in asdict(speed.times).items() if name != "items"}
    return {**times, "tokens": speed.tokens, "cost_of_1000": speed.thousand}


def _notes(made: Report) -> list[str]:
    if made.comparison is not None:
        return list(made.comparison.notes)
    return [note for run in made.runs for note in run.header.notes]
