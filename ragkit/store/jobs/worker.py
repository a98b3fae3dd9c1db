"""A worker as the job ledger knows it: the jobs that it claims, and what becomes of them.

Workers claim jobs with SKIP LOCKED. An attempt is counted before work starts, so that a job that
kills its worker is known by its count. A dead worker's jobs are free at once: each worker holds an
advisory lock on its number, which PostgreSQL releases with the connection. Behind PgBouncer no lock
outlives a transaction; there the lease alone tells, and a worker's number is negative. What a
worker may still write is decided by its token: see `ragkit.store.jobs.lease`.
"""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ragkit.store.documents import documents
from ragkit.store.documents.documents import uri_key
from ragkit.store.documents.upload_place import own_key
from ragkit.store.documents.visible import listed
from ragkit.store.jobs import lease
from ragkit.store.jobs.job import FREE, Job, claim, claim_jobs, free_jobs, quarantine
from ragkit.store.session import Session

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.store.jobs.worker_connection import WorkerConnection

__all__ = ["LEASE_S", "MAX_ATTEMPTS", "MAX_TOGETHER", "Job", "Outcome", "Worker", "host"]

log = logging.getLogger("ragkit.worker")

LEASE_S: Final = 600  # for a worker that lives but hangs: longer than parsing one file may take
MAX_ATTEMPTS: Final = 3  # arbitrary: a job that took its worker down so often is set aside
# A program at work on many files does not say which of them ended it. A file that it was at so
# often is taken alone from then on, and set aside only when that went wrong MAX_ATTEMPTS times.
MAX_TOGETHER: Final = 2  # arbitrary
_ENDLESS: Final = 1 << 30  # attempts

