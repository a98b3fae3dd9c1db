"""A pool of processes that parse and split, with limits on memory, CPU and wall time.

A file that crashes, hangs or bloats its parser or splitter costs that file and that process. What
comes back is JSON, checked before use: a process that parsed a hostile file is not to be believed.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import IO, Any, Generic, TypeVar

from ragkit.errors import IngestError
from ragkit.system import child_process
from ragkit.system.closing import Closing
from ragkit.system.trimming import memory_bytes
from ragkit.types import ParsedText, Span
from ragkit_ingest.parse.options import TEXT_CHARS, ParseOptions
from ragkit_ingest.parser.split_wire import SplitRecipe, SplitText, request, served, split_text
from ragkit_ingest.parser.spool import Part, Spool
from ragkit_ingest.parser.wire import (
    MAX_SAID_BYTES,
    Answer,
    members,
    most_bytes,
    parsed_text,
    sizes,
)
from ragkit_ingest.parser.worker import FRAME
from ragkit_ingest.run.clock import Clock

# -P: the working folder may hold anything, and is no place to import from.
COMMAND = (sys.executable, "-P", "-m", "ragkit_ingest.parser.worker")
# A process that has grown by so much of its memory is ended, so that no leak in a C library adds
# up; so is one after so many files. To start one takes as long as to parse dozens of small files.
# Arbitrary: words that are remembered take half of it.
_GROWN_SHARE = 8
_FILES_PER_LOOK = 200
_FILES_PER_PROCESS = 1_000
_OPTIONS = 8  # kept, one for each collection; arbitrary
_SPLIT_SHARE = 4  # chunks overlap, and with a text's words and tokens are larger than the text
_MAX_REASON_CHARS = 500
_REMEDY = "save the file anew with another program"  # such files are damaged, or hostile
_CLOSED = "interrupted: the parsers were closed"
_ENDING_S = 2.0  # arbitrary: who closes his pipe because he ends has ended by then

_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)

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
    from the pipe; `max_bytes` bounds these. `stage` and `who` are named where there is none;
    `serve` answers what the process asks before it is done.
    """

    read: Callable[[Mapping[str, Any], Sequence[Any]], T]
    take: Callable[[IO[bytes], int], Any]
    max_bytes: int
    stage: str = "parse"
    who: str = "parser"
    serve: Callable[[Mapping[str, Any], Sequence[Any]], Answer] | None = None


