"""The job ledger: what is to be done, who does it, how often it was tried, why it failed.

Workers take jobs with SKIP LOCKED. An attempt is counted before work starts, so that a job that
kills its worker is known by its count. A dead worker's jobs are free at once: each worker holds an
advisory lock on its number, which PostgreSQL releases with the connection. Behind PgBouncer no lock
outlives a transaction; there the lease alone tells, and a worker's number is negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import Connection, Cursor

from ragkit.store.acting import keeps_sessions
from ragkit.store.documents import uri_key
from ragkit.store.lending import begun, lent

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

LEASE_S = 600  # covers a worker that lives but hangs: longer than parsing one file may take
MAX_ATTEMPTS = 3  # arbitrary: a job that took its worker down so often is set aside
_WORKERS = 0x7261676B  # class of the workers' advisory locks: "ragk"; also in ragkit_alive()

_ENQUEUE = """
    INSERT INTO job (tenant, collection_id, kind, uri, uri_key)
    SELECT %s, %s, %s, uri, key FROM unnest(%s::text[], %s::bytea[]) AS t (uri, key)
    ON CONFLICT (tenant, collection_id, kind, uri_key) DO UPDATE
    SET state = 'queued', attempts = 0, stage = '', reason = '', updated_at = now()
    WHERE job.state IN ('done', 'failed')
"""
# Of an open job: no living worker holds it within its lease.
_OPEN = "(state = 'queued' OR lease_until < now() OR NOT ragkit_alive(worker))"
_FREE = f"""
    SELECT tenant, id FROM job
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND kind = %(kind)s
        AND uri_key = ANY(%(uris)s) AND state IN ('queued', 'running')
        AND {_OPEN}
    ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""  # noqa: S608  built from constants only
_QUARANTINE = f"""
    UPDATE job SET state = 'failed', worker = NULL, lease_until = NULL, stage = 'worker',
        reason = 'the program ended while at work on this file, ' || attempts || ' times',
        updated_at = now()
    WHERE attempts >= %(attempts)s AND (tenant, id) IN ({_FREE})
"""  # noqa: S608  built from constants only
_CLAIM = f"""
    UPDATE job SET state = 'running', worker = %(worker)s, attempts = attempts + 1,
        lease_until = now() + make_interval(secs => %(lease)s), updated_at = now()
    WHERE (tenant, id) IN ({_FREE})
    RETURNING id, uri
"""  # noqa: S608  built from constants only
_HEARTBEAT = """
    UPDATE job SET lease_until = now() + make_interval(secs => %s)
    WHERE tenant = %s AND worker = %s AND state = 'running'
"""
_FINISH = """
    UPDATE job SET state = 'done', worker = NULL, lease_until = NULL, stage = '', reason = '',
        document_id = %s, updated_at = now()
    WHERE tenant = %s AND id = %s
"""
_FAIL = """
    UPDATE job SET state = 'failed', worker = NULL, lease_until = NULL, stage = %s, reason = %s,
        updated_at = now()
    WHERE tenant = %s AND id = %s
"""
_RELEASE = """
    UPDATE job SET state = 'queued', worker = NULL, lease_until = NULL, attempts = attempts - 1,
        updated_at = now()
    WHERE tenant = %s AND worker = %s AND state = 'running'
"""
_OUTCOMES = """
    SELECT uri, state, stage, reason FROM job
    WHERE tenant = %s AND collection_id = %s AND kind = %s AND uri_key = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A job taken by a worker."""

    id: int
    uri: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job stands: queued, running, done, or failed at a stage for a reason."""

    state: str
    stage: str
    reason: str


class Worker:
    """One living worker on one collection's jobs of one kind; made by `Ledger.worker`."""

    def __init__(self, conn: Connection[Any], tenant: str, collection: int, kind: str) -> None:
        self._conn = conn
        self._tenant = tenant
        self._collection = collection
        self._kind = kind
        self.number = register(conn)

    def enqueue(self, uris: Sequence[str]) -> None:
        """Open a job for each URI; one that is open already stays as it is."""
        once = sorted(set(uris))
        keys = [uri_key(uri) for uri in once]
        with begun(self._conn, self._tenant) as cursor:
            cursor.execute(_ENQUEUE, (self._tenant, self._collection, self._kind, once, keys))

    def claim(self, uris: Sequence[str], *, limit: int) -> list[Job]:
        """Take up to `limit` open jobs among these URIs that no living worker has."""
        values = {
            "tenant": self._tenant,
            "collection": self._collection,
            "kind": self._kind,
            "uris": [uri_key(uri) for uri in uris],
            "limit": limit,
            "attempts": MAX_ATTEMPTS,
            "worker": self.number,
            "lease": LEASE_S,
        }
        with begun(self._conn, self._tenant) as cursor:
            cursor.execute(_QUARANTINE, values)
            return [Job(*row) for row in cursor.execute(_CLAIM, values)]

    def fail(self, job: int, stage: str, reason: str) -> None:
        """Record why a job failed."""
        with begun(self._conn, self._tenant) as cursor:
            fail(cursor, self._tenant, job, stage, reason)

    def heartbeat(self) -> None:
        """Renew the lease of everything this worker has."""
        with begun(self._conn, self._tenant) as cursor:
            cursor.execute(_HEARTBEAT, (LEASE_S, self._tenant, self.number))

    def outcomes(self, uris: Sequence[str]) -> dict[str, Outcome]:
        """Tell how the jobs of these URIs stand."""
        values = (self._tenant, self._collection, self._kind, [uri_key(uri) for uri in uris])
        with begun(self._conn, self._tenant) as cursor:
            return {uri: Outcome(*rest) for uri, *rest in cursor.execute(_OUTCOMES, values)}

    def close(self) -> None:
        """Give back what was taken and not done; an attempt that was broken off does not count."""
        with begun(self._conn, self._tenant) as cursor:
            cursor.execute(_RELEASE, (self._tenant, self.number))
        unregister(self._conn, self.number)


class Ledger:
    """The jobs of one tenant."""

    def __init__(self, pool: ConnectionPool[Connection[Any]], tenant: str) -> None:
        self._pool = pool
        self._tenant = tenant

    @contextmanager
    def worker(self, collection: int, kind: str) -> Iterator[Worker]:
        """Be a worker for a while; needs connections in autocommit mode. Raises DatabaseError."""
        with lent(self._pool) as conn:
            worker = Worker(conn, self._tenant, collection, kind)
            try:
                yield worker
            finally:
                if not conn.broken:
                    worker.close()


def register(conn: Connection[Any]) -> int:
    """Draw a worker's number; hold its lock for as long as the connection lives, where it can."""
    row = conn.execute("SELECT nextval('job_worker')").fetchone()
    assert row is not None
    if not keeps_sessions(conn):
        return -int(row[0])
    conn.execute("SELECT pg_advisory_lock(%s, %s)", (_WORKERS, row[0]))
    return int(row[0])


def unregister(conn: Connection[Any], worker: int) -> None:
    """Let go of a worker's lock, so that the connection can serve others."""
    if worker > 0:
        conn.execute("SELECT pg_advisory_unlock(%s, %s)", (_WORKERS, worker))


def fail(cursor: Cursor[Any], tenant: str, job: int, stage: str, reason: str) -> None:
    """Record why a job failed."""
    cursor.execute(_FAIL, (stage, reason, tenant, job))


def finish(cursor: Cursor[Any], tenant: str, job: int, document: int) -> None:
    """Record that a job is done, inside the transaction that wrote its result."""
    cursor.execute(_FINISH, (document, tenant, job))