# A file that looks otherwise than it did takes an open job away from who works on it. What was read
# before the job's file was seen, or before it was deleted, opens nothing. A job that was set aside
# stays so for as long as its file is the same, unless it was tried fewer times than now allowed.
# Citus takes numbered rows from VALUES alone, and no parameters in the clause of a conflict.
_ENQUEUE: Final = """
    INSERT INTO job (tenant, collection_id, kind, uri, uri_key, content_hash, seen_at)
    VALUES {rows}
    ON CONFLICT (tenant, collection_id, kind, uri_key) DO UPDATE
    SET state = 'queued', attempts = 0, stage = '', reason = '', worker = NULL, token = NULL,
        lease_until = NULL, started_at = NULL, finished_at = NULL, run_id = NULL, host = '',
        figures = excluded.figures, content_hash = excluded.content_hash,
        seen_at = excluded.seen_at, updated_at = excluded.updated_at
    WHERE excluded.seen_at >= job.seen_at AND CASE
        WHEN job.state = 'failed' THEN job.attempts < {attempts} OR excluded.content_hash = ''
            OR job.content_hash <> excluded.content_hash
        WHEN job.state IN ('queued', 'running')
            THEN excluded.content_hash NOT IN ('', job.content_hash)
        ELSE true END
"""
_ENQUEUED_ROW: Final = """
    (%(tenant)s, %(collection)s, 'ingest', (%(uris)s::text[])[{n}], (%(keys)s::bytea[])[{n}],
        (%(hashes)s::text[])[{n}], now() - make_interval(secs => %(age)s))
"""
_ENQUEUED: Final = 100  # rows in a statement; arbitrary
_OF_FILES: Final = free_jobs(
    "j.kind = 'ingest'",
    """JOIN unnest(%(keys)s::bytea[], %(hashes)s::text[]) AS w (key, hash)
        ON w.key = j.uri_key AND (w.hash = '' OR j.content_hash IN ('', w.hash))""",
)
_NEXT: Final = free_jobs("j.kind = 'ingest'")
_QUARANTINE_FILES: Final = quarantine(_OF_FILES)
_CLAIM_FILES: Final = claim(_OF_FILES)
_QUARANTINE_NEXT: Final = quarantine(_NEXT)
_CLAIM_NEXT: Final = claim(_NEXT)
_HEARTBEAT: Final = """
    UPDATE job SET lease_until = now() + make_interval(secs => %s)
    WHERE tenant = %s AND worker = %s AND state = 'running'
"""
_PROGRESS: Final = """
    UPDATE job j SET done = held.done, total = held.total, updated_at = now(),
        lease_until = now() + make_interval(secs => %s)
    FROM unnest(%s::bigint[], %s::bigint[], %s::integer[], %s::integer[])
        AS held (id, token, done, total)
    WHERE j.tenant = %s AND j.id = held.id AND j.token = held.token AND j.state = 'running'
    RETURNING j.id
"""
_STAGE: Final = """
    UPDATE job j SET stage = %s
    FROM unnest(%s::bigint[], %s::bigint[]) AS held (id, token)
    WHERE j.tenant = %s AND j.id = held.id AND j.token = held.token AND j.state = 'running'
"""
_QUEUE_AGAIN: Final = """
    UPDATE job SET state = 'queued', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        attempts = attempts - 1, done = 0, total = 0, updated_at = now()
    WHERE tenant = %s AND state = 'running'
"""
_RELEASE: Final = f"{_QUEUE_AGAIN} AND collection_id = %s AND worker = %s"
_RELEASE_JOB: Final = f"{_QUEUE_AGAIN} AND id = %s AND token = %s"
_RETRY: Final = """
    UPDATE job SET state = 'queued', worker = NULL, token = NULL, lease_until = NULL,
        updated_at = now()
    WHERE tenant = %s AND id = %s
"""
_SETTLE: Final = """
    UPDATE job SET state = 'done', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        reason = %s, document_id = %s, finished_at = now(), updated_at = now()
    WHERE tenant = %s AND id = %s
"""
# Whoever sent the file is told the number of a document only if he may read it: in the place of the
# URI may be another's, and his own beside that.
_REPLACED: Final = """
    UPDATE job SET state = 'done', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        reason = 'a later file has taken its place', finished_at = now(), updated_at = now(),
        document_id = (SELECT d.id FROM document d WHERE d.tenant = job.tenant
            AND d.collection_id = job.collection_id AND d.uri_key = ANY(%(keys)s::bytea[])
            AND may_read(d.owner, d.readers, %(readers)s::text[])
            ORDER BY array_position(%(keys)s::bytea[], d.uri_key) LIMIT 1)
    WHERE tenant = %(tenant)s AND id = %(id)s
"""
_OUTCOMES: Final = f"""
    SELECT uri, state, stage, reason, content_hash, state = 'running' AND NOT {FREE},
        state IN ('queued', 'running') AND {FREE} AND attempts >= {MAX_TOGETHER} FROM job j
    WHERE tenant = %s AND collection_id = %s AND kind = 'ingest' AND uri_key = ANY(%s)
"""  # noqa: S608  built from constants only

