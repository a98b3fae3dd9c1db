"""The child processes of `ragkit serve`: started, started again after a crash, and ended.

How they are is written to a file, from which the web processes know it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ragkit.system.private_files import private

LOOK_EVERY_S: Final = 0.1
LONGEST_PAUSE_S: Final = 240.0  # arbitrary: before a process that keeps failing is started again
SETTLED_S: Final = 30.0  # arbitrary: a process that lived so long had started well
MOST_FAILED_STARTS: Final = (
    3  # of a process that never lived so long: from then on it counts as down
)
END_S: Final = 2.5  # for a process that is told to end; a little more than it takes at most itself


@dataclass
class Process:
    """A child process, and how its starts went. `end_s` is how long it may take to end."""

    name: str
    command: Sequence[str]
    fds: tuple[int, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    end_s: float = END_S
    running: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    failures: int = 0  # starts in a row after which it ended soon
    again_at: float = 0.0

    @property
    def is_down(self) -> bool:
        """Tell whether it has failed too often in a row, and has not settled since."""
        return self.failures >= MOST_FAILED_STARTS

    def start(self) -> None:
        launcher = [sys.executable, "-P", "-m", "ragkit_serve.web.child", str(os.getpid())]
        self.began = time.monotonic()
        self.running = subprocess.Popen(
            [*launcher, *self.command],
            pass_fds=self.fds,
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the parent, which drains
            umask=0o077,  # uploads on their way in and figures are nobody else's to read
        )

    def look(self) -> None:
        """Start it again, after a pause, when it has ended; log what changes."""
        time_s = time.monotonic()
        if self.running is None:
            if time_s >= self.again_at:
                self.start()
        elif (code := self.running.poll()) is not None:
            self._ended(code, time_s)
        elif self.failures and time_s - self.began >= SETTLED_S:
            if self.is_down:
                _log(f"the {self.name} runs again")
            self.failures = 0

    def _ended(self, code: int, time_s: float) -> None:
        self.running = None
        self.failures = 1 if time_s - self.began >= SETTLED_S else self.failures + 1
        pause_s = min(LONGEST_PAUSE_S, 2.0 ** (self.failures - 1))
        self.again_at = time_s + pause_s
        how = f"the {self.name} ended (exit code {code})"
        if self.is_down:
            how += f", {self.failures} times soon after its start: the server goes on without it"
        _log(f"{how}; it is started again in {pause_s:g} s")


def end(processes: Sequence[Process], hurried: Callable[[], bool]) -> None:
    """Ask all to end, and kill what takes longer than it may; where `hurried`, all at once."""
    running = [(process.running, process.end_s) for process in processes if process.running]
    for child, _ in running:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    began = time.monotonic()
    while any(child.poll() is None for child, _ in running):
        for child, end_s in running:
            if child.poll() is None and (hurried() or time.monotonic() - began > end_s):
                child.kill()
        time.sleep(LOOK_EVERY_S)


class StatusFile:
    """Which processes are up, in a file that one process writes and others read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: Mapping[str, bool] | None = None

    def write(self, processes: Sequence[Process]) -> None:
        """Write how the processes are, if that has changed."""
        status = {process.name: not process.is_down for process in processes}
        if status != self._written:
            candidate = self.path.with_suffix(".new")
            with open(candidate, "w", encoding="utf-8", opener=private) as file:
                json.dump(status, file)
            candidate.replace(self.path)
            self._written = status

    def read(self) -> dict[str, bool]:
        """Map the processes' names to whether they are up; nothing where there is no file."""
        try:
            status: dict[str, bool] = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        return status


def _log(message: str) -> None:
    sys.stderr.write(f"ragkit: {message}\n")
