"""Kill the parent process some time after a signal told it to end; see `ragkit.system.ending`.

`ending_guard.py FD PARENT SECONDS` reads the numbers of the parent's signals from a pipe, and ends
when the parent closes its end of it, or has ended. It imports nothing of ragkit.
"""

from __future__ import annotations

import os
import select
import signal
import sys

_ENDING = {signal.SIGTERM, signal.SIGINT}


def main(descriptor: int, parent: int, seconds: float) -> None:
    """Wait for a signal that ends the parent, then for its end."""
    while numbers := os.read(descriptor, 64):
        if not _ENDING.isdisjoint(numbers):
            break
    else:
        return
    ended = os.pidfd_open(parent)
    if os.getppid() != parent:  # and the number may be another's
        return
    if select.select([ended], [], [], seconds)[0]:
        return
    sys.stderr.write(
        f"ragkit: process {parent} did not end within {seconds:g} s of being told to, and was"
        " killed\n"
    )
    signal.pidfd_send_signal(ended, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
