"""The job ledger: what is to be done, who does it, how often it was tried, why it failed.

Workers take jobs with SKIP LOCKED. An attempt is counted before work starts, so that a job that
kills its worker is known by its count. A dead worker's jobs are free at once: each worker holds an
advisory lock on its number, which PostgreSQL releases with the connection. Behind PgBouncer no lock
outlives a transaction; there the lease alone tells, and a worker's number is negative. What a
worker may still write is decided by its token: see `ragkit.store.holding`.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.store import holding
from ragkit.store.acting import keeps_sessions
from ragkit.store.documents import uri_key
from ragkit.store.lending import begun

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

LEASE_S: Final = 600  # for a worker that lives but hangs: longer than parsing one file may take
MAX_ATTEMPTS: Final = 3  # arbitrary: a job that took its worker down so often is set aside
# What was at work on many files does not say which of them ended it. A file that was there so often
# is taken alone from then on, and set aside only when that went wrong MAX_ATTEMPTS times.
MAX_TOGETHER: Final = 2  # arbitrary
_WORKERS: Final = 0x7261676B  # class of the workers' advisory locks: "ragk"; in ragkit_alive() too

# A file that looks otherwise than it did takes an open job away from who works on it. What was read
# before the job's file was seen, or before it was deleted, opens nothing. A job that was set aside
# stays so for as long as its file is the same.
_ENQUEUE: Final = """
    INSERT INTO job (tenant, collection_id, kind, uri, uri_key, content_hash, seen_at)
    SELECT %(tenant)s, %(collection)s, %(kind)s, uri, key, hash,
        now() - make_interval(secs => %(age)s)
    FROM unnest(%(uris)s::text[], %(keys)s::bytea[], %(hashes)s::text[]) AS t (uri, key, hash)
    ON CONFLICT (tenant, collection_id, kind, uri_key) DO UPDATE
    SET state = 'queued', attempts = 0, stage = '', reason = '', worker = NULL, token = NULL,
        lease_until = NULL, started_at = NULL, finished_at = NULL, run_id = NULL, host = '',
        figures = '{}', content_hash = excluded.content_hash, seen_at = excluded.seen_at,
        updated_at = now()
    WHERE excluded.seen_at >= job.seen_at AND CASE job.state
        WHEN 'failed' THEN job.attempts < %(attempts)s OR excluded.content_hash = ''
            OR job.content_hash <> excluded.content_hash
        WHEN 'queued' THEN excluded.content_hash NOT IN ('', job.content_hash)
        WHEN 'running' THEN excluded.content_hash NOT IN ('', job.content_hash)
        ELSE true END
"""
# Of an open job: no living worker holds it within its lease.
OPEN: Final = "(j.state = 'queued' OR j.lease_until < now() OR NOT ragkit_alive(j.worker))"
_WANTED: Final = """
    JOIN unnest(%(keys)s::bytea[], %(hashes)s::text[]) AS w (key, hash)
        ON w.key = j.uri_key AND (w.hash = '' OR j.content_hash IN ('', w.hash))
"""


def _free(wanted: str, limit: str = "") -> str:
    return f"""
        SELECT j.tenant, j.id FROM job j {wanted}
        WHERE j.tenant = %(tenant)s AND j.collection_id = %(collection)s AND j.kind = %(kind)s
            AND j.state IN ('queued', 'running') AND {OPEN} {limit}
        ORDER BY j.id LIMIT %(limit)s FOR UPDATE OF j SKIP LOCKED
    """  # noqa: S608  built from constants only


def _quarantine(wanted: str) -> str:
    return f"""
        UPDATE job SET state = 'failed', worker = NULL, token = NULL, lease_until = NULL,
            stage = coalesce(nullif(stage, ''), 'worker'), finished_at = now(),
            reason = 'the program ended while at work on this file, ' || attempts || ' times',
            updated_at = now()
        WHERE attempts >= %(attempts)s AND (tenant, id) IN ({_free(wanted)})
    """  # noqa: S608  built from constants only


def _claim(wanted: str, limit: str = "") -> str:
    return f"""
        UPDATE job SET state = 'running', worker = %(worker)s, attempts = attempts + 1, stage = '',
            token = nextval('job_token'), lease_until = now() + make_interval(secs => %(lease)s),
            host = %(host)s, run_id = %(run)s, started_at = now(), finished_at = NULL,
            updated_at = now()
        WHERE (tenant, id) IN ({_free(wanted, limit)})
        RETURNING id, uri, token, attempts, content_hash
    """  # noqa: S608  built from constants only


_QUARANTINE_SOME: Final = _quarantine(_WANTED)
_CLAIM_SOME: Final = _claim(_WANTED)
_CLAIM_TOGETHER: Final = _claim(_WANTED, "AND j.attempts < %(together)s")
_QUARANTINE_NEXT: Final = _quarantine("")
_CLAIM_NEXT: Final = _claim("")
_HEARTBEAT: Final = """
    UPDATE job SET lease_until = now() + make_interval(secs => %s)
    WHERE tenant = %s AND worker = %s AND state = 'running'
