"""A worker's side of the upload jobs: take the next of all tenants, tell progress, fail, give back.

The ledger's rules hold (`ragkit.store.jobs`): an attempt is counted before work starts, and a dead
worker's jobs are free at once. It knows nothing of what the work is.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, Cursor

from ragkit.store import documents, holding, jobs
from ragkit.store.access import listed
from ragkit.store.lending import EVERYBODY, begun
from ragkit.store.rows import first_value
from ragkit.store.sent import own_key
from ragkit.store.session import Session
from ragkit.store.sources import KEY_DAYS
from ragkit.store.where import Readers

_NEXT = "SELECT tenant, id FROM ragkit_next_upload(%s)"  # locked; each tenant in turn
# The sender's principals are kept with the file; where it is gone already, he alone is known.
_JOB = """
    SELECT j.collection_id, j.uri, j.name, j.source_id, j.principal, j.attempts,
        CASE WHEN s.id IS NOT NULL THEN s.principals
            WHEN j.principal <> '' THEN ARRAY['user:' || j.principal] END
    FROM job j LEFT JOIN source s ON s.tenant = j.tenant AND s.id = j.source_id
    WHERE j.tenant = %s AND j.id = %s
"""
_TAKE = """
    UPDATE job SET state = 'running', worker = %(worker)s, attempts = attempts + 1, done = 0,
        total = 0, token = nextval('job_token'), host = %(host)s, stage = '', reason = '',
        lease_until = now() + make_interval(secs => %(lease)s), started_at = now(),
        finished_at = NULL, updated_at = now()
    WHERE tenant = %(tenant)s AND id = %(id)s
    RETURNING token
"""
_PROGRESS = """
    UPDATE job SET done = %s, total = %s, lease_until = now() + make_interval(secs => %s),
        updated_at = now()
    WHERE tenant = %s AND id = %s AND token = %s AND state = 'running'
"""
_RETRY = """
    UPDATE job SET state = 'queued', worker = NULL, token = NULL, lease_until = NULL,
        updated_at = now()
    WHERE tenant = %s AND id = %s
"""
_GIVE_BACK = "SELECT ragkit_give_back(%s)"
# Whoever sent the file is told the number of a document only if he may read it: in the place of the
# URI may be another's, and his own beside that.
_REPLACED = """
    UPDATE job SET state = 'done', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        reason = 'a later file has taken its place', finished_at = now(), updated_at = now(),
        document_id = (SELECT d.id FROM document d WHERE d.tenant = job.tenant
            AND d.collection_id = job.collection_id AND d.uri_key = ANY(%(keys)s::bytea[])
            AND may_read(d.owner, d.readers, %(readers)s::text[])
            ORDER BY array_position(%(keys)s::bytea[], d.uri_key) LIMIT 1)
    WHERE tenant = %(tenant)s AND id = %(id)s
"""
_NOTE = "UPDATE job SET reason = %s, updated_at = now() WHERE tenant = %s AND id = %s"
_SETTLE = """
    UPDATE job SET state = 'done', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        reason = %s, document_id = %s, finished_at = now(), updated_at = now()
    WHERE tenant = %s AND id = %s
