"""A run's folder: HOME/tune/NAME with run.json, the job, the log, checkpoints and the model.

Folders are for their owner alone, because rows and models hold users' texts. A run is going on as
long as a process locks its folder: the kernel unlocks it when that process ends, however it ends.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

from ragkit.errors import BusyError, NotFoundError, UsageError
from ragkit.store.server.locks import FileLock
from ragkit.system.private_files import make_private, private

State = Literal["running", "finished", "failed", "stopped"]

FORMAT: Final = 1
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
CHECKPOINT: Final = re.compile(r"step-(\d{6,})")
INTERRUPTED: Final = "interrupted: the process that ran it is gone"
ROWS: Final = "data"  # beside the runs: the rows that `ragkit tune embedder` makes
_LOCK: Final = ".lock"
_LOOK_S: Final = 0.5  # arbitrary: longer than another process looks at the lock
_MAX_BYTES: Final = 16_000_000  # of run.json; arbitrary, bounds what a damaged file costs


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The places of a run's files."""

    path: Path

    @property
    def name(self) -> str:
        """Return the run's name."""
        return self.path.name

    @property
    def file(self) -> Path:
        """Return the place of run.json, the run's description."""
        return self.path / "run.json"

    @property
    def job(self) -> Path:
        """Return the place of what the worker is to do."""
        return self.path / "job.json"

    @property
    def steps(self) -> Path:
        """Return the place of the log of steps."""
        return self.path / "steps.jsonl"

    @property
    def output(self) -> Path:
        """Return the place of the worker's output."""
        return self.path / "worker.log"

    @property
    def checkpoints(self) -> Path:
        """Return the folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        """Return the folder of the result."""
        return self.path / "model"

    @property
    def stop_request(self) -> Path:
        """Return the file whose presence asks the process of the run to end it."""
        return self.path / "stop"

    def last_checkpoint(self) -> Path | None:
        """Return the newest whole checkpoint."""
        steps = {
            int(match[1]): path
            for path in (self.checkpoints.iterdir() if self.checkpoints.is_dir() else ())
            if (match := CHECKPOINT.fullmatch(path.name)) and (path / "checkpoint.json").is_file()
        }
        return steps[max(steps)] if steps else None

    def is_locked(self) -> bool:
        """Tell whether a process works on the run."""
        with FileLock(self.path / _LOCK) as lock:
            return not lock.try_exclude()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from working on the run. Raises BusyError when a process does."""
        with FileLock(self.path / _LOCK) as lock:
            # `is_locked`, as a list of runs asks, holds the lock for a moment.
            if not lock.try_exclude(timeout_s=_LOOK_S):
                raise BusyError(
                    f"run {self.name} is going on: wait for it, or end it with"
                    f" `ragkit tune runs stop {self.name}`"
                )
            yield

    def read(self) -> Run:
        """Read run.json. Raises UsageError when it is damaged.

        A run that is marked as running and that no process works on is read as stopped.
        """
        values = _read(self.file)
        if values["state"] == "running" and not self.is_locked():
            values |= {"state": "stopped", "failure": values.get("failure") or INTERRUPTED}
        return Run(self, values)

    def update(self, **changes: Any) -> Run:
        """Replace values of run.json, whole or not at all, and return the run."""
        values = {**_read(self.file), **changes}
        _write(self.file, values)
        return Run(self, values)


@dataclass(frozen=True, slots=True)
class Run:
    """A run as run.json describes it."""

    folder: RunFolder
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return the run's name."""
        return self.folder.name

    @property
    def kind(self) -> str:
        """Return what it trains: embedder, reranker, adapter or reward."""
        return str(self.values["kind"])

    @property
    def state(self) -> State:
        """Return whether it goes on, and how it ended."""
        state: State = self.values["state"]
        return state

    @property
    def failure(self) -> str:
        """Return why it failed or stopped; "" where it did not."""
        return str(self.values.get("failure") or "")

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Return the recipe's values."""
        recipe: Mapping[str, Any] = self.values["recipe"]
        return recipe


def runs_folder(home: Path) -> Path:
    """Return the folder of all runs below ragkit's home."""
    return home / "tune"


def create_run(home: Path, name: str, values: Mapping[str, Any]) -> RunFolder:
    """Make a run's folder with its run.json; "" as its name takes KIND-1, KIND-2 and so on.

    Raises UsageError for a name that is taken or is no name, and where no folder can be made.
    """
    parent = runs_folder(home)
    try:
        make_private(parent)
        path = _make_named(parent, name) if name else _make_numbered(parent, str(values["kind"]))
        make_private(path / "checkpoints")
    except OSError as error:
        raise UsageError(
            f"a run cannot be made in {parent} ({error.strerror}): make room there, or name"
            " another folder with RAGKIT_HOME"
        ) from error
    folder = RunFolder(path)
    first = {"format": FORMAT, "name": folder.name, "started_at": now(), "ended_at": None}
    unknown = {"steps": 0, "failure": "", "verdict": None, "adopted": None}
    _write(folder.file, {**first, **unknown, **values})
    return folder


