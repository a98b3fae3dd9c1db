"""A pool of parser processes with limits on memory, CPU and wall time.

A file that crashes, hangs or bloats its parser costs that file and that process. What comes back is
JSON, checked before use: a process that parsed a hostile file is not to be believed. It knows
nothing of formats.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import IO, Any, TypeVar, get_args

from ragkit.closing import Closing
from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit.types import Block, BlockKind, Page, ParsedText
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse_worker import FRAME

# -P: the working folder may hold anything, and is no place to import from.
COMMAND = (sys.executable, "-P", "-m", "ragkit_ingest.parse_worker")
_FILES_PER_PROCESS = 200  # arbitrary: often enough that no leak in a C library adds up
_MAX_REASON_CHARS = 500
_KINDS = frozenset(get_args(BlockKind))

T = TypeVar("T")


@dataclass(frozen=True)
class ParseLimits:
    """What one file may use; `unzipped_mb` is what a zip-based file may unpack to.

    It takes the place of what a file's own options say. The values are arbitrary, far above what
    ordinary files need.
    """

    memory_mb: int = 1536
    cpu_s: int = 60
    wall_s: float = 120
    unzipped_mb: int = 256
    file_mb: int = 512


class ParserPool(Closing):
    """Parser processes, one per worker, started when first needed and ended by `close`.

    Used as a context manager. `command` is the program to run, which gets the limits as arguments.
    """

    def __init__(
        self, workers: int, limits: ParseLimits | None = None, *, command: Sequence[str] = COMMAND
    ) -> None:
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
        return self._threads.submit(
            self._ask, _parsed, data, suffix, options, members=False, on_start=on_start
        )

    def members(
        self, data: bytes, suffix: str, options: ParseOptions | None = None
    ) -> Future[list[tuple[str, bytes]]]:
        """Unpack a container's bytes in one of the processes: names and contents of its files.

        The future's exception is IngestError("parse", reason).
        """
        return self._threads.submit(self._ask, _members, data, suffix, options, members=True)

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
        read: Callable[[dict[str, Any], bytes], T],
        data: bytes,
        suffix: str,
        options: ParseOptions | None,
        *,
        members: bool,
        on_start: Callable[[], None] = lambda: None,
    ) -> T:
        on_start()
        if len(data) > self._limits.file_mb << 20:
            raise IngestError("parse", f"larger than the limit of {self._limits.file_mb} MB")
        options = replace(options or ParseOptions(), unzipped_bytes=self._limits.unzipped_mb << 20)
        asked = {"suffix": suffix, "options": options.as_json(), "members": members}
        process = self._process()
        try:
            return process.ask(asked, data, read)
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

    def ask(
        self, asked: dict[str, Any], data: bytes, read: Callable[[dict[str, Any], bytes], T]
    ) -> T:
        """Send a file and read the answer. Raises IngestError when there is none of use."""
        self._left -= 1
        timer = threading.Timer(self._limits.wall_s, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            answer = self._exchange(json.dumps(asked).encode(), data)
        finally:
            timer.cancel()
        if answer is None:
            self._left = 0
            raise IngestError("parse", self._obituary())
        return self._read(*answer, read)

    def kill(self) -> None:
        """Kill the process because it is no longer wanted."""
        self._killed = True
        self._child.kill()

    def end(self) -> None:
        """Kill the process and wait until nothing of it is left."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                _close(pipe)

    def _exchange(self, asked: bytes, data: bytes) -> tuple[bytes, bytes] | None:
        """Exchange one request for one answer; None when the process ended instead."""
        requests, answers = self._child.stdin, self._child.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(FRAME.pack(len(asked), len(data)) + asked)
            requests.write(data)
            requests.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it may have said why before it ended
        head = answers.read(FRAME.size)
        if len(head) < FRAME.size:
            return None
        sizes = FRAME.unpack(head)
        if max(sizes) > self._limits.memory_mb << 20:
            return b"", b""  # no honest answer is larger than the process could be
        said, files = (answers.read(size) for size in sizes)
        return (said, files) if (len(said), len(files)) == sizes else None

    def _read(self, said: bytes, files: bytes, read: Callable[[dict[str, Any], bytes], T]) -> T:
        """Check an answer and make a value of it."""
        try:
            fields = json.loads(said)
            if "error" not in fields:
                return read(fields, files)
            reason = str(fields.get("reason", ""))[:_MAX_REASON_CHARS]
            out_of_memory = fields["error"] == "memory"
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            self._left = 0
            raise IngestError("parse", "parser sent a malformed answer") from error
        if out_of_memory:
            self._left = 0
            reason = f"parser ran out of memory (limit {self._limits.memory_mb} MB)"
        raise IngestError("parse", reason)

    def _time_out(self) -> None:
        self._timed_out = True
        self._child.kill()

    def _obituary(self) -> str:
        """Say how the process came to its end."""
        if self._timed_out:
            return f"parser took longer than {self._limits.wall_s:g} s"
        if self._killed:
            return "interrupted: the parsers were closed"
        code = self._child.wait()
        if code == -signal.SIGXCPU:
            return f"parser used more than {self._limits.cpu_s} s of CPU time"
        if code < 0:
            return f"parser crashed (signal {-code})"
        return f"parser ended without an answer (exit code {code})"


def _members(fields: dict[str, Any], files: bytes) -> list[tuple[str, bytes]]:
    """Make files of an answer. Raises ValueError or TypeError where it makes no sense."""
    found: list[tuple[str, bytes]] = []
    done = 0
    for name, size in fields["members"]:
        found.append((clean(str(name)), files[done : done + _whole(size)]))
        done += size
        if size < 0 or done > len(files):
            raise ValueError(f"member {name!r} is out of place")
    return found


def _parsed(fields: dict[str, Any], files: bytes) -> ParsedText:
    """Make a ParsedText of an answer. Raises ValueError or TypeError where it makes no sense."""
    text, title = fields["text"], fields["title"]
    if not isinstance(text, str) or not isinstance(title, str) or clean(text) != text:
        raise TypeError("text and title must be clean strings")
    blocks = tuple(
        Block(_whole(start), _whole(end), kind, _whole(level))
        for start, end, kind, level in fields["blocks"]
    )
    pages = tuple(
        Page(_whole(start), _whole(number), clean(str(label)))
        for start, number, label in fields["pages"]
    )
    done = 0
    for block in blocks:
        if not (done <= block.start <= block.end <= len(text) and block.kind in _KINDS):
            raise ValueError(f"{block} is out of place")
        done = block.end
    starts = [page.start for page in pages]
    if starts != sorted(starts) or (starts and not 0 <= starts[0] <= starts[-1] <= len(text)):
        raise ValueError("pages are out of place")
    metadata = {clean(str(key)): clean(str(value)) for key, value in fields["metadata"].items()}
    notes = {clean(str(kind)): _whole(count) for kind, count in fields["notes"].items()}
    return ParsedText(text, blocks, pages, clean(title), metadata, notes)


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except (BrokenPipeError, ConnectionResetError):
        return  # what was still to be written had nobody left to read it
