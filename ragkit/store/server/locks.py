"""A lock on a file that the kernel lets go of when its holders end, even by kill -9.

Knows nothing of what is locked.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from ragkit.system.closing import Closing


class FileLock(Closing):
    """Open a lock file; nothing is locked yet. Each object is a holder of its own.

    A descriptor inherited by another process keeps the lock until that process ends too.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def fileno(self) -> int:
        return self._fd

    def share(self) -> None:
        """Hold the lock together with others, having waited for an exclusive holder."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def exclude(self) -> None:
        """Hold the lock alone, having waited for every other holder."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def try_exclude(self, *, timeout_s: float = 0) -> bool:
        """Hold the lock alone, if that becomes possible in time; tell whether it did."""
        end = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                time.sleep(0.01)
            else:
                return True

    def release(self) -> None:
        """Let go in every process that inherited the lock."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close our descriptor; another process's copy keeps holding."""
        os.close(self._fd)
