"""What runs were made with, as rows of a table; where they differ is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragkit_eval.record import Run
from ragkit_eval.report.inert import line

_VALUE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value of each run; "" where a run does not tell."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Tell whether the runs do not all say the same."""
        return len(set(self.values)) > 1


def facts(runs: Sequence[Run]) -> tuple[Fact, ...]:
    """List everything that the runs' headers say."""
    columns = [dict(_said(run)) for run in runs]
    names = dict.fromkeys(name for column in columns for name in column)
    return tuple(Fact(name, tuple(column.get(name, "") for column in columns)) for name in names)


def _said(run: Run) -> Iterator[tuple[str, str]]:
    header = run.header
    yield "file", line(run.path.name, _VALUE_CHARS)
    yield "created", line(header.created, _VALUE_CHARS)
    yield from _flat("model", header.model)
    yield from _flat("sampling", header.sampling)
    for task in header.tasks:
        for name in ("version", "method", "items", "data_hash", "prompt_hash"):
            yield line(f"{task.name}: {name.replace('_', ' ')}", 120), str(getattr(task, name))
        for metric, signature in task.metrics.items():
            yield line(f"{task.name}: {metric}", 120), line(signature, _VALUE_CHARS)
    yield from _flat("environment", header.environment)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(f"{name}.{key}", one)
    elif isinstance(value, list | tuple):
        yield line(name, 120), line(", ".join(str(one) for one in value), _VALUE_CHARS)
    else:
        yield line(name, 120), "" if value is None else line(str(value), _VALUE_CHARS)