class ParserPool(Closing):
    """Parser processes, one per worker, started when first needed and ended by `close` or `rest`.

    Used as a context manager. `command` is the program to run, which gets the limits as arguments.
    """

    def __init__(
        self,
        workers: int,
        limits: ParseLimits | None = None,
        *,
        command: Sequence[str] | None = None,
    ) -> None:
        self.workers = workers
        self.limits = limits or ParseLimits()
        self._command = command or COMMAND
        self._local = threading.local()
        self._lock = threading.Lock()
        self._running: set[_Process] = set()
        self._closed = False
        self._limited_options = lru_cache(_OPTIONS)(self._limit_options)
        # A process dies with the thread that started it (PR_SET_PDEATHSIG), so each has its own.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="ragkit-parse")

    def start(self) -> None:
        """Start a process now, so that the first file need not wait for it."""
        self._threads.submit(self._start)

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
        expected = _Expected(parsed_text, _read_exactly, most_bytes(self.limits.text_chars))
        return self._threads.submit(self._ask, expected, data, suffix, options, on_start=on_start)

    def members(
        self, data: bytes, suffix: str, options: ParseOptions | None = None
    ) -> Future[list[tuple[str, Part]]]:
        """Unpack a container's bytes in one of the processes: names and contents of its files.

        The future's exception is IngestError("parse", reason).
        """
        expected = _Expected(members, Spool().take, self.limits.memory_mb << 20)
        return self._threads.submit(self._ask, expected, data, suffix, options, members=True)

    def split(
        self, parsed: ParsedText, spans: Sequence[Span] | None, recipe: SplitRecipe
    ) -> Future[SplitText]:
        """Split a text in one of the processes; `spans` are the embedder's tokens of all of it.

        None where the process makes them itself: see `SplitRecipe.does_tokenise`. The time that it
        waits for the embedder is no part of its limits. The future's exception is
        IngestError("chunk", reason), or what the embedder raised.
        """
        chars = len(parsed.text)
        expected = _Expected(
            lambda fields, parts: split_text(fields, parts, chars, recipe),
            *(_read_exactly, _SPLIT_SHARE * most_bytes(self.limits.text_chars)),
            *("chunk", "splitter"),
            partial(served, recipe.embedder),
        )
        try:
            return self._threads.submit(self._split, expected, parsed, spans, recipe)
        except RuntimeError:  # the threads take nothing any more
            raise IngestError("chunk", _CLOSED) from None

    def rest(self) -> None:
        """End the processes that have nothing to do; others are started when there is more."""
        with self._lock:
            idle = {process for process in self._running if not process.is_busy}
            self._running -= idle
        for process in idle:
            process.end()

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
        if len(data) > self.limits.file_mb << 20:
            raise IngestError(
                "parse", f"larger than the limit of {self.limits.file_mb} MB (RAGKIT_MAX_FILE_MB)"
            )
        limited = self._limited_options(options or ParseOptions())
        request = {"suffix": suffix, "options": limited, "members": members}
        return self._exchanged(request, [data], expected)

    def _limit_options(self, options: ParseOptions) -> dict[str, Any]:
        """Put options into words that JSON has, under the pool's own limits."""
        limited = replace(
            options,
            unzipped_bytes=self.limits.unzipped_mb << 20,
            text_chars=self.limits.text_chars,
        )
        return limited.as_json()

    def _split(
        self,
        expected: _Expected[T],
        parsed: ParsedText,
        spans: Sequence[Span] | None,
        recipe: SplitRecipe,
    ) -> T:
        fields, parts = request(parsed, spans)
        recipe_json = recipe.as_json(tokenises=spans is None)
        message = {**fields, "parts": list(map(len, parts)), "recipe": recipe_json}
        return self._exchanged(message, parts, expected)

    def _exchanged(
        self, request: dict[str, Any], parts: Sequence[bytes], expected: _Expected[T]
    ) -> T:
        process = self._process()
        try:
            return process.ask(request, parts, expected)
        finally:
            process.is_busy = False
            if not process.is_usable:
                self._drop(process)

    def _process(self) -> _Process:
        """Take this thread's process, or start one; it is busy from then on."""
        process: _Process | None = getattr(self._local, "process", None)
        with self._lock:
            if process is None or process not in self._running:  # it was ended meanwhile
                if self._closed:
                    raise IngestError("parse", _CLOSED)
                process = _Process(self._command, self.limits)
                self._running.add(process)
                self._local.process = process
            process.is_busy = True
        return process

    def _start(self) -> None:
        self._process().is_busy = False

    def _drop(self, process: _Process) -> None:
        self._local.process = None
        process.end()
        with self._lock:
            self._running.discard(process)


