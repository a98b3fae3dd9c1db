"""Run a worker: a script on a job file, under a Python that may have other packages than this one.

The script imports nothing of ragkit. It answers by lines of output, by files, and by its exit code.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

from ragkit.errors import ModelError

_GUARD: Final = Path(__file__).with_name("worker_guard.py")
_ASK_S: Final = 60.0  # arbitrary: for an interpreter on a slow disk to start
_GRACE_S: Final = 10.0  # arbitrary: for an interrupted worker to end by itself
_LAST_LINES: Final = 30  # of the output, to find the reason of a failure in
# Tensors from 256 KiB on are given back to the system when they are freed. Otherwise glibc raises
# its threshold to 32 MiB and keeps the holes. Steps of an encoder of 384 x 6 take 4,200 MiB by this
# instead of 4,884, and 1,199 instead of 1,451, but 1.2 and 1.5 times as long, for pages are zeroed.
COMPACT: Final = {"MALLOC_MMAP_THRESHOLD_": str(1 << 18)}
_LINE_CHARS: Final = 1 << 16  # longer lines come in pieces; bounds memory


def find_interpreter(
    python: Path | None, packages: Sequence[str], *, option: str, install: str
) -> Path:
    """Find an interpreter that can import all of these packages; `python` None is this one.

    `option` is where the user names another interpreter, and `install` the command that installs
    the packages for this one; both are parts of the messages. Raises ModelError.
    """
    if python is None:
        missing = [name for name in packages if find_spec(name) is None]
        if missing:
            raise ModelError(
                f"{', '.join(missing)} cannot be imported: {install}, or make an environment of its"
                f" own (pip install {' '.join(packages)}) and name its Python with {option}"
            )
        return Path(sys.executable)
    code = (
        "import sys; from importlib.util import find_spec;"
        " sys.exit(any(find_spec(name) is None for name in sys.argv[1:]))"
    )
    try:
        command = [str(python), "-c", code, *packages]
        done = subprocess.run(
            command, cwd="/", stdin=subprocess.DEVNULL, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(
            f"{option} {python} cannot be run: name the Python of an environment that has"
            f" {', '.join(packages)}"
        ) from error
    if done.returncode:
        raise ModelError(
            f"{option} {python} cannot import {', '.join(packages)}: pip install"
            f" {' '.join(packages)} in that environment"
        )
    return python


def run_worker(
    python: Path,
    script: Path,
    job: Path,
    on_line: Callable[[str], None],
    *,
    launcher: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    on_start: Callable[[int], None] | None = None,
) -> str:
    """Run `python [launcher] script job` to its end; return "", or why it failed.

    `on_line` is called with each line of output and error output, without its line end; carriage
    returns end lines too, so that progress bars come as they move. `launcher` stands for a program
    that starts the script, as in `-m accelerate.commands.launch`. `environment` is added to this
    process's. `on_start` is called with the process id, which is also that of the process group.

    The whole group is ended when the worker ends, when `on_line` raises, when this process is
    interrupted, and when it is killed. It gets SIGTERM, and SIGKILL after ten seconds.
    """
    with subprocess.Popen(
        [str(python), *launcher, str(script), str(job)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={
            **os.environ,
            "TOKENIZERS_PARALLELISM": "false",
            **(environment or {}),
        },
        start_new_session=True,  # a group of its own: Ctrl-C is handled here
    ) as worker:
        try:
            with _guard(worker.pid):
                if on_start is not None:
                    on_start(worker.pid)
                threading.Thread(target=_end_others, args=(worker.pid,), daemon=True).start()
                assert worker.stdout is not None
                last_lines = _follow(worker.stdout, on_line)
                code = worker.wait()
        except BaseException:
            _end(worker)
            raise
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return (_reason(last_lines) or f"exit code {code}") if code else ""


@contextmanager
def _guard(worker: int) -> Iterator[None]:
    """End the worker's group when this process ends without leaving the context."""
    reading, writing = os.pipe()
    try:
        command = [
            sys.executable,
            "-I",
            "-S",
            str(_GUARD),
            str(reading),
            str(worker),
            f"{_GRACE_S}",
        ]
        guard = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, pass_fds=[reading], start_new_session=True
        )
    finally:
        os.close(reading)
    try:
        yield
    finally:
        guard.kill()
        guard.wait()
        os.close(writing)


def _end_others(worker: int) -> None:
    """Kill what a worker started once it has ended: such a process could keep its output open."""
    with suppress(ChildProcessError):
        # The worker stays a zombie, so that its group's number is not another's.
        os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)
        _signal_group(worker, signal.SIGKILL)


def _end(worker: subprocess.Popen[str]) -> None:
    if worker.poll() is not None:
        return
    _signal_group(worker.pid, signal.SIGTERM)
    try:
        worker.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        _signal_group(worker.pid, signal.SIGKILL)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _follow(output: IO[str], on_line: Callable[[str], None]) -> deque[str]:
    last_lines: deque[str] = deque(maxlen=_LAST_LINES)
    while line := output.readline(_LINE_CHARS):
        text = line.rstrip("\n")
        last_lines.append(text)
        on_line(text)
    return last_lines


def _reason(lines: Iterable[str]) -> str:
    """Return the line of the exception at the end of an output, else the last line with text."""
    texts = [line.strip() for line in lines if line.strip()]
    raised = [line for line in texts if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return " ".join(next(reversed(raised or texts), "").split())[:300]
