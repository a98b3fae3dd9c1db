"""Return a report's numbers as JSON values, unrounded; new versions only add keys."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ragkit_eval.compare.compare_text import as_finite
from ragkit_eval.report.figures import Cell, Change, GroupRow, MetricRow, TaskFigures
from ragkit_eval.report.report import Report
from ragkit_eval.report.speed import Speed


def report_json(report: Report) -> dict[str, Any]:
    """Return a report as JSON values: runs, and each task's metrics, groups, slices and speed."""
    return {
        "runs": [
            {"name": name, "file": str(run.path), "created": run.header.created}
            for name, run in zip(report.names, report.runs, strict=True)
        ],
        "tasks": [_task_json(task) for task in report.tasks],
        "items": {
            "all": dict(report.choice.all),
            "shown": len(report.choice.pairs),
            "left_out": report.choice.left_out,
        },
        "notes": _list_notes(report),
    }


def _task_json(task: TaskFigures) -> dict[str, Any]:
    return {
        "name": task.header.name,
        "metric": task.header.metric,
        "items": task.header.items,
        "metrics": [_row_json(row) | {"signature": row.signature} for row in task.metrics],
        "groups": [_row_json(row) for row in task.groups],
        "slices": {tag: [_row_json(row) for row in rows] for tag, rows in task.slices.items()},
        "speed": [_speed_json(speed) for speed in task.speeds],
        "fallback": list(task.fallbacks),
    }


def _row_json(row: MetricRow | GroupRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "runs": [_cell_json(cell) for cell in row.cells],
        "differences": [_change_json(change) for change in row.changes],
    }


def _cell_json(cell: Cell | None) -> dict[str, Any] | None:
    if cell is None:
        return None
    return {
        **as_finite(asdict(cell.interval)),
        "items": cell.items,
        "errors": cell.errors,
        "answered": cell.answered,
        "expected": cell.expected,
        "coverage": cell.coverage,
    }


def _change_json(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {**as_finite(asdict(change.interval)), "p": change.p, "verdict": change.verdict}


def _speed_json(speed: Speed | None) -> dict[str, Any] | None:
    if speed is None:
        return None
    times = {f"{name}_s": value for name, value in asdict(speed.times).items() if name != "items"}
    return {**times, "tokens": speed.tokens, "cost_of_1000": speed.thousand}


def _list_notes(report: Report) -> list[str]:
    if report.comparison is not None:
        return list(report.comparison.notes)
    return [note for run in report.runs for note in run.header.notes]
