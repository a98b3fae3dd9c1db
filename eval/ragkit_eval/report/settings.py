"""List the settings of runs as rows of a table that marks differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragkit.report.safe_text import line
from ragkit_eval.run.record import Run

_VALUE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value of each run; "" for a run without it."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Tell whether the runs have different values."""
        return len(set(self.values)) > 1


def facts(runs: Sequence[Run]) -> tuple[Fact, ...]:
    """List all values in the runs' headers."""
    columns = [dict(_list_facts(run)) for run in runs]
    names = dict.fromkeys(name for column in columns for name in column)
    return tuple(Fact(name, tuple(column.get(name, "") for column in columns)) for name in names)


def _list_facts(run: Run) -> Iterator[tuple[str, str]]:
    header = run.header
    yield "file", line(run.path.name, _VALUE_CHARS)
    yield "created", line(header.created, _VALUE_CHARS)
    yield from _flatten("model", header.model)
    yield from _flatten("sampling", header.sampling)
    for task in header.tasks:
        for name in ("version", "method", "items", "data_hash", "prompt_hash"):
            yield line(f"{task.name}: {name.replace('_', ' ')}", 120), str(getattr(task, name))
        for metric, signature in task.metrics.items():
            yield line(f"{task.name}: {metric}", 120), line(signature, _VALUE_CHARS)
    yield from _flatten("environment", header.environment)


def _flatten(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _flatten(f"{name}.{key}", member)
    elif isinstance(value, list | tuple):
        yield line(name, 120), line(", ".join(str(member) for member in value), _VALUE_CHARS)
    else:
        yield line(name, 120), "" if value is None else line(str(value), _VALUE_CHARS)
