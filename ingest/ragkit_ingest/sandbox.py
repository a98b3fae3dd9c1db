"""A pool of parser processes with limits on memory, CPU and wall time.

A file that crashes, hangs or bloats its parser costs that file and that process. What comes back is
JSON, checked before use: a process that parsed a hostile file is not to be believed. It knows
nothing of formats.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import IO, Any, Generic, TypeVar

from ragkit.closing import Closing
from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.answers import MAX_SAID_BYTES, members, most_bytes, parsed_text, sizes
from ragkit_ingest.parse.options import TEXT_CHARS, ParseOptions
from ragkit_ingest.parse_worker import FRAME
from ragkit_ingest.spool import Part, Spool

# -P: the working folder may hold anything, and is no place to import from.
COMMAND = (sys.executable, "-P", "-m", "ragkit_ingest.parse_worker")
_FILES_PER_PROCESS = 200  # arbitrary: often enough that no leak in a C library adds up
_MAX_REASON_CHARS = 500
_REMEDY = "save the file anew with another program"  # such files are damaged, or hostile
_ENDING_S = 2.0  # arbitrary: who closes his pipe because he ends has ended by then

T = TypeVar("T")


@dataclass(frozen=True)
class ParseLimits:
    """What one file may use; `unzipped_mb` is what a zip-based file may unpack to, `text_chars` how
    long the text of any file may be.

    They take the place of what a file's own options say. The values are arbitrary, far above what
    ordinary files need.
    """

    memory_mb: int = 1536
    cpu_s: int = 60
    wall_s: float = 120
    unzipped_mb: int = 256
    file_mb: int = 512
    text_chars: int = TEXT_CHARS


@dataclass(frozen=True, slots=True)
class _Expected(Generic[T]):
    """What is made of an answer: `read` takes its JSON, and its parts as `take` took each of them
    from the pipe; `max_bytes` bounds these.
    """

    read: Callable[[Mapping[str, Any], Sequence[Any]], T]
    take: Callable[[IO[bytes], int], Any]
    max_bytes: int


class ParserPool(Closing):
    """Parser processes, one per worker, started when first needed and ended by `close`.

    Used as a context manager. `command` is the program to run, which gets the limits as arguments.
    """

    def __init__(
        self, workers: int, limits: ParseLimits | None = None, *, command: Sequence[str] = COMMAND
    ) -> None:
        self.workers = workers
        self._limits = limits or ParseLimits()
        self._command = command
        self._local = threading.local()
        self._lock = threading.Lock()
        self._running: set[_Process] = set()
        self._closed = False
        # A process dies with the thread that started it (PR_SET_PDEATHSIG), so each has its own.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="ragkit-parse")

    def submit(
        self,
        data: bytes,
        suffix: str,
        options: ParseOptions | None = None,
        *,
        on_start: Callable[[], None] = lambda: None,
    ) -> Future[ParsedText]:
        """Parse a file's bytes in one of the processes; `on_start` is called when its turn comes.

        The future's exception is IngestError("parse", reason).
        """
        expected = _Expected(parsed_text, _whole, most_bytes(self._limits.text_chars))
        return self._threads.submit(self._ask, expected, data, suffix, options, on_start=on_start)

    def members(
        self, data: bytes, suffix: str, options: ParseOptions | None = None
    ) -> Future[list[tuple[str, Part]]]:
        """Unpack a container's bytes in one of the processes: names and contents of its files.

        The future's exception is IngestError("parse", reason).
        """
        expected = _Expected(members, Spool().take, self._limits.memory_mb << 20)
        return self._threads.submit(self._ask, expected, data, suffix, options, members=True)

    def close(self) -> None:
        """End all processes now, files being parsed included, and wait until they are gone."""
        with self._lock:
            self._closed = True
            for process in self._running:
                process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            running, self._running = self._running, set()
        for process in running:
            process.end()

    def _ask(
        self,
        expected: _Expected[T],
        data: bytes,
        suffix: str,
        options: ParseOptions | None,
        *,
        members: bool = False,
        on_start: Callable[[], None] = lambda: None,
    ) -> T:
        on_start()
        if len(data) > self._limits.file_mb << 20:
            raise IngestError(
                "parse", f"larger than the limit of {self._limits.file_mb} MB (RAGKIT_MAX_FILE_MB)"
            )
        options = replace(
            options or ParseOptions(),
            unzipped_bytes=self._limits.unzipped_mb << 20,
            text_chars=self._limits.text_chars,
        )
        asked = {"suffix": suffix, "options": options.as_json(), "members": members}
        process = self._process()
        try:
            return process.ask(asked, data, expected)
        finally:
            if not process.is_usable:
                self._drop(process)

    def _process(self) -> _Process:
        """Take this thread's process, or start one."""
        process: _Process | None = getattr(self._local, "process", None)
        if process is None:
            with self._lock:
                if self._closed:
                    raise IngestError("parse", "interrupted: the parsers were closed")
                process = _Process(self._command, self._limits)
                self._running.add(process)
            self._local.process = process
        return process

    def _drop(self, process: _Process) -> None:
        self._local.process = None
        process.end()
        with self._lock:
            self._running.discard(process)


