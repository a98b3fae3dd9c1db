"""A worker's job: its file, its rows, its log, and how it ends.

The file is JSON that ragkit writes (`ragkit_tune.run.start`). Unknown keys are refused, and rows
that are not those that the job's hash was taken of.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from time import monotonic
from typing import Any

WRONG_JOB = 2  # exit codes
STOPPED = 1
RECIPE_KEYS = frozenset(
    """
    kind base data loss method matryoshka teacher parameters bits rank alpha precision batch
    micro_batch negatives max_tokens epochs steps minutes learning_rate warmup schedule weight_decay
    clip optimizer checkpointing evaluate_every save_every patience scale seed gpus sharding
    """.split()
)


class StopError(Exception):
    """The run cannot go on: what is wrong, and what to do; one line."""


class JobError(Exception):
    """The job itself is wrong: nothing was begun."""


@dataclass(frozen=True)
class Job:
    """What a worker does. `resume` is a checkpoint's folder, "" to begin."""

    kind: str
    base: str
    train: str
    dev: str
    model: str
    checkpoints: str
    log: str
    recipe: Mapping[str, Any]
    recipe_hash: str
    data_hash: str
    train_hash: str
    dev_hash: str
    prefixes: Mapping[str, str]
    teacher: str = ""
    resume: str = ""
    extra: Mapping[str, Any] | None = None

    def setting(self, name: str) -> Any:
        """Return a value of the recipe. Raises JobError when it is missing."""
        if name not in self.recipe:
            raise JobError(f"the recipe lacks {name}: start the run anew with this ragkit")
        return self.recipe[name]


def read_job(path: Path) -> Job:
    """Read a job file. Raises JobError for unknown or missing keys."""
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise JobError(f"{path} cannot be read: {error}") from error
    names = {field.name for field in fields(Job)}
    if unknown := sorted(set(values) - names):
        raise JobError(f"{path}: unknown key {unknown[0]!r}: start the run anew with this ragkit")
    if unknown := sorted(set(values.get("recipe") or ()) - RECIPE_KEYS):
        raise JobError(f"{path}: unknown key {unknown[0]!r} in the recipe: use this ragkit's keys")
    try:
        return Job(**values)
    except TypeError as error:
        raise JobError(f"{path}: {error}: start the run anew with this ragkit") from error


def read_rows(path: str, expected_hash: str) -> list[dict[str, Any]]:
    """Read JSON lines whose hash is known. Raises StopError for other bytes, and for no rows."""
    content = Path(path).read_bytes()
    if hashlib.sha256(content).hexdigest() != expected_hash:
        raise StopError(
            f"{path} changed since the run was planned: restore it, or start a new run with it"
        )
    rows = [json.loads(line) for line in content.decode("utf-8").split("\n") if line.strip()]
    if not rows:
        raise StopError(f"{path} has no rows: make it with `ragkit tune data`")
    return rows


def read_both(job: Job) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read the rows of train and dev. Raises StopError as `read_rows` does."""
    return read_rows(job.train, job.train_hash), read_rows(job.dev, job.dev_hash)


class Log:
    """Writes steps.jsonl and tells progress on standard output."""

    def __init__(self, path: str, *, from_step: int = 0, is_writer: bool = True) -> None:
        self._path = Path(path)
        self._is_writer = is_writer
        self.seconds_before = 0.0
        self.cut(from_step)
        self._started = monotonic()

    @property
    def seconds(self) -> float:
        """Return the seconds that the run has taken, those before a resume included."""
        return self.seconds_before + monotonic() - self._started

    def write(self, **values: Any) -> None:
        """Append a line. Raises StopError when the disk is full."""
        if not self._is_writer:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(values, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StopError(
                f"{self._path} cannot be written ({error.strerror}): make room, then resume"
            ) from error

    def tell(self, line: str) -> None:
        """Print a line of progress."""
        if self._is_writer:
            print(line, flush=True)  # noqa: T201  the protocol of a worker

    def note(self, event: str, step: int = 0) -> None:
        """Append an event and print it."""
        self.write(step=step, event=event)
        self.tell(f"stage: {event}")

    def cut(self, step: int) -> None:
        """Drop the lines after a step: a run that is resumed writes them again."""
        if not self._is_writer:
            return
        if not self._path.exists():
            descriptor = os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600)
            os.close(descriptor)
            return
        kept = []
        for line in self._path.read_text("utf-8").split("\n"):
            try:
                values = json.loads(line)
            except ValueError:  # half a line of a run that was killed
                continue
            if values.get("step", 0) <= step:
                kept.append(line + "\n")
                self.seconds_before = values.get("seconds", self.seconds_before)
        temporary = self._path.with_suffix(".cut")
        descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("".join(kept))
        temporary.replace(self._path)


def main(train: Callable[[Job], None]) -> int:
    """Run a worker on the job file that its command line names; return the exit code."""
    try:
        train(read_job(Path(sys.argv[1])))
    except JobError as error:
        return _stopped(str(error), WRONG_JOB)
    except StopError as error:
        return _stopped(str(error), STOPPED)
    except OSError as error:
        if error.errno is None:
            raise
        where = error.filename or "a file"
        reason = f"{where} cannot be written or read ({error.strerror}): mend it, then resume"
        return _stopped(reason, STOPPED)
    return 0


def _stopped(reason: str, code: int) -> int:
    sys.stdout.write(f"stopped: {reason}\n")
    sys.stdout.flush()
    return code
