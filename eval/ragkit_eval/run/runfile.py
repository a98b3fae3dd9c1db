"""The file of a run while it grows: one whole line per item, written at once.

It knows the file, who else writes it, and what of a killed run it holds; nothing of asking.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ragkit.closing import Closing
from ragkit.errors import BusyError, RagkitError, UsageError
from ragkit.private_files import private
from ragkit_eval.record import Header, Record, Status, header_line, read_lines, record_line

_BEGINNING = b'{"type":"header"'
_NOT_COMPARED = ("environment", "created", "label")  # a run may be ended on another day


class RunFile(Closing):
    """A run's file, open for writing. `finished` maps (task, id) to the key and status it holds."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.finished: dict[tuple[str, str], tuple[str, Status]] = {}
        self._file = file
        self._path = path

    @classmethod
    def open(cls, path: Path, header: Header, *, overwrite: bool = False) -> RunFile:
        """Begin a run, or go on with one that was begun alike; a torn last line is cut off.

        Raises UsageError for a file that holds something else, BusyError when another program is
        writing it.
        """
        try:
            file = open(path, "a+b", buffering=0, opener=private)  # noqa: SIM115  closed by close
        except OSError as error:
            raise UsageError(f"cannot write the run {path}: {error.strerror}") from error
        run = cls(file, path)
        try:
            if not path.is_file():
                raise UsageError(f"cannot write the run {path}: it is no ordinary file")
            run._lock()
            run._begin(header, overwrite=overwrite)
        except BaseException:
            file.close()
            raise
        return run

    def write(self, record: Record) -> None:
        """Append one line; it is the system's when this returns, whatever becomes of this program.

        Raises RagkitError when the disk is full.
        """
        self._append(record_line(record))

    def close(self) -> None:
        self._file.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BusyError(
                f"the run {self._path} is being written by another program: wait for it, or name"
                " another file"
            ) from error

    def _begin(self, header: Header, *, overwrite: bool) -> None:
        self._cut()  # which refuses what is no run: only a run may be overwritten
        if overwrite:
            self._file.truncate(0)
        if self._file.seek(0, os.SEEK_END) == 0:
            self._append(header_line(header))
            return
        lines = read_lines(self._path)
        before = next(lines)
        assert isinstance(before, Header), "read_lines gives the header first"
        self._compare(before, header)
        for record in lines:
            assert isinstance(record, Record), "read_lines allows one header only"
            self.finished[record.task, record.id] = (record.key, record.status)

    def _cut(self) -> None:
        """Cut a last line off that its writer did not finish, from a file that is a run's."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        beginning = self._file.read(len(_BEGINNING))
        if not _BEGINNING.startswith(beginning) or (size and not beginning):
            raise UsageError(f"{self._path} is there and is no run: name another file")
        self._file.truncate(_end_of_lines(self._file, size))

    def _compare(self, before: Header, header: Header) -> None:
        differing = list(_differences(before, header))
        if differing:
            more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
            raise UsageError(
                f"{self._path} holds another run: {'; '.join(differing[:3])}{more}."
                " Name another file, or --overwrite it"
            )

    def _append(self, line: str) -> None:
        # A model may say half a surrogate pair, which UTF-8 has no bytes for.
        rest = memoryview(line.encode("utf-8", "replace") + b"\n")
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise RagkitError(
                f"cannot write the run {self._path}: {error.strerror}. What is in it is kept: make"
                " room, and run the same again"
            ) from error


def _end_of_lines(file: IO[bytes], size: int) -> int:
    """Find where the last whole line ends, reading from the end."""
    end, step = size, 1 << 16
    while end > 0:
        start = max(0, end - step)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _differences(before: Header, now: Header) -> Iterator[str]:
    """Name what differs between two headers, with both values."""
    old, new = _flat(before), _flat(now)
    names = ["tasks"] if old["tasks"] != new["tasks"] else sorted(old.keys() | new.keys())
    for name in names:
        if old.get(name) != new.get(name):
            yield f"{name} was {_short(old.get(name))} and is {_short(new.get(name))}"


def _flat(header: Header) -> dict[str, Any]:
    """Give a header's values names that a person knows."""
    values = json.loads(header_line(header))
    for name in (*_NOT_COMPARED, "type", "format"):
        values.pop(name, None)
    tasks = values.pop("tasks")
    flat: dict[str, Any] = {"tasks": [task["name"] for task in tasks]}
    for task in tasks:
        flat |= {f"{task['name']}'s {name}": value for name, value in task.items()}
    for task, sampling in values["sampling"].pop("tasks", {}).items():
        flat[f"{task}'s sampling"] = sampling
    for part, members in values.items():
        flat |= {f"{part} {name}": value for name, value in members.items()}
    return flat


def _short(value: object) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
