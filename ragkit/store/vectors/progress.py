"""How far an index build is, seen by another connection, and what the server has to say of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Final

import psycopg
from psycopg import Connection

from ragkit.errors import DatabaseError

log = logging.getLogger(__name__)

_EVERY_S: Final = 0.5  # arbitrary: a sign of life
_PROGRESS: Final = """
    SELECT phase, CASE WHEN tuples_total > 0 THEN tuples_done ELSE blocks_done END,
        CASE WHEN tuples_total > 0 THEN tuples_total ELSE blocks_total END
    FROM pg_stat_progress_create_index WHERE pid = %s
"""
_SPILL: Final = "no longer fits into maintenance_work_mem"


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """A moment of an index build: its phase, and `done` of `total` units of that phase.

    `notice` is what the server says of it: that the graph does not fit into memory any more.
    """

    phase: str
    done: int = 0
    total: int = 0
    notice: str = ""


@contextmanager
def shown(
    conn: Connection[Any],
    watch: Callable[[], AbstractContextManager[Connection[Any]]] | None,
    on_progress: Callable[[BuildProgress], None] | None,
) -> Iterator[None]:
    """Report what a connection builds meanwhile; without a callback only what has to be known."""

    def noticed(diagnostic: psycopg.errors.Diagnostic) -> None:
        text = " ".join((diagnostic.message_primary or "").split())
        if _SPILL not in text:
            return
        text = f"{text}: the build goes on more slowly; a larger maintenance_work_mem avoids it"
        if on_progress is None:
            log.warning("%s", text)
        else:
            on_progress(BuildProgress("building index", notice=text))

    conn.add_notice_handler(noticed)
    done = Event()
    watching = None
    if watch is not None and on_progress is not None:
        args = (watch, conn.info.backend_pid, on_progress, done)
        watching = Thread(target=_watch, args=args, name="ragkit-build", daemon=True)
        watching.start()
    try:
        yield
    finally:
        done.set()
        if watching is not None:
            watching.join()
        conn.remove_notice_handler(noticed)


def _watch(
    watch: Callable[[], AbstractContextManager[Connection[Any]]],
    pid: int,
    on_progress: Callable[[BuildProgress], None],
    done: Event,
) -> None:
    try:
        with watch() as conn:
            while not done.wait(_EVERY_S):
                row = conn.execute(_PROGRESS, (pid,)).fetchone()
                if row is not None and row[0] is not None:
                    on_progress(BuildProgress(str(row[0]), int(row[1] or 0), int(row[2] or 0)))
    except (psycopg.Error, DatabaseError) as error:  # the build itself says what is wrong
        log.info("the progress of an index build cannot be seen: %s", error)
