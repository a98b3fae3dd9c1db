"""What a benchmark leaves behind: one JSON file with its settings, every request, and the sums.

The file describes itself; `read` refuses what is not such a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ragkit.errors import NotFoundError, UsageError
from ragkit_serve.model.bench.summary import Row, Summary

FORMAT: Final = "ragkit-model-bench"
VERSION: Final = 1

Engine = Literal["server", "transformers"]


@dataclass(frozen=True, slots=True)
class Level:
    """How the load comes: so many requests at once, or so many a second whatever is answered."""

    concurrency: Annotated[int, Field(ge=1)] | None = None
    rate_per_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    def __str__(self) -> str:
        return f"{self.concurrency}" if self.rate_per_s is None else f"{self.rate_per_s:g}/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One level of load: every request of it in the workload's order, and their summary.

    `cached_from` says who told `summary.cached_share`; `tokens_from` whether output tokens are the
    server's count or the number of streamed pieces. `client_cpu_share` near 1 means that the
    measuring process was itself the limit.
    """

    engine: Engine
    model: str
    level: Level
    summary: Summary
    rows: tuple[Row, ...]
    tokens_from: Literal["usage", "pieces", ""] = ""
    cached_from: Literal["usage", "metrics", ""] = ""
    client_cpu_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A whole benchmark."""

    format: Literal["ragkit-model-bench"]
    version: Literal[1]
    ragkit: str
    created: str
    machine: Mapping[str, Any]
    settings: Mapping[str, Any]
    workload: Mapping[str, Any]
    definitions: Mapping[str, str]
    runs: tuple[Run, ...]

    @property
    def workload_hash(self) -> str:
        return str(self.workload.get("hash"))


def as_json(record: Record, *, rows: bool = True) -> dict[str, Any]:
    """Write a record as JSON values, with or without each request."""
    value: dict[str, Any] = TypeAdapter(Record).dump_python(record, mode="json")
    if not rows:
        for run in value["runs"]:
            del run["rows"]
    return value


def check_writable(path: Path) -> None:
    """Raise UsageError before the work where its result could not be kept after it."""
    folder = path.absolute().parent
    if not folder.is_dir() or path.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{path} cannot be written: name a file in a folder that is there")


def write(record: Record, path: Path) -> None:
    """Write the file whole or not at all."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_bytes(TypeAdapter(Record).dump_json(record) + b"\n")
        new.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def read(path: Path) -> Record:
    """Read a file that `write` wrote. Raises NotFoundError, UsageError."""
    try:
        return TypeAdapter(Record).validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(
            f"{path} is no file of `ragkit model bench` version {VERSION} ({where}:"
            f" {first['msg']}): name one that --output wrote"
        ) from error