"""
_STAGE: Final = """
    UPDATE job j SET stage = %s
    FROM unnest(%s::bigint[], %s::bigint[]) AS held (id, token)
    WHERE j.tenant = %s AND j.id = held.id AND j.token = held.token AND j.state = 'running'
"""
_RELEASE: Final = """
    UPDATE job SET state = 'queued', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        attempts = attempts - 1, updated_at = now()
    WHERE tenant = %s AND worker = %s AND state = 'running'
"""
_RELEASE_ONE: Final = """
    UPDATE job SET state = 'queued', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        attempts = attempts - 1, updated_at = now()
    WHERE tenant = %s AND id = %s AND token = %s AND state = 'running'
"""
_OUTCOMES: Final = f"""
    SELECT uri, state, stage, reason, content_hash, state = 'running' AND NOT {OPEN},
        state IN ('queued', 'running') AND {OPEN} AND attempts >= {MAX_TOGETHER} FROM job j
    WHERE tenant = %s AND collection_id = %s AND kind = %s AND uri_key = ANY(%s)
"""  # noqa: S608  built from constants only

File = str | tuple[str, str]  # a URI; or a URI and the hash of what was read there


@dataclass(frozen=True, slots=True)
class Job:
    """A job taken by a worker, held for as long as `token` is the job's own.

    `attempts` counts this one. `content_hash` is the file's when it was queued, "" if unknown.
    """

    id: int
    uri: str
    token: int
    attempts: int
    content_hash: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job stands: queued, running, done, cancelled, or failed at a stage for a reason.

    `content_hash` is what was done, or is to be done; "" where nobody said. `is_held` tells whether
    a living worker has it, `is_suspect` that nobody has it and it may be taken alone only.
    """

    state: str
    stage: str
    reason: str
    content_hash: str = ""
    is_held: bool = False
    is_suspect: bool = False


