"""Return freed memory to the system after a process has grown.

glibc keeps what it may need again, which after a few large files is hundreds of megabytes.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final, Literal

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_GROWN_BYTES: Final = 16 << 20  # arbitrary: giving back takes milliseconds


class Trimming:
    """Gives memory back when the process has grown since the last time."""

    def __init__(self) -> None:
        self._give_back = _function()
        self._before = 0

    def __call__(self) -> None:
        """Look how large the process is, and give back what it does not need."""
        if self._give_back is not None and memory_bytes() > self._before + _GROWN_BYTES:
            self._give_back(0)
            self._before = memory_bytes()


def memory_bytes(process: int | Literal["self"] = "self") -> int:
    """Return how much memory a process has; 0 where the system does not say, or it has ended."""
    try:  # Linux, proc(5): in pages; the second is what is in memory
        sizes = Path(f"/proc/{process}/statm").read_bytes().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(sizes[1]) * _PAGE_BYTES


def _function() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone has it
