"""Run files for tests, made of a few numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ragkit_eval.run.record import (
    Header,
    Record,
    Run,
    TaskHeader,
    header_line,
    read_run,
    record_line,
)

TASK = TaskHeader("quiz", "1", "letter", "acc", 4, "data", "prompts", {"acc": "acc|v:1"})


def records(
    values: Sequence[float | None],
    *,
    metric: str = "acc",
    task: str = "quiz",
    clusters: Sequence[str] = (),
    groups: Sequence[str] = (),
    latency_s: float = 0.0,
) -> list[Record]:
    """Make items "0", "1", ... with these values; None is an error."""
    return [
        Record(
            task=task,
            id=str(number),
            key=f"key {number}",
            status="error" if value is None else "ok" if value >= 0.5 else "wrong",
            scores={} if value is None else {metric: value},
            error="the server failed" if value is None else "",
            cluster=clusters[number] if clusters else "",
            group=groups[number] if groups else "",
            latency_s=latency_s,
        )
        for number, value in enumerate(values)
    ]


def write_run(
    path: Path,
    items: Sequence[Record],
    *,
    name: str | None = None,
    tasks: Sequence[TaskHeader] | None = None,
    sampling: Mapping[str, object] | None = None,
) -> Path:
    """Write a run, of one task with as many items as there are unless told."""
    tasks = tasks or [replace(TASK, items=len(items))]
    header = Header(tuple(tasks), {"name": name or path.stem}, sampling=sampling or {})
    lines = [header_line(header), *(record_line(item) for item in items)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def run_of(path: Path, values: Sequence[float | None], **options: object) -> Run:
    """Write and read a run of these values; see `records`."""
    return read_run(write_run(path, records(values, **options)))  # type: ignore[arg-type]
