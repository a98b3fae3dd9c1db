"""A streaming standby that snapshots are read from, as soon as it has replayed the log so far.

A snapshot holds every commit before it, by whichever process: each asks the primary how far its log
is safely written, then the standby whether it has replayed as much; if it has not, the snapshot is
the primary's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Semaphore
from typing import TYPE_CHECKING, Any, Final, Literal

import psycopg

from ragkit.errors import DatabaseError, SnapshotLostError
from ragkit.store.connection.connect import check_standby, connect, open_lazy_pool
from ragkit.store.connection.identity import Beginning, begin
from ragkit.store.connection.retry import CONFLICTS
from ragkit.store.connection.transactions import lent, translate
from ragkit.store.session import Session, open_session
from ragkit.system.closing import Closing

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.store.documents.filter_sql import Readers

    Pool = ConnectionPool[Connection[Any]]

CONNECTIONS: Final = 8  # when all are lent, the primary takes what comes besides
CATCH_UP_S: Final = 0.05  # how long a standby is waited for that was up to date before
NUDGE_S: Final = 1.0  # how often the primary is made to write out its log for one that is behind
REST_S: Final = 5.0  # how long one that failed is left alone

log = logging.getLogger(__name__)

# A commit that waits for the disk is seen by others, and reported, only when the log is written so
# far. One that does not wait may be seen before: where those are the rule, all of the log counts.
_WRITTEN: Final = """
    SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
        ELSE pg_current_wal_flush_lsn() END::text
"""
# Of a standby that was promoted nothing can be said: it goes its own way.
_REPLAYED: Final = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn"
# The log is written by whole pages while a long transaction goes on, so perhaps to the middle of a
# record of its own, at which the standby then waits. A commit has the rest written within 200 ms.
_NUDGE: Final = "SELECT pg_current_xact_id()"
_IDENTITY: Final = """
    SELECT system_identifier::text, current_database() FROM pg_control_system()
"""

# How old the last commit is that came says how long it has been behind, if it is behind at all.
_BEHIND: Final = """
    SELECT greatest(pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()), 0)::bigint,
        extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a standby stands: why it cannot be read from, or how far it is behind its primary.

    `problem` is "" for one that can be read from. `behind_s` is None before its first commit.
    """

    problem: str
    behind_bytes: int | None = None
    behind_s: float | None = None

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        if not self.behind_bytes:
            return "has replayed every write"
        age = "" if self.behind_s is None else f", {self.behind_s:,.0f} s"
        return f"is {self.behind_bytes:,} bytes{age} behind"


class Replica(Closing):
    """A standby beside its primary's pool; `pool` holds at most `CONNECTIONS` to the standby."""

    def __init__(self, primary: Pool, pool: Pool) -> None:
        self._primary = primary
        self._pool = pool
        self._free = Semaphore(CONNECTIONS)
        self._state: Literal["serving", "behind", "down"] = "serving"
        self._rest_until = 0.0
        self._nudge_after = 0.0

    @contextmanager
    def session(self, tenant: str, readers: Readers = None) -> Iterator[Session]:
        """Open a session whose statements all see one moment, with every commit so far.

        Commits with synchronous_commit off count once they are on disk. Raises DatabaseError, and
        SnapshotLostError where the next try will be the primary's.
        """
        with ExitStack() as stack:
            conn = self._begin(Beginning(tenant, readers, snapshot=True), stack)
            if conn is None:
                primary = open_session(self._primary, tenant, readers, snapshot=True)
                yield stack.enter_context(primary)
                return
            try:
                with conn.cursor() as cursor:
                    yield Session(cursor, tenant, readers)
                conn.commit()
            except psycopg.OperationalError as error:
                # A conflict: what the primary did, such as a vacuum, could not wait any longer.
                if not conn.closed and not isinstance(error, CONFLICTS):
                    raise
                text = " ".join(str(error).split())
                self.rest(text)
                raise SnapshotLostError(
                    f"The read replica failed while it was read from: {text}: try again; for the"
                    " next seconds the primary is asked."
                ) from error

    def rest(self, reason: str) -> None:
        """Leave the standby alone for a while, because it failed."""
        self._rest_until = time.monotonic() + REST_S
        self._note("down", f"the read replica cannot be used: {reason.rstrip('.')}")

    def close(self) -> None:
        self._pool.close()

    def _begin(self, beginning: Beginning, stack: ExitStack) -> Connection[Any] | None:
        """Begin a snapshot on the standby, to be ended by the stack; None: it cannot serve it."""
        if time.monotonic() < self._rest_until or not self._free.acquire(blocking=False):
            return None
        with ExitStack() as attempt:
            attempt.callback(self._free.release)
            with lent(self._primary) as conn:
                row = conn.execute(_WRITTEN).fetchone()
                assert row is not None
            try:
                conn = attempt.enter_context(lent(self._pool))
                if not self._has_replayed(conn, str(row[0])):
                    self._note("behind", "the read replica is behind")
                    self._nudge()
                    return None
                begin(conn, beginning)  # only now: it sees what was replayed
            except (DatabaseError, psycopg.Error) as error:
                self.rest(" ".join(str(error).split()))
                return None
            self._note("serving", "the read replica serves searches again")
            stack.push(attempt.pop_all())
            return conn

    def _has_replayed(self, conn: Connection[Any], position: str) -> bool:
        """Tell whether the standby is so far, having waited a moment if it was up to date."""
        end = time.monotonic() + (CATCH_UP_S if self._state == "serving" else 0)
        while conn.execute(_REPLAYED, (position,)).fetchone() != (True,):
            if time.monotonic() >= end:
                return False
            time.sleep(0.002)
        return True

    def _nudge(self) -> None:
        """Have the primary write out its log, now and then."""
        if time.monotonic() >= self._nudge_after:
            self._nudge_after = time.monotonic() + NUDGE_S
            with lent(self._primary) as conn:
                conn.execute(_NUDGE)

    def _note(self, state: Literal["serving", "behind", "down"], text: str) -> None:
        """Log a change of state once."""
        if state == self._state:
            return
        self._state = state
        if state == "serving":
            log.info("%s", text)
        else:
            log.warning("%s; the primary serves searches meanwhile", text)


