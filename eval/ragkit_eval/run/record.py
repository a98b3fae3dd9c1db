"""Read and write run files: JSON lines, one header and one line per item.

A line is complete, or it is the last one of a killed writer's file and is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.run import strict_json

FORMAT = 1
Status = Literal["ok", "wrong", "error"]


@dataclass(frozen=True, slots=True)
class TaskHeader:
    """A task of a run; equal hashes mean equal questions. `metric` is the first one.

    `prompt_hash` covers each prompt, its choices and its targets, in order; `items` counts them.
    `metrics` maps each metric's name to its signature.
    """

    name: str
    version: str
    method: str
    metric: str
    items: int
    data_hash: str
    prompt_hash: str
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a run. `model` describes the model with its revision and server arguments.

    `environment` holds versions, git commit and hardware; `created` is ISO 8601 in UTC.
    """

    tasks: tuple[TaskHeader, ...]
    model: Mapping[str, Any]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    label: str = ""  # the run's name in tables and plots; "" for the model's name

    @property
    def name(self) -> str:
        """Return the run's name in tables and plots."""
        return self.label or str(self.model.get("name", "?"))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return warnings about the scores, one line each."""
        notes = self.model.get("notes")
        return tuple(map(str, notes)) if isinstance(notes, list | tuple) else ()

    def task(self, name: str) -> TaskHeader:
        """Return one task's header. Raises NotFoundError."""
        for task in self.tasks:
            if task.name == name:
                return task
        names = ", ".join(task.name for task in self.tasks)
        raise NotFoundError(f"the run {self.name} has no task {name!r}: it has {names}")


@dataclass(frozen=True, slots=True)
class Record:
    """One item's outcome.

    An error has no scores, counts 0 in every mean, and has its cause in `error`.
    `status` is "ok" when the task's first metric is 1 (0.5 or more for graded ones), else "wrong".
    `key` hashes all that the response depends on. `usage` holds prompt_tokens, completion_tokens
    and cached_tokens where the server reports them.
    """

    task: str
    id: str
    key: str
    status: Status
    prediction: str = ""
    targets: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    group: str = ""
    cluster: str = ""
    question: str = ""
    prompt: str = ""
    output: str = ""
    finish: str = ""
    fallback: bool = False
    error: str = ""
    latency_s: float = 0.0
    first_token_s: float | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)

    def value(self, metric: str) -> float | None:
        """Return the item's value of a metric: 0.0 for an error, None where it is undefined."""
        return 0.0 if self.status == "error" else self.scores.get(metric)


@dataclass(frozen=True, slots=True)
class Run:
    """A header and each item's last record, in the order of the items' first records."""

    header: Header
    records: tuple[Record, ...]
    path: Path

    def of(self, task: str) -> tuple[Record, ...]:
        """Return one task's records."""
        return tuple(record for record in self.records if record.task == task)


def header_line(header: Header) -> str:
    """Write a header as one line, without the line end."""
    return _dumps({"type": "header", "format": FORMAT, **asdict(header)})


def record_line(record: Record) -> str:
    """Write a record as one line, without the line end; empty fields are left out."""
    values = {
        name: value for name, value in asdict(record).items() if value not in ("", (), {}, None)
    }
    return _dumps({"type": "item", **values})


def read_run(path: Path, *, texts: bool = True) -> Run:
    """Read a run. `texts=False` drops prompts, outputs and details, most of a file's size.

    Raises NotFoundError, and UsageError naming the file and the malformed line.
    """
    lines = read_lines(path)
    header = next(lines, None)
    if not isinstance(header, Header):
        raise UsageError(
            f"{path}:1: not a run: its first line is no header; make one with 'ragkit eval run'"
        )
    records: dict[tuple[str, str], Record] = {}
    for record in lines:
        assert isinstance(record, Record), "read_lines allows one header only"
        records[record.task, record.id] = record if texts else _drop_texts(record)
    return Run(header, tuple(records.values()), path)


def read_lines(path: Path) -> Iterator[Header | Record]:
    """Yield the header, then the records, in the file's order, without an incomplete line."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise NotFoundError(f"cannot read the run {path}: {error.strerror}") from error
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            yield _parse_line(line, f"{path}:{number}", first=number == 1)


def _parse_line(line: bytes, where: str, *, first: bool) -> Header | Record:
    try:
        values = strict_json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where}: not a line of JSON: {error}") from error
    kind = values.pop("type", None) if isinstance(values, dict) else None
    if kind != ("header" if first else "item"):
        expected = "a run's header" if first else "an item"
        raise UsageError(f"{where}: not {expected}: correct the line, or run again")
    try:
        return _make_header(values) if first else _make_record(values)
    except (TypeError, KeyError, ValueError) as error:
        raise UsageError(f"{where}: not a line of a run: {error}") from error


def _make_header(values: dict[str, Any]) -> Header:
    version = values.pop("format", None)
    if version != FORMAT:
        raise ValueError(f"format {version!r}; this program reads {FORMAT}")
    tasks = tuple(TaskHeader(**task) for task in values.pop("tasks"))
    return Header(tasks=tasks, **values)


def _make_record(values: dict[str, Any]) -> Record:
    values["targets"] = tuple(values.get("targets", ()))
    record = Record(**values)
    if record.status not in get_args(Status):
        raise ValueError(f"status {record.status!r} is none of {', '.join(get_args(Status))}")
    for metric, value in record.scores.items():
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"the score {metric} is {value!r}, no finite number")
    return record


def _drop_texts(record: Record) -> Record:
    from dataclasses import replace

    return replace(record, prompt="", output="", question="", detail={})


def _dumps(value: Mapping[str, Any] | Sequence[Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
