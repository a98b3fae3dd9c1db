"""The outer half of the sandbox: starts a program, limits its time and output, checks its nonce.

`inside.py` confines the process.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ragkit.errors import ModelError, UsageError
from ragkit_eval.sandbox.syscall_filter import filter_for

_INSIDE = Path(__file__).with_name("inside.py")
_NOT_CONFINED = 96  # exit status of inside.py when it cannot confine itself
_UNCONFINED_MESSAGE = "cannot run programs confined: "
_REASON_CHARS = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a program; arbitrary values above the needs of HumanEval's solutions.

    `processes` counts the program and its threads; `files_mb` bounds all that it writes.
    """

    cpu_s: int = 10
    wall_s: float = 20.0
    memory_mb: int = 512
    processes: int = 8
    open_files: int = 32
    files_mb: int = 16
    output_kb: int = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the tests ended and passed; if not, the reason in one line."""

    passed: bool
    reason: str = ""


@dataclass(frozen=True)
class Sandbox:
    """Runs Python programs with tests, in a new process group and working folder, with `python -I`.

    A confined program runs in its own namespaces: it has the standard library read-only and an
    empty folder, no other file, no network, no other process; it has no capability and, when the
    caller is root, a user of its own. System calls that Python does not need are refused: it can
    create no socket and no shared memory that outlives it, and start no program. `weak` leaves the
    limits, process group, empty folder, -I and, where the machine has one, the filter of system
    calls: such a program can read files.

    Success is a nonce that the trusted half reads from a pipe after the tests, and prints. This
    detects programs that fail, end early or claim to have passed; a program that knows this file
    and searches its own process for the pipe could still report a false result.
    """

    limits: Limits = Limits()
    weak: bool = False

    @classmethod
    def open(cls, *, weak: bool = False, limits: Limits | None = None) -> Sandbox:
        """Make a sandbox after testing it once.

        Raises UsageError where this machine cannot confine programs, unless `weak`.
        """
        sandbox = cls(limits or Limits(), weak)
        if not weak and (problem := _find_problem()):
            raise UsageError(
                f"this machine cannot confine programs ({problem}): run as root or allow user "
                "namespaces, or accept less with --weak-sandbox (weak_sandbox=True)"
            )
        return sandbox

    def run(self, program: str, *, tests: str, entry_point: str) -> Outcome:
        """Run a program, then its tests, then `check(entry_point)`.

        Raises ModelError when the sandbox cannot start.
        """
        nonce = secrets.token_hex(16)
        job = {
            "program": program,
            "tests": tests,
            "entry_point": entry_point,
            "weak": self.weak,
            "filter": self._filter().hex(),
            "user": 1_000_000 + secrets.randbelow(1_000_000_000),
            **asdict(self.limits),
        }
        with tempfile.TemporaryDirectory(prefix="ragkit-sandbox-") as folder:
            code, output, problem = self._run(job, nonce, folder)
        if code == _NOT_CONFINED and not self.weak:
            raise ModelError(_UNCONFINED_MESSAGE + _last_line(output))
        passed = not problem and code == 0 and output.endswith(nonce.encode() + b"\n")
        return Outcome(True) if passed else Outcome(False, problem or _find_reason(code, output))

    def _filter(self) -> bytes:
        try:
            return filter_for(platform.machine())
        except ModelError as error:
            if self.weak:
                return b""
            raise ModelError(f"{_UNCONFINED_MESSAGE}{error}") from error

    def _run(self, job: dict[str, object], nonce: str, folder: str) -> tuple[int, bytes, str]:
        """Run the process to its end; return its status, its output, and an exceeded limit."""
        read_end, write_end = os.pipe()
        try:
            os.write(write_end, nonce.encode())
            os.close(write_end)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_INSIDE), str(read_end)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={"LANG": "C.UTF-8"},
                pass_fds=(read_end,),
                start_new_session=True,
            )
        except OSError as error:
            raise ModelError(f"cannot start Python for a program: {error.strerror}") from error
        finally:
            os.close(read_end)
        try:
            output, problem = self._exchange(process, json.dumps(job).encode())
        finally:
            # The group first: its first process may have ended before the others.
            _kill_group(process.pid)
            code = process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        return code, output, problem

    def _exchange(self, process: subprocess.Popen[bytes], job: bytes) -> tuple[bytes, str]:
        """Send the job and read output until its end, the deadline or the limit."""
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = time.monotonic() + self.limits.wall_s
        try:
            process.stdin.write(job)
            process.stdin.close()
        except BrokenPipeError:
            process.stdin = None  # it ended before reading: its output has the reason
        output = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (remaining_s := deadline - time.monotonic()) > 0:
                if not selector.select(remaining_s):
                    continue
                piece = os.read(process.stdout.fileno(), 1 << 16)
                output += piece
                if len(output) > self.limits.output_kb << 10:
                    return output, f"more than {self.limits.output_kb} KB of output"
                if not piece:
                    return self._wait_for_end(process, output, deadline)
        return output, f"not done after {self.limits.wall_s:g} s"

    def _wait_for_end(
        self, process: subprocess.Popen[bytes], output: bytes, deadline: float
    ) -> tuple[bytes, str]:
        """Wait for a process that has closed its output, which may still be running."""
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return output, f"not done after {self.limits.wall_s:g} s"
        return output, ""


@cache
def _find_problem() -> str:
    """Test the sandbox once; return the problem, "" if there is none."""
    try:
        outcome = Sandbox().run("x = 1", tests="def check(x): assert x == 1", entry_point="x")
    except ModelError as error:
        return str(error).removeprefix(_UNCONFINED_MESSAGE)
    return outcome.reason


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _find_reason(code: int, output: bytes) -> str:
    if code in (0, 1):
        return _last_line(output) if code == 1 else "ended before its tests did"
    signalled = -code if code < 0 else code - 128
    if signalled in (signal.SIGXCPU, signal.SIGKILL):
        return "killed: the limit of CPU time or of memory"
    try:
        return f"ended by {signal.Signals(signalled).name}"
    except ValueError:
        return f"ended with status {code}"


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:_REASON_CHARS] if lines else "no reason given"
