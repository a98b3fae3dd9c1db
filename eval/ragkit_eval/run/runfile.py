"""Write a run's file while it grows: one line per item, written at once.

A lock keeps a second program from writing the same file.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ragkit.errors import BusyError, RagkitError, UsageError
from ragkit.system.closing import Closing
from ragkit.system.private_files import private
from ragkit_eval.run.record import Header, Record, Status, header_line, read_lines, record_line

_FIRST_BYTES = b'{"type":"header"'
_NOT_COMPARED = ("environment", "created", "label")  # a run may be continued on another day


class RunFile(Closing):
    """A run's file, open for writing. `finished` maps (task, id) to the stored key and status."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.finished: dict[tuple[str, str], tuple[str, Status]] = {}
        self._file = file
        self._path = path

    @classmethod
    def open(cls, path: Path, header: Header, *, overwrite: bool = False) -> RunFile:
        """Begin a run, or continue one with an equal header; an incomplete last line is cut off.

        Raises UsageError for a file that holds something else, BusyError when another program
        writes it.
        """
        try:
            file = open(path, "a+b", buffering=0, opener=private)  # noqa: SIM115  closed by close
        except OSError as error:
            raise UsageError(f"cannot write the run {path}: {error.strerror}") from error
        run = cls(file, path)
        try:
            if not path.is_file():
                raise UsageError(f"cannot write the run {path}: it is not a regular file")
            run._lock()
            run._write_or_check_header(header, overwrite=overwrite)
        except BaseException:
            file.close()
            raise
        return run

    def write(self, record: Record) -> None:
        """Append one line; the operating system has it when this returns.

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

    def _write_or_check_header(self, header: Header, *, overwrite: bool) -> None:
        # First, because it refuses files that are not runs, which `overwrite` must not replace.
        self._cut_incomplete_line()
        if overwrite:
            self._file.truncate(0)
        if self._file.seek(0, os.SEEK_END) == 0:
            self._append(header_line(header))
            return
        lines = read_lines(self._path)
        existing = next(lines)
        assert isinstance(existing, Header), "read_lines gives the header first"
        self._compare(existing, header)
        for record in lines:
            assert isinstance(record, Record), "read_lines allows one header only"
            self.finished[record.task, record.id] = (record.key, record.status)

    def _cut_incomplete_line(self) -> None:
        """Cut off a last line that a killed writer left. Raises UsageError for other files."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        beginning = self._file.read(len(_FIRST_BYTES))
        if not _FIRST_BYTES.startswith(beginning) or (size and not beginning):
            raise UsageError(f"{self._path} exists and is not a run: name another file")
        self._file.truncate(_end_of_lines(self._file, size))

    def _compare(self, existing: Header, header: Header) -> None:
        differing = list(_list_differences(existing, header))
        if differing:
            suffix = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
            raise UsageError(
                f"{self._path} holds another run: {'; '.join(differing[:3])}{suffix}."
                " Name another file, or --overwrite it"
            )

    def _append(self, line: str) -> None:
        # A model's output may hold half a surrogate pair, which UTF-8 cannot encode.
        remaining = memoryview(line.encode("utf-8", "replace") + b"\n")
        try:
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
        except OSError as error:
            raise RagkitError(
                f"cannot write the run {self._path}: {error.strerror}. Its items are kept: make"
                " room, and run the same command again"
            ) from error


def _end_of_lines(file: IO[bytes], size: int) -> int:
    """Find where the last complete line ends, reading from the end."""
    end, step = size, 1 << 16
    while end > 0:
        start = max(0, end - step)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _list_differences(existing: Header, current: Header) -> Iterator[str]:
    """Yield each difference between two headers, with both values."""
    stored, expected = _flatten(existing), _flatten(current)
    names = (
        ["tasks"]
        if stored["tasks"] != expected["tasks"]
        else sorted(stored.keys() | expected.keys())
    )
    for name in names:
        if stored.get(name) != expected.get(name):
            yield f"{name} was {_shorten(stored.get(name))} and is {_shorten(expected.get(name))}"


def _flatten(header: Header) -> dict[str, Any]:
    """Return a header's values by readable names."""
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


def _shorten(value: object) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
