"""Make a run's header: tasks, model, sampling, versions and hardware."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from ragkit import __version__
from ragkit.errors import UsageError
from ragkit_eval.run.item import Task
from ragkit_eval.run.machine import commit, hardware
from ragkit_eval.run.record import Header, TaskHeader


def make_header(
    tasks: Sequence[Task],
    model: Mapping[str, Any],
    sampling: Mapping[str, Any],
    seed: int | None,
    *,
    label: str = "",
) -> Header:
    """Describe a run before it begins; reads every item once, to hash the prompts.

    `model` has "name" and everything else that its answers depend on; `sampling` overrides the
    tasks' sampling. Raises UsageError for a task without items.
    """
    shared = {name: value for name, value in sampling.items() if value is not None}
    task_sampling = {task.name: dict(task.sampling) for task in tasks}
    return Header(
        tasks=tuple(_task_header(task) for task in tasks),
        model={name: value for name, value in model.items() if value not in (None, "")},
        sampling={"seed": seed, **shared, "tasks": task_sampling},
        environment=environment(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        label=label,
    )


def environment() -> dict[str, Any]:
    """Return the versions, the git commit of a checkout, and the hardware."""
    facts: dict[str, Any] = {
        "ragkit": __version__,
        "python": platform.python_version(),
        "aiohttp": metadata.version("aiohttp"),
        "git": commit(),
        **hardware(),
    }
    return {name: value for name, value in facts.items() if value}


def _task_header(task: Task) -> TaskHeader:
    from ragkit_eval.tasks.hashing import prompt_hash

    prompts, items = prompt_hash(task.items())
    if not items:
        raise UsageError(f"{task.name} has no items: choose other groups, or check its data")
    signature = f"{task.metric}|task:{task.name}|v:{task.version}"
    return TaskHeader(
        name=task.name,
        version=task.version,
        method=task.method,
        metric=task.metric,
        items=items,
        data_hash=task.data_hash,
        prompt_hash=prompts,
        metrics=dict(getattr(task, "metrics", None) or {task.metric: signature}),
    )
