"""End a worker's process group when the process that started it has ended; see `worker_process`.

`worker_guard.py FD WORKER SECONDS` waits until the other end of a pipe is closed, which a killed
process does too. It imports nothing of ragkit.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress


def main(descriptor: int, worker: int, seconds: float) -> None:
    """Wait for the end of the parent, then end the worker's group, by force after some seconds."""
    try:
        ended = os.pidfd_open(worker)
    except ProcessLookupError:
        return
    while os.read(descriptor, 64):
        pass
    if select.select([ended], [], [], 0)[0]:
        return
    with suppress(ProcessLookupError):
        os.killpg(worker, signal.SIGTERM)
        select.select([ended], [], [], seconds)
        os.killpg(worker, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
