"""One run at a time on a device: two would end each other by lack of memory.

The locks stand in the folder of the runs, so they bind all runs of one home.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from ragkit.errors import BusyError
from ragkit.store.server.locks import FileLock
from ragkit.system.private_files import make_private

_MACHINE: Final = "machine"


@contextmanager
def locked_devices(folder: Path, names: tuple[str, ...]) -> Iterator[None]:
    """Keep other runs from these devices; none named stands for the whole machine.

    Raises BusyError naming the device that is taken.
    """
    make_private(folder)
    host = _safe(platform.node())
    with ExitStack() as stack:
        machine = stack.enter_context(FileLock(folder / f".{host}-{_MACHINE}.lock"))
        if not names:
            _take(machine, "this machine")
        else:
            _share(machine)
        for name in names:
            lock = stack.enter_context(FileLock(folder / f".{host}-gpu-{_safe(name)}.lock"))
            _take(lock, f"GPU {name}")
        yield


def visible_devices() -> tuple[str, ...]:
    """Return the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    names = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return tuple(sorted({name.strip() for name in names.split(",")} - {"", "-1"}))


def _take(lock: FileLock, device: str) -> None:
    if not lock.try_exclude():
        raise BusyError(
            f"{device} is in use by another run: wait for it, or see `ragkit tune runs list`"
        )


def _share(lock: FileLock) -> None:
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BusyError(
            "this machine is in use by another run: wait for it, or see `ragkit tune runs list`"
        ) from error


def _safe(name: str) -> str:
    """Return a name that may be part of a file's.

    >>> _safe("GPU-8/1")
    'GPU-8_1'
    """
    return re.sub(r"[^A-Za-z0-9.-]", "_", name)[:64]
