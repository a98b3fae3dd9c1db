"""Return freed memory to the system after a process has grown.

glibc keeps what it may need again, which after a few large files is hundreds of megabytes.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

_GROWN_BYTES: Final = 16 << 20  # arbitrary: giving back takes milliseconds
_SIZES = Path("/proc/self/statm")  # Linux, proc(5): in pages; the second is what is in memory


class Trimming:
    """Gives memory back when the process has grown since the last time."""

    def __init__(self) -> None:
        self._give_back = _function()
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._before = 0

    def __call__(self) -> None:
        """Look how large the process is, and give back what it does not need."""
        if self._give_back is not None and self._size() > self._before + _GROWN_BYTES:
            self._give_back(0)
            self._before = self._size()

    def _size(self) -> int:
        return int(_SIZES.read_bytes().split()[1]) * self._page


def _function() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone has it