class _Process:
    """One parser process, used by one thread at a time."""

    def __init__(self, command: Sequence[str], limits: ParseLimits) -> None:
        self._limits = limits
        self._left = _FILES_PER_PROCESS
        self._timed_out = False
        self._killed = False
        # A session of its own: Ctrl-C on the terminal is for the parent alone.
        self._child = subprocess.Popen(
            [*command, str(limits.memory_mb), str(limits.cpu_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def is_usable(self) -> bool:
        """Say whether the process can take another file."""
        return self._left > 0

    def ask(self, asked: dict[str, Any], data: bytes, expected: _Expected[T]) -> T:
        """Send a file and read the answer. Raises IngestError when there is none of use."""
        left, self._left = self._left - 1, 0  # none, unless its answer is taken whole
        timer = threading.Timer(self._limits.wall_s, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            fields, parts = self._exchange(json.dumps(asked).encode(), data, expected)
            if "error" not in fields:
                answer = expected.read(fields, parts)
                self._left = left
                return answer
            reason = str(fields.get("reason", ""))[:_MAX_REASON_CHARS]
            out_of_memory = fields["error"] == "memory"
        except EOFError:
            raise IngestError("parse", self._obituary()) from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise IngestError("parse", f"parser sent a malformed answer: {_REMEDY}") from error
        finally:
            timer.cancel()
        if out_of_memory:
            reason = (
                f"parser ran out of memory (RAGKIT_PARSE_MEMORY_MB, {self._limits.memory_mb} MB)"
            )
        else:
            self._left = left
        raise IngestError("parse", reason)

    def kill(self) -> None:
        """Kill the process because it is no longer wanted."""
        self._killed = True
        self._kill()

    def end(self) -> None:
        """Kill the process and wait until nothing of it is left."""
        self._kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                _close(pipe)

    def _exchange(
        self, asked: bytes, data: bytes, expected: _Expected[T]
    ) -> tuple[dict[str, Any], list[Any]]:
        """Exchange one request for one answer. Raises EOFError when the process ended instead, and
        ValueError or TypeError for an answer that cannot be one.
        """
        requests, answers = self._child.stdin, self._child.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(FRAME.pack(len(asked), len(data)) + asked)
            requests.write(data)
            requests.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it may have said why before it ended
        said_bytes, parts_bytes = FRAME.unpack(_whole(answers, FRAME.size))
        if said_bytes > MAX_SAID_BYTES or parts_bytes > expected.max_bytes:
            raise ValueError("an answer larger than any honest one")
        fields = json.loads(_whole(answers, said_bytes))
        return fields, [expected.take(answers, size) for size in sizes(fields, parts_bytes)]

    def _time_out(self) -> None:
        self._timed_out = True
        self._kill()

    def _kill(self) -> None:
        """Kill the process and those that it started, of which one could hold its pipe open."""
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)

    def _obituary(self) -> str:
        """Say how the process came to its end."""
        if self._timed_out:
            return f"parser took longer than {self._limits.wall_s:g} s (RAGKIT_PARSE_WALL_S)"
        if self._killed:
            return "interrupted: the parsers were closed"
        try:
            code = self._child.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            return f"parser closed its end of the pipe without an answer: {_REMEDY}"
        if code == -signal.SIGXCPU:
            return f"parser used more than {self._limits.cpu_s} s of CPU time (RAGKIT_PARSE_CPU_S)"
        if code < 0:
            return f"parser crashed (signal {-code}): {_REMEDY}"
        return f"parser ended without an answer (exit code {code}): {_REMEDY}"


def _whole(answers: IO[bytes], size: int) -> bytes:
    """Read so many bytes. Raises EOFError where there are fewer."""
    read = answers.read(size)
    if len(read) < size:
        raise EOFError
    return read


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except (BrokenPipeError, ConnectionResetError):
        return  # what was still to be written had nobody left to read it