class Worker:
    """One living worker on one collection's jobs of one kind; made by `Ledger.worker`.

    Its connection is in autocommit mode and is its own; errors are psycopg's. `run` is the run that
    it takes part in. Its methods may be called by several threads.
    """

    def __init__(
        self,
        conn: Connection[Any],
        tenant: str,
        collection: int,
        kind: str,
        *,
        run: int | None = None,
    ) -> None:
        self._conn = conn
        self._tenant = tenant
        self._collection = collection
        self._kind = kind
        self._run = run
        self._lock = threading.Lock()  # a transaction must not be shared
        self.number = register(conn)

    def enqueue(self, files: Sequence[File], *, age_s: float = 0.0) -> None:
        """Open a job for each file that has none; one that looks otherwise begins anew.

        `age_s` is how long ago the oldest of them was read: what was read before a newer version
        was seen, or before the file was deleted, opens nothing.
        """
        with self._begun() as cursor:
            self._enqueue(cursor, files, age_s)

    def claim(self, files: Sequence[File], *, limit: int) -> list[Job]:
        """Take up to `limit` open jobs of these files that no living worker has.

        Of a file given with its hash, only a job that is for this content.
        """
        with self._begun() as cursor:
            return self._claim(cursor, files, limit)

    def take(self, files: Sequence[File], *, age_s: float = 0.0, alone: bool = False) -> list[Job]:
        """Enqueue and claim in one transaction, so that nothing can come between.

        A file that was at hand when a program ended, MAX_TOGETHER times, is taken only if `alone`:
        when nothing else is worked on.
        """
        values = {
            **self._values(),
            **_columns(files),
            "age": age_s,
            "limit": len(files),
            "attempts": MAX_TOGETHER + MAX_ATTEMPTS,
            "together": MAX_TOGETHER,
        }
        with self._begun() as cursor:
            cursor.execute(_ENQUEUE, values)
            cursor.execute(_QUARANTINE_SOME, values)
            return _jobs(cursor.execute(_CLAIM_SOME if alone else _CLAIM_TOGETHER, values))

    def next(self, limit: int) -> list[Job]:
        """Take up to `limit` open jobs of this kind in the collection, the oldest first."""
        values = {**self._values(), "limit": limit}
        with self._begun() as cursor:
            cursor.execute(_QUARANTINE_NEXT, values)
            return _jobs(cursor.execute(_CLAIM_NEXT, values))

    def fail(
        self, job: Job, stage: str, reason: str, figures: Mapping[str, object] | None = None
    ) -> None:
        """Record why a job failed. Raises LeaseLostError when it is no longer this worker's."""
        with self._begun() as cursor:
            holding.fail(cursor, self._tenant, job, stage, reason, figures)

    def finish(self, job: Job) -> None:
        """Record that there was nothing to do. Raises LeaseLostError as `fail` does."""
        with self._begun() as cursor:
            holding.hold(cursor, self._tenant, job)
            holding.finish(cursor, self._tenant, job, None, job.content_hash)

    def release(self, job: Job) -> None:
        """Give a job back that was not begun; nothing where it is no longer this worker's."""
        with self._begun() as cursor:
            cursor.execute(_RELEASE_ONE, (self._tenant, job.id, job.token))

    def heartbeat(self) -> None:
        """Renew the lease of everything this worker has."""
        with self._begun() as cursor:
            cursor.execute(_HEARTBEAT, (LEASE_S, self._tenant, self.number))

    def stage(self, jobs: Sequence[Job], name: str) -> None:
        """Tell what is being done with jobs, for those who look and in case the program ends."""
        held = [job.id for job in jobs], [job.token for job in jobs]
        with self._begun() as cursor:
            cursor.execute(_STAGE, (name, *held, self._tenant))

    def outcomes(self, uris: Sequence[str]) -> dict[str, Outcome]:
        """Tell how the jobs of these URIs stand."""
        values = (self._tenant, self._collection, self._kind, [uri_key(uri) for uri in uris])
        with self._begun() as cursor:
            return {uri: Outcome(*rest) for uri, *rest in cursor.execute(_OUTCOMES, values)}

    def close(self) -> None:
        """Give back what was taken and not done; an attempt that was broken off does not count."""
        with self._begun() as cursor:
            cursor.execute(_RELEASE, (self._tenant, self.number))
        unregister(self._conn, self.number)

    def _enqueue(self, cursor: Cursor[Any], files: Sequence[File], age_s: float) -> None:
        given = {**self._values(), **_columns(files), "age": age_s}
        cursor.execute(_ENQUEUE, given)

    def _claim(self, cursor: Cursor[Any], files: Sequence[File], limit: int) -> list[Job]:
        values = {**self._values(), **_columns(files), "limit": limit}
        cursor.execute(_QUARANTINE_SOME, values)
        return _jobs(cursor.execute(_CLAIM_SOME, values))

    @contextmanager
    def _begun(self) -> Iterator[Cursor[Any]]:
        with self._lock, begun(self._conn, self._tenant) as cursor:
            yield cursor

    def _values(self) -> dict[str, object]:
        return {
            "tenant": self._tenant,
            "collection": self._collection,
            "kind": self._kind,
            "attempts": MAX_ATTEMPTS,
            "worker": self.number,
            "lease": LEASE_S,
            "host": host(),
            "run": self._run,
        }


def host() -> str:
    """Name this machine, as the ledger shows who did what."""
    return socket.gethostname()[:255]


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


def _columns(files: Sequence[File]) -> dict[str, list[Any]]:
    """Write files as parameters, each URI once, in one order everywhere: two do not deadlock."""
    once = dict((file, "") if isinstance(file, str) else file for file in files)
    uris = sorted(once)
    keys = [uri_key(uri) for uri in uris]
    return {"uris": uris, "keys": keys, "hashes": [once[uri] for uri in uris]}


def _jobs(rows: Cursor[Any]) -> list[Job]:
    return sorted((Job(*row) for row in rows), key=lambda job: job.id)
