"""Give way to other processes on the same processors, as work does that nobody waits for.

A process that gives way is as fast as any other while a processor is free. Linux divides the
processors among sessions first, and then among the processes of each (sched_autogroup, see
sched(7)): a process that leads a session lowers the session, too.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

# Linux then gives it about a third of what it gives another. Two searches at a time beside a writer
# took 39, 25 and 27 ms at the 95th percentile with 0, 5 and 10; with 10 what a writer has locked is
# waited for longer.
NICENESS: Final = 5
# Linux takes an unprivileged change of a session's priority once in a tenth of a second.
_TRIES: Final = 3
_AGAIN_S: Final = 0.1


def give_way() -> None:
    """Have this thread, and threads and processes that it starts, give way to other processes.

    Does nothing where the system knows no such priority.
    """
    _lower(os.getpid())


def gives_way() -> bool:
    """Tell whether this thread gives way to other processes."""
    return hasattr(os, "getpriority") and os.getpriority(os.PRIO_PROCESS, 0) >= NICENESS


def lower(process: int, program: str) -> None:
    """Have a process of this program give way; does nothing if there is none or it is another's.

    `program` is the name that Linux has for it, without which nothing tells that a number which
    came from elsewhere is of this machine.
    """
    with suppress(OSError):
        if Path(f"/proc/{process}/comm").read_text().strip() == program:
            _lower(process)


def _lower(process: int) -> None:
    if not hasattr(os, "setpriority"):
        return
    with suppress(OSError):
        if os.getpriority(os.PRIO_PROCESS, process) < NICENESS:
            os.setpriority(os.PRIO_PROCESS, process, NICENESS)
        if os.getsid(process) == process:
            _lower_session(process)


def _lower_session(leader: int) -> None:
    for _ in range(_TRIES):
        try:
            Path(f"/proc/{leader}/autogroup").write_text(str(NICENESS))
        except BlockingIOError:
            time.sleep(_AGAIN_S)
        else:
            return