File = str | tuple[str, str]  # a URI; or a URI and the hash of what was read there


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
    """One living worker on one collection's jobs; made by `Ledger.worker`.

    `run` is the run that it takes part in. Its methods may be called by several threads.
    """

    def __init__(
        self, connection: WorkerConnection, tenant: str, collection: int, *, run: int | None = None
    ) -> None:
        self.connection = connection
        self.tenant = tenant
        self.collection = collection
        self._run = run

    @property
    def number(self) -> int:
        return self.connection.number

    def enqueue(self, files: Sequence[File], *, age_s: float = 0.0) -> None:
        """Open a job for each file that has none; one that looks otherwise begins anew.

        `age_s` is how long ago the oldest of them was read: what was read before a newer version
        was seen, or before the file was deleted, opens nothing.
        """
        with self._begun() as cursor:
            self._enqueue(cursor, files, age_s)

    def claim(self, files: Sequence[File], *, limit: int) -> list[Job]:
        """Claim up to `limit` open jobs of these files that no living worker has.

        Of a file given with its hash, only a job that is for this content.
        """
        with self._begun() as cursor:
            values = {**self._values(), **_columns(files), "limit": limit}
            self._set_aside(cursor, _QUARANTINE_FILES, values, MAX_ATTEMPTS)
            return _jobs(cursor, _CLAIM_FILES, values)

    def take(self, files: Sequence[File], *, age_s: float = 0.0, alone: bool = False) -> list[Job]:
        """Enqueue and claim in one transaction, so that nothing can come between.

        A suspect, which was at hand MAX_TOGETHER times when a program ended, is claimed only if
        `alone`: when nothing else is worked on.
        """
        most = MAX_TOGETHER + MAX_ATTEMPTS
        values = {**self._values(), **_columns(files), "limit": len(files)}
        with self._begun() as cursor:
            self._enqueue(cursor, files, age_s, most)
            self._set_aside(cursor, _QUARANTINE_FILES, values, most)
            if not alone:
                values["most"] = MAX_TOGETHER - 1
            return _jobs(cursor, _CLAIM_FILES, values)

    def next(self, limit: int) -> list[Job]:
        """Claim up to `limit` open jobs of files in the collection, the oldest first."""
        values = {**self._values(), "limit": limit}
        with self._begun() as cursor:
            self._set_aside(cursor, _QUARANTINE_NEXT, values, MAX_ATTEMPTS)
            return _jobs(cursor, _CLAIM_NEXT, values)

    def fail(
        self, job: Job, stage: str, reason: str, figures: Mapping[str, object] | None = None
    ) -> None:
        """Record why a job failed; an uploaded file is deleted.

        Raises LeaseLostError, here and below, when the job is no longer this worker's.
        """
        with self._begun() as cursor:
            lease.fail(cursor, self.tenant, job, stage, reason, figures)
            self._drop_upload(cursor, job)

    def retry(self, job: Job, stage: str, reason: str) -> bool:
        """Release what may go well next time; False when it was the last attempt: it failed."""
        if job.attempts >= MAX_ATTEMPTS:
            self.fail(job, stage, reason)
            return False
        with self._begun() as cursor:
            lease.hold(cursor, self.tenant, job)
            cursor.execute(_RETRY, (self.tenant, job.id))
        return True

    def finish(self, job: Job) -> None:
        """Record that there was nothing to do."""
        with self._begun() as cursor:
            lease.hold(cursor, self.tenant, job)
            lease.finish(cursor, self.tenant, job, None, job.content_hash)

    def settle(self, job: Job, reason: str, document: int | None = None) -> None:
        """Finish an upload of which no document was made; `document` is another in its stead."""
        with self._begun() as cursor:
            lease.hold(cursor, self.tenant, job)
            cursor.execute(_SETTLE, (reason, document, self.tenant, job.id))
            self._drop_upload(cursor, job)

    def replaced(self, job: Job) -> None:
        """Record that a later upload has taken an upload's place."""
        assert job.upload is not None
        with self._begun() as cursor:
            lease.hold(cursor, self.tenant, job)
            keys = [own_key(job.uri, job.upload.principal), uri_key(job.uri)]
            readers = listed(job.upload.readers)
            values = {"keys": keys, "tenant": self.tenant, "id": job.id, "readers": readers}
            cursor.execute(_REPLACED, values)
            self._drop_upload(cursor, job)

    def release(self, job: Job) -> None:
        """Release a job that was not begun; nothing where it is no longer this worker's."""
        with self._begun() as cursor:
            cursor.execute(_RELEASE_JOB, (self.tenant, job.id, job.token))

    def heartbeat(self) -> None:
        """Renew the lease of everything this worker has of its tenant."""
        with self._begun() as cursor:
            cursor.execute(_HEARTBEAT, (LEASE_S, self.tenant, self.number))

    def progress(self, steps: Sequence[tuple[Job, int, int]]) -> list[bool]:
        """Record how many chunks of each job are embedded, of how many, and renew its lease.

        Tell which of the jobs are still this worker's: False for one that was deleted, or claimed
        by another.
        """
        ids = [job.id for job, _, _ in steps], [job.token for job, _, _ in steps]
        counts = [done for _, done, _ in steps], [total for _, _, total in steps]
        with self._begun() as cursor:
            rows = cursor.execute(_PROGRESS, (LEASE_S, *ids, *counts, self.tenant))
            held = {row[0] for row in rows}
        return [job.id in held for job, _, _ in steps]

    def stage(self, jobs: Sequence[Job], name: str) -> None:
        """Tell what is being done with jobs, for those who look and in case the program ends."""
        held = [job.id for job in jobs], [job.token for job in jobs]
        with self._begun() as cursor:
            cursor.execute(_STAGE, (name, *held, self.tenant))

    def outcomes(self, uris: Sequence[str]) -> dict[str, Outcome]:
        """Tell how the jobs of these files stand."""
        values = (self.tenant, self.collection, [uri_key(uri) for uri in uris])
        with self._begun() as cursor:
            return {uri: Outcome(*columns) for uri, *columns in cursor.execute(_OUTCOMES, values)}

    def close(self) -> None:
        """Release what was claimed of the collection and not done; the attempt does not count."""
        with self._begun() as cursor:
            cursor.execute(_RELEASE, (self.tenant, self.collection, self.number))

    def _enqueue(
        self,
        cursor: Cursor[Any],
        files: Sequence[File],
        age_s: float,
        attempts: int = MAX_ATTEMPTS,
    ) -> None:
        """Open jobs, of which one that failed begins anew if it was tried fewer times."""
        columns = _columns(files)
        for first in range(0, len(columns["uris"]), _ENQUEUED):
            some = {name: column[first : first + _ENQUEUED] for name, column in columns.items()}
            statement = _enqueue_statement(len(some["uris"]), attempts)
            cursor.execute(statement, {**self._values(), **some, "age": age_s})

    def _set_aside(
        self, cursor: Cursor[Any], statement: str, values: Mapping[str, object], attempts: int
    ) -> None:
        """Set jobs aside that were tried so often, and delete what was uploaded for them."""
        bounds = {"fewest": attempts, "most": _ENDLESS}
        rows = cursor.execute(statement.encode(), {**values, **bounds}).fetchall()
        lease.drop_sources(cursor, self.tenant, [row[0] for row in rows if row[0] is not None])
        for _, number, tried in rows:
            log.warning(
                "job %d of tenant %r: set aside, as its program ended %d times while at work on it:"
                " `ragkit jobs retry %d` tries it again",
                *(number, self.tenant, tried, number),
            )

    def _drop_upload(self, cursor: Cursor[Any], job: Job) -> None:
        if job.upload is not None:
            documents.drop_source(Session(cursor, self.tenant, None), job.upload.source)

    @contextmanager
    def _begun(self) -> Iterator[Cursor[Any]]:
        with self.connection.begun(self.tenant) as cursor:
            yield cursor

    def _values(self) -> dict[str, object]:
        return {
            "tenant": self.tenant,
            "collection": self.collection,
            "fewest": 0,
            "most": _ENDLESS,
            "worker": self.number,
            "lease": LEASE_S,
            "host": host(),
            "run": self._run,
            "token": secrets.randbits(63),
        }


def host() -> str:
    """Name this machine, as the ledger shows who did what."""
    return socket.gethostname()[:255]


@cache
def _enqueue_statement(count: int, attempts: int) -> bytes:
    """Write `_ENQUEUE` for so many jobs, which may be tried so often."""
    rows = ",".join(_ENQUEUED_ROW.format(n=n + 1) for n in range(count))
    return _ENQUEUE.format(rows=rows, attempts=attempts).encode()


def _columns(files: Sequence[File]) -> dict[str, list[Any]]:
    """Write files as parameters, each URI once, in one order everywhere: two do not deadlock."""
    hashes = dict((file, "") if isinstance(file, str) else file for file in files)
    uris = sorted(hashes)
    keys = [uri_key(uri) for uri in uris]
    return {"uris": uris, "keys": keys, "hashes": [hashes[uri] for uri in uris]}


def _jobs(cursor: Cursor[Any], statement: str, values: Mapping[str, object]) -> list[Job]:
    return [job for job, _, _ in claim_jobs(cursor, statement, values)]
