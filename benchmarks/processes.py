"""Seconds of processor time: of this process and those it has waited for, and of a database.

On a machine that others use too they say more than the time that passed.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from benchmarks.footprint import children, postmaster

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s() -> tuple[float, float]:
    """Return what this process has used, and what its children have that have ended."""
    own, ended = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime


def server_cpu_s(home: Path) -> float:
    """Return what the processes of the embedded server have used, ended ones included."""
    first = postmaster(home)
    return _used(first) + sum(map(_used, children(first)))


def _used(pid: int) -> float:
    """Return what a process has used: itself, and children of it that have ended (proc(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS
