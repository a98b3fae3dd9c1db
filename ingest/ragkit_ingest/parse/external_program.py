"""Run a program of this machine that converts a file, without input, home or environment of ours.

It inherits the parser's limits on memory and processor time, and is killed with all that it
started once it is done or takes too long.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ragkit.errors import IngestError
from ragkit.system import child_process, limits


@contextmanager
def running(
    command: Sequence[str], folder: Path, *, output: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in a folder, and end everything that it started.

    `output` is what the program's output goes to, `subprocess.PIPE` or `DEVNULL`.
    """
    child = subprocess.Popen(
        command,
        cwd=folder,
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
        },
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=limits.die_with_parent,  # noqa: PLW1509  the parser has one thread
    )
    try:
        yield child
    finally:
        child_process.end(child)


def convert(
    command: Sequence[str], folder: Path, *, timeout_s: int, name: str, remedy: str
) -> None:
    """Run a program in a folder until it is done; what it has written there is the result.

    Raises IngestError with the program's `name` and the `remedy` when it takes longer.
    """
    with running(command, folder, output=subprocess.DEVNULL) as child:
        try:
            child.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            reason = f"{name} took longer than {timeout_s} s to read it: {remedy}"
            raise IngestError("parse", reason) from error