class _Process:
    """One parser process, used by one thread at a time."""

    def __init__(self, command: Sequence[str], limits: ParseLimits) -> None:
        self.is_busy = False
        self._limits = limits
        self._left = _FILES_PER_PROCESS
        self._first_bytes = 0  # of memory, after the first file
        self._timed_out = False
        self._killed = False
        self._child = child_process.start([*command, str(limits.memory_mb), str(limits.cpu_s)])

    @property
    def is_usable(self) -> bool:
        """Say whether the process can take another file."""
        return self._left > 0

    def ask(self, request: dict[str, Any], sent: Sequence[bytes], expected: _Expected[T]) -> T:
        """Send a file or a text and read the answer. Raises IngestError when there is none of
        use.
        """
        remaining, self._left = self._left - 1, 0  # none, unless its answer is taken whole
        clock = Clock(self._limits.wall_s, self._time_out)
        try:
            fields, parts = self._exchange(json.dumps(request).encode(), sent, expected, clock)
            if "error" not in fields:
                answer = expected.read(fields, parts)
                self._left = self._left_of(remaining)
                return answer
            reason = str(fields.get("reason", ""))[:_MAX_REASON_CHARS]
            out_of_memory = fields["error"] == "memory"
        except EOFError:
            raise IngestError(expected.stage, self._obituary(expected.who)) from None
        except _MALFORMED as error:
            reason = f"{expected.who} sent a malformed answer: {_REMEDY}"
            raise IngestError(expected.stage, reason) from error
        finally:
            clock.stop()
        if out_of_memory:
            reason = (
                f"{expected.who} ran out of memory"
                f" (RAGKIT_PARSE_MEMORY_MB, {self._limits.memory_mb} MB)"
            )
        else:
            self._left = self._left_of(remaining)
        raise IngestError(expected.stage, reason)

    def kill(self) -> None:
        """Kill the process because it is no longer wanted."""
        self._killed = True
        child_process.kill(self._child)

    def end(self) -> None:
        """Kill the process and wait until nothing of it is left."""
        child_process.end(self._child)

    def _left_of(self, remaining: int) -> int:
        """Return how many of the remaining files the process may take: none once it has grown."""
        files = _FILES_PER_PROCESS - remaining
        if files == 1:
            self._first_bytes = memory_bytes(self._child.pid)
        elif files % _FILES_PER_LOOK == 0:
            grown = memory_bytes(self._child.pid) - self._first_bytes
            return 0 if grown > (self._limits.memory_mb << 20) // _GROWN_SHARE else remaining
        return remaining

    def _exchange(
        self, request: bytes, sent: Sequence[bytes], expected: _Expected[T], clock: Clock
    ) -> tuple[dict[str, Any], list[Any]]:
        """Exchange one request for one answer; serve what the process asks meanwhile.

        Raises EOFError when the process ended instead, and ValueError or TypeError for an answer
        that cannot be one.
        """
        self._send(request, sent)
        while True:
            fields, parts = self._receive(expected)
            if "call" not in fields or expected.serve is None:
                return fields, parts
            with clock.paused():
                reply, served_parts = expected.serve(fields, parts)
            reply["parts"] = list(map(len, served_parts))
            self._send(json.dumps(reply).encode(), served_parts)

    def _send(self, request: bytes, sent: Sequence[bytes]) -> None:
        requests = self._child.stdin
        assert requests is not None
        try:
            requests.write(FRAME.pack(len(request), sum(map(len, sent))) + request)
            for part in sent:
                requests.write(part)
            requests.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it may have said why before it ended

    def _receive(self, expected: _Expected[T]) -> tuple[dict[str, Any], list[Any]]:
        answers = self._child.stdout
        assert answers is not None
        answer_bytes, parts_bytes = FRAME.unpack(_read_exactly(answers, FRAME.size))
        if answer_bytes > MAX_SAID_BYTES or parts_bytes > expected.max_bytes:
            raise ValueError("an answer larger than any honest one")
        fields = json.loads(_read_exactly(answers, answer_bytes))
        return fields, [expected.take(answers, size) for size in sizes(fields, parts_bytes)]

    def _time_out(self) -> None:
        self._timed_out = True
        child_process.kill(self._child)

    def _obituary(self, who: str) -> str:
        """Say how the process came to its end; `who` names what it was doing."""
        if self._timed_out:
            return f"{who} took longer than {self._limits.wall_s:g} s (RAGKIT_PARSE_WALL_S)"
        if self._killed:
            return _CLOSED
        try:
            code = self._child.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            return f"{who} closed its end of the pipe without an answer: {_REMEDY}"
        if code == -signal.SIGXCPU:
            return f"{who} used more than {self._limits.cpu_s} s of CPU time (RAGKIT_PARSE_CPU_S)"
        if code < 0:
            return f"{who} crashed (signal {-code}): {_REMEDY}"
        return f"{who} ended without an answer (exit code {code}): {_REMEDY}"


def _read_exactly(answers: IO[bytes], size: int) -> bytes:
    """Read so many bytes. Raises EOFError where there are fewer."""
    read = answers.read(size)
    if len(read) < size:
        raise EOFError
    return read
