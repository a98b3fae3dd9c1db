"""`ragkit worker`: the ingestion worker as a process, one line on stderr for each upload."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def worker() -> None:
    """Take in files that were uploaded, as they come, until it is told to end.

    Several may run beside each other, on this machine and others. SIGTERM and Ctrl-C end it: what
    it was at goes back to the queue.
    """
    import logging

    from ragkit import logs
    from ragkit.settings import load_settings
    from ragkit_ingest.worker import work

    logs.configure()
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # what it warns of is said by ours
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        work(load_settings())
    except SystemExit as ending:
        # An embedding that goes on in a thread would abort the interpreter's own end; what was to
        # be given back and closed is.
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(ending.code or 0))


def _end(number: int, frame: Any) -> None:
    """Come back from wherever the main thread is; what follows is not to be broken off."""
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, signal.SIG_IGN)
    raise SystemExit(0)