def find_run(home: Path, name: str) -> RunFolder:
    """Return a run's folder. Raises NotFoundError naming the nearest run."""
    check_name(name)
    folder = RunFolder(runs_folder(home) / name)
    if not folder.file.is_file():
        names = sorted(file.parent.name for file in runs_folder(home).glob("*/run.json"))
        close = get_close_matches(name, names, n=1) or names[-1:]
        nearest = f": do you mean {close[0]}?" if close else ": there are no runs yet"
        raise NotFoundError(f"there is no run {name}{nearest}")
    return folder


def model_of_run(home: Path, name: str) -> str:
    """Return the folder of a run's model; what is no run's name is returned as it is.

    Raises UsageError for a run that is not finished.
    """
    if not NAME.fullmatch(name) or not RunFolder(runs_folder(home) / name).file.is_file():
        return name
    run = find_run(home, name).read()
    if run.state != "finished":
        raise UsageError(
            f"run {name} is not finished but {run.state}: continue it with"
            f" `ragkit tune runs resume {name}`"
        )
    return str(run.folder.model)


def list_runs(home: Path) -> list[RunFolder]:
    """Return all runs by the time of their making."""
    parent = runs_folder(home)
    files = parent.glob("*/run.json") if parent.is_dir() else ()
    folders = [RunFolder(file.parent) for file in files if NAME.fullmatch(file.parent.name)]
    return sorted(folders, key=lambda run: (str(run.read().values["started_at"]), run.path))


def delete_run(folder: RunFolder) -> None:
    """Remove a run with its checkpoints and its model.

    Raises BusyError when it goes on, UsageError when its model is in use or files stay.
    """
    run = folder.read()
    if run.values.get("adopted"):
        raise UsageError(
            f"the model of run {run.name} is adopted: first `ragkit tune adopt {run.name} --undo`"
        )
    with folder.locked():
        hidden = folder.path.with_name(f".{folder.name}.deleted")
        try:
            shutil.rmtree(hidden, ignore_errors=True)
            folder.path.rename(hidden)  # half a run is never listed
            shutil.rmtree(hidden)
        except OSError as error:
            raise UsageError(
                f"{error.filename or hidden} cannot be removed ({error.strerror}): remove it"
            ) from error


def check_name(name: str) -> None:
    """Raise UsageError unless a name is a run's."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} is no name of a run: use up to 64 letters, digits, dots, hyphens and"
            " underscores, a letter or digit first"
        )


def check_new_name(home: Path, name: str) -> None:
    """Raise UsageError unless a run can be made by this name; call it before the work.

    A run that failed or was stopped before its first checkpoint gives its name to another.
    """
    check_name(name)
    path = runs_folder(home) / name
    if RunFolder(path).file.exists():
        if _made_nothing(RunFolder(path)):
            return
        raise UsageError(
            f"there is a run {name} already: name another, or remove it with"
            f" `ragkit tune runs delete {name}`"
        )
    if name == ROWS or path.exists():
        raise UsageError(f"{path} holds other files of ragkit: name the run otherwise")


def now() -> str:
    """Return this moment as run.json has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_private(path: Path, text: str) -> None:
    """Write a file for its owner alone, whole or not at all. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "w", encoding="utf-8", opener=private) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _make_named(parent: Path, name: str) -> Path:
    path = parent / name
    check_new_name(parent.parent, name)
    if path.exists():
        delete_run(RunFolder(path))
    path.mkdir(mode=0o700)
    return path


def _made_nothing(folder: RunFolder) -> bool:
    """Tell whether a run is over and has neither a checkpoint nor a model."""
    run = folder.read()
    is_over = run.state in {"failed", "stopped"} and not run.values.get("adopted")
    return is_over and not folder.last_checkpoint() and not folder.model.exists()


def _make_numbered(parent: Path, kind: str) -> Path:
    numbers = [
        int(path.name.removeprefix(f"{kind}-"))
        for path in parent.glob(f"{kind}-*")
        if re.fullmatch(r"[0-9]{1,9}", path.name.removeprefix(f"{kind}-"))
    ]
    number = max(numbers, default=0) + 1
    while True:
        path = parent / f"{kind}-{number}"
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:  # another process was first
            number += 1
        else:
            return path


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            values = json.loads(file.read(_MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read ({error.strerror}): name a run that is there"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is damaged ({error}): remove its folder") from error
    if not isinstance(values, dict) or values.get("format") != FORMAT or "state" not in values:
        raise UsageError(f"{path} is no run of format {FORMAT}: remove its folder")
    return values


def _write(path: Path, values: Mapping[str, Any]) -> None:
    try:
        write_private(path, json.dumps(values, ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}): make room on its disk"
        ) from error
