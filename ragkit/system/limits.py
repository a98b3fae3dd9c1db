"""Limits that a child process sets on itself before it reads a file that may be hostile.

Memory, processor time, open files and core dumps. The parent keeps the clock: it kills a child
that takes too long.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import sys
import time
from typing import BinaryIO, Final

_MAX_OPEN_FILES: Final = 64
_PR_SET_PDEATHSIG: Final = 1  # Linux: prctl(2)


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take standard input and output for the protocol; what a library prints goes nowhere."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    return requests, answers


def die_with_parent() -> None:
    """Ask to be killed when the parent is; where there is no prctl the end of input has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def limit(memory_mb: int) -> None:
    """Limit the memory and the open files of this process for good; no core is dumped."""
    _lower(resource.RLIMIT_AS, memory_mb << 20)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, _MAX_OPEN_FILES)


def limit_cpu(seconds: int) -> None:
    """Allow so much processor time from now on; the system counts from the start of the process."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    total = math.ceil(time.process_time()) + seconds
    soft = total if hard == resource.RLIM_INFINITY else min(total, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _lower(kind: int, value: int) -> None:
    """Set a limit for good, unless the machine's own is lower."""
    hard = resource.getrlimit(kind)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))