"""
_SENDER = "SELECT principal FROM job WHERE tenant = %s AND id = %s"
_FORGET = "SELECT ragkit_forget_uploads(%s, %s)"
JOB_DAYS = 30  # arbitrary: for so long it can be read what became of an upload


@dataclass(frozen=True, slots=True)
class TakenUpload:
    """An upload that a worker has taken, held for as long as `token` is the job's own.

    `attempts` counts this one. `principal` sent it; `readers` are the principals that he went by,
    None: an operator.
    """

    tenant: str
    id: int
    collection: str
    uri: str
    name: str
    source: int
    principal: str
    attempts: int
    readers: Readers
    token: int


class UploadWorker:
    """One living worker on the uploads of all tenants; its methods may be called by many threads.

    Needs a connection of its own in autocommit mode, whose errors it passes on.
    """

    def __init__(self, conn: Connection[Any]) -> None:
        self._conn = conn
        self._lock = threading.Lock()  # a transaction must not be shared
        self._last = ""  # the tenant whose turn was last
        self.number = jobs.register(conn)

    def claim(self, *, without: Collection[str] = ()) -> TakenUpload | None:
        """Take the next upload, of a tenant that is not in `without`; None when there is none.

        An upload that was tried too often fails.
        """
        with self._lock:
            while True:
                with begun(self._conn, EVERYBODY) as cursor:
                    row = self._next(cursor, without)
                    if row is None:
                        return None
                    cursor.execute("SELECT set_config('ragkit.tenant', %s, true)", (row[0],))
                    taken = self._take(cursor, *row)
                if taken is not None:
                    self._last = taken.tenant
                    return taken

    def _next(self, cursor: Cursor[Any], without: Collection[str]) -> tuple[str, int] | None:
        """Lock the next upload: of one tenant after the other, until all have had their turn."""
        last = self._last
        passed: set[str] = set()
        while (row := cursor.execute(_NEXT, (last,)).fetchone()) is not None:
            tenant, job = row
            if tenant not in without:
                return tenant, job
            if tenant in passed:
                return None
            passed.add(tenant)
            last = tenant
        return None

    def _take(self, cursor: Cursor[Any], tenant: str, job: int) -> TakenUpload | None:
        """Take a job that is locked; None when it was tried too often, which fails it."""
        row = cursor.execute(_JOB, (tenant, job)).fetchone()
        assert row is not None
        collection, uri, name, source, principal, attempts, readers = row
        if attempts >= jobs.MAX_ATTEMPTS:
            said = f"the program ended while at work on this file, {attempts} times"
            holding.set_aside(cursor, tenant, job, "worker", said)
            if source is not None:
                documents.drop_source(Session(cursor, tenant), source)
            return None
        taken = {"worker": self.number, "lease": jobs.LEASE_S, "tenant": tenant, "id": job}
        token = int(first_value(cursor, _TAKE, {**taken, "host": jobs.host()}))
        owner = _collection(cursor, tenant, collection)
        known = None if readers is None else tuple(readers)
        return TakenUpload(
            *(tenant, job, owner, uri, name, source, principal, attempts + 1, known, token)
        )

    def progress(self, job: TakenUpload, done: int, total: int) -> bool:
        """Record that `done` of `total` chunks are embedded, and renew the lease.

        False when the job is no longer this worker's: deleted, or taken by another.
        """
        values = (done, total, jobs.LEASE_S, job.tenant, job.id, job.token)
        with self._lock, begun(self._conn, job.tenant) as cursor:
            return cursor.execute(_PROGRESS, values).rowcount > 0

    def fail(self, job: TakenUpload, stage: str, reason: str) -> None:
        """Record why an upload failed; its bytes are deleted.

        Raises LeaseLostError, here and below, when the job is no longer this worker's.
        """
        with self._lock, begun(self._conn, job.tenant) as cursor:
            holding.fail(cursor, job.tenant, job, stage, reason)
            documents.drop_source(Session(cursor, job.tenant), job.source)

    def note(self, job: TakenUpload, reason: str) -> None:
        """Write what is to be said of an upload, which stays when it is done."""
        with self._lock, begun(self._conn, job.tenant) as cursor:
            holding.hold(cursor, job.tenant, job)
            cursor.execute(_NOTE, (reason, job.tenant, job.id))

    def settle(self, job: TakenUpload, reason: str, document: int | None = None) -> None:
        """Finish an upload of which no document was made; `document` is one in its stead."""
        with self._lock, begun(self._conn, job.tenant) as cursor:
            holding.hold(cursor, job.tenant, job)
            cursor.execute(_SETTLE, (reason, document, job.tenant, job.id))
            documents.drop_source(Session(cursor, job.tenant), job.source)

    def replaced(self, job: TakenUpload) -> None:
        """Record that a later upload has taken this one's place."""
        with self._lock, begun(self._conn, job.tenant) as cursor:
            holding.hold(cursor, job.tenant, job)
            row = cursor.execute(_SENDER, (job.tenant, job.id)).fetchone()
            keys = [] if row is None else [own_key(job.uri, row[0]), documents.uri_key(job.uri)]
            values = {"keys": keys, "tenant": job.tenant, "id": job.id}
            cursor.execute(_REPLACED, {**values, "readers": listed(job.readers)})
            documents.drop_source(Session(cursor, job.tenant), job.source)

    def retry(self, job: TakenUpload, stage: str, reason: str) -> bool:
        """Give back what may go well next time; False when it was the last attempt: it failed."""
        if job.attempts >= jobs.MAX_ATTEMPTS:
            self.fail(job, stage, reason)
            return False
        with self._lock, begun(self._conn, job.tenant) as cursor:
            holding.hold(cursor, job.tenant, job)
            cursor.execute(_RETRY, (job.tenant, job.id))
        return True

    def give_back(self, workers: Sequence[int]) -> None:
        """Give back what these workers had; an attempt that was broken off does not count."""
        with self._lock, begun(self._conn, EVERYBODY) as cursor:
            cursor.execute(_GIVE_BACK, (list(workers),))

    def forget_old(self) -> None:
        """Delete the records of jobs and idempotency keys that are past their time."""
        with self._lock, begun(self._conn, EVERYBODY) as cursor:
            cursor.execute(_FORGET, (KEY_DAYS, JOB_DAYS))

    def close(self) -> None:
        """Give back what was taken and not done, and stop being a worker."""
        self.give_back([self.number])
        with self._lock:
            jobs.unregister(self._conn, self.number)


def _collection(cursor: Cursor[Any], tenant: str, number: int) -> str:
    query = "SELECT name FROM collection WHERE tenant = %s AND id = %s"
    return str(first_value(cursor, query, (tenant, number)))  # its jobs are deleted with it