def open_replica(
    url: str, primary: Pool, *, pooler: bool = False, tenants: bool = False
) -> Replica:
    """Open a standby of the primary's server; one that does not answer now is tried again later.

    Every connection is checked. Raises DatabaseError for what is no standby of that server, another
    database, or, with `tenants`, a role that row-level security does not bind.
    """
    with lent(primary) as primary_conn:
        identity = primary_conn.execute(_IDENTITY).fetchone()

    check = partial(_check, identity=identity, tenants=tenants)
    try:
        conn = connect(url, pooler=pooler)
    except DatabaseError as error:
        conn, reason = None, _of_replica(error)
    if conn is not None:
        with conn:
            try:
                check(conn)
            except DatabaseError as error:
                raise DatabaseError(_of_replica(error)) from error
            except psycopg.Error as error:
                raise translate(error) from error
    replica = Replica(primary, open_lazy_pool(url, check, max_size=CONNECTIONS, pooler=pooler))
    if conn is None:
        replica.rest(reason)
    return replica


def look(
    url: str, primary: Connection[Any], *, pooler: bool = False, tenants: bool = False
) -> Standing:
    """Look at a standby beside its primary; whatever is wrong with it is in what is returned."""
    if primary.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
        return Standing("RAGKIT_DATABASE_URL names a standby itself: name the primary there")
    written = primary.execute(_WRITTEN).fetchone()
    identity = primary.execute(_IDENTITY).fetchone()
    assert written is not None
    try:
        with connect(url, pooler=pooler) as conn:
            _check(conn, identity, tenants=tenants)
            row = conn.execute(_BEHIND, written).fetchone()
    except DatabaseError as error:
        return Standing(_of_replica(error))
    except psycopg.Error as error:
        return Standing(str(translate(error)))
    assert row is not None
    return Standing("", int(row[0]), row[1] if row[0] else 0.0)


def _check(conn: Connection[Any], identity: object, *, tenants: bool) -> None:
    check_standby(conn)
    if conn.execute(_IDENTITY).fetchone() != identity:
        raise DatabaseError(
            "The read replica is of another server or database than the primary: correct"
            " RAGKIT_DATABASE_REPLICA_URL."
        )
    if tenants:
        from ragkit.store.connection import roles

        roles.check(conn)


def _of_replica(error: DatabaseError) -> str:
    """Name the replica's setting in what `connect` and `tenancy` say of the primary's."""
    return str(error).replace("RAGKIT_DATABASE_URL", "RAGKIT_DATABASE_REPLICA_URL")
