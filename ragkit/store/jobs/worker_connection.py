"""The connection of a living worker, and the number and lock by which others know that it lives."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ragkit.store.connection.identity import keeps_sessions, on_cluster
from ragkit.store.connection.transactions import EVERYBODY, begun

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

_WORKERS: Final = 0x7261676B  # class of the workers' advisory locks: "ragk"; in ragkit_alive() too
_GIVE_BACK: Final = "SELECT ragkit_give_back(%s)"


class WorkerConnection:
    """The connection of a living worker in autocommit mode, with the number that it goes by.

    Several threads, each with a `Worker` of its own, may share it. Errors are psycopg's.
    """

    def __init__(self, conn: Connection[Any]) -> None:
        self._conn = conn
        self._lock = threading.Lock()  # a transaction must not be shared
        self.is_closed = False
        self.number = register(conn)

    @contextmanager
    def begun(self, tenant: str) -> Iterator[Cursor[Any]]:
        """Lend a cursor in a transaction for a tenant; a worker sees all of its documents."""
        with self._lock, begun(self._conn, tenant, None) as cursor:
            yield cursor

    def give_back(self, workers: Sequence[int]) -> None:
        """Release the jobs of these workers, of all tenants; a broken-off attempt does not count.

        This worker claims nothing more where its number is among them.
        """
        if not workers:
            return
        with self._lock, begun(self._conn, EVERYBODY) as cursor:
            self.is_closed |= self.number in workers
            cursor.execute(_GIVE_BACK, (list(workers),))

    def close(self) -> None:
        """Release what was claimed and not done, and stop being a worker."""
        self.give_back([self.number])
        with self._lock:
            unregister(self._conn, self.number)


def register(conn: Connection[Any]) -> int:
    """Draw a worker's number; hold its lock for as long as the connection lives, where it can.

    On a cluster a node does not see the coordinator's locks: the number is negative there, too.
    """
    row = conn.execute("SELECT nextval('job_worker')").fetchone()
    assert row is not None
    if not keeps_sessions(conn) or on_cluster(conn):
        return -int(row[0])
    conn.execute("SELECT pg_advisory_lock(%s, %s)", (_WORKERS, row[0]))
    return int(row[0])


def unregister(conn: Connection[Any], worker: int) -> None:
    """Let go of a worker's lock, so that the connection can serve others."""
    if worker > 0:
        conn.execute("SELECT pg_advisory_unlock(%s, %s)", (_WORKERS, worker))
