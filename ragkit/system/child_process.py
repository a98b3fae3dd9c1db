"""Start and end child processes that answer over pipes, each in a session of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress


def start(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program with pipes to its input and from its output.

    A session of its own: Ctrl-C on the terminal is for the parent alone.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment,
    )


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it started, of which one could hold its pipe open."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill a process, wait until nothing of it is left, and close its pipes."""
    kill(child)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            # What was still to be written has nobody to read it.
            with suppress(BrokenPipeError, ConnectionResetError):
                pipe.close()
