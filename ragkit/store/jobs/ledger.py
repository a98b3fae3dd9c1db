"""The job ledger: runs, and the jobs of a tenant, listed, tried again and cancelled.

It knows nothing of how a worker takes jobs: see `ragkit.store.jobs.worker`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from psycopg.errors import ForeignKeyViolation
from psycopg.types.json import Jsonb

from ragkit.errors import DatabaseError, NotFoundError, UsageError
from ragkit.store.connection.rows import first_value
from ragkit.store.connection.transactions import lent, transaction
from ragkit.store.documents import documents
from ragkit.store.jobs.worker import Worker, host
from ragkit.store.jobs.worker_connection import WorkerConnection
from ragkit.store.session import Session

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

STATES: Final = ("queued", "running", "done", "failed", "cancelled")

_JOBS: Final = """
    SELECT j.id, c.name, j.kind, j.uri, j.state, j.attempts, j.stage, j.reason, j.content_hash,
        j.host, j.run_id, j.document_id, j.created_at, j.started_at, j.finished_at, j.updated_at,
        j.figures, p.root
    FROM job j JOIN collection c ON c.tenant = j.tenant AND c.id = j.collection_id
    LEFT JOIN job_place p ON p.tenant = j.tenant AND p.id = j.place_id
    WHERE j.tenant = %(tenant)s
"""
_SOME: Final = f"{_JOBS} AND j.id = ANY(%(ids)s) ORDER BY j.id"
_PAGE: Final = f"""{_JOBS}
    AND (%(collection)s::text IS NULL OR c.name = %(collection)s)
    AND (%(state)s::text IS NULL OR j.state = %(state)s)
    AND (%(run)s::bigint IS NULL OR j.run_id = %(run)s)
    AND (%(before)s::bigint IS NULL OR j.id < %(before)s)
    ORDER BY j.id DESC LIMIT %(limit)s
"""
_COUNTS: Final = """
    SELECT c.name, j.state, count(*) FROM job j
    JOIN collection c ON c.tenant = j.tenant AND c.id = j.collection_id
    WHERE j.tenant = %s GROUP BY c.name, j.state
"""
_LOCK: Final = """
    SELECT id, state, uri, document_id, source_id, kind = 'upload' AND NOT EXISTS (
        SELECT FROM source s WHERE s.tenant = job.tenant AND s.id = job.source_id)
    FROM job WHERE tenant = %s AND id = ANY(%s) ORDER BY id FOR UPDATE
"""
_RETRY: Final = """
    UPDATE job SET state = 'queued', attempts = 0, stage = '', reason = '', worker = NULL,
        token = NULL, lease_until = NULL, started_at = NULL, finished_at = NULL, seen_at = now(),
        updated_at = now()
    WHERE tenant = %s AND id = ANY(%s)
"""
_CANCEL: Final = """
    UPDATE job SET state = 'cancelled', stage = '', reason = 'it was cancelled', worker = NULL,
        token = NULL, lease_until = NULL, seen_at = now(), finished_at = now(), updated_at = now()
    WHERE tenant = %s AND id = ANY(%s)
"""
_SETTLE: Final = """
    UPDATE job SET state = 'done', stage = '', reason = '', finished_at = now(), updated_at = now()
    WHERE tenant = %s AND id = ANY(%s) AND state = 'failed'
"""
_SET_ASIDE: Final = """
    SELECT j.id FROM job j WHERE j.tenant = %(tenant)s AND j.state IN ('failed', 'cancelled')
        AND (%(collection)s::bigint IS NULL OR j.collection_id = %(collection)s)
        AND (j.kind <> 'upload' OR EXISTS (
            SELECT FROM source s WHERE s.tenant = j.tenant AND s.id = j.source_id))
    ORDER BY j.id
"""
_START: Final = """
    INSERT INTO ingest_run (tenant, collection_id, command, host) VALUES (%s, %s, %s, %s)
    RETURNING id
"""
_END: Final = """
    UPDATE ingest_run SET ended_at = now(), figures = %s WHERE tenant = %s AND id = %s
"""
_DROP_RUN: Final = "DELETE FROM ingest_run WHERE tenant = %s AND id = %s"
_RUNS: Final = """
    SELECT r.id, c.name, r.command, r.host, r.started_at, r.ended_at, r.figures
    FROM ingest_run r JOIN collection c ON c.tenant = r.tenant AND c.id = r.collection_id
    WHERE r.tenant = %(tenant)s AND (%(id)s::bigint IS NULL OR r.id = %(id)s)
        AND (%(collection)s::text IS NULL OR c.name = %(collection)s)
    ORDER BY r.id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class LedgerJob:
    """A job as it stands. `figures` are what its worker told when it ended.

    `place` is where a file that was queued for workers is looked for; "" where nobody queued it.
    """

    id: int
    collection: str
    kind: str
    uri: str
    state: str
    attempts: int
    stage: str
    reason: str
    content_hash: str
    host: str
    run: int | None
    document: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    updated_at: datetime
    figures: Mapping[str, Any]
    place: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A command or worker at work on a collection; without an end it is at work, or was killed."""

    id: int
    collection: str
    command: str
    host: str
    started_at: datetime
    ended_at: datetime | None
    figures: Mapping[str, Any]


class Ledger:
    """The jobs of one tenant; methods raise DatabaseError."""

    def __init__(self, pool: ConnectionPool[Connection[Any]], tenant: str) -> None:
        self._pool = pool
        self._tenant = tenant

    @contextmanager
    def worker(self, collection: int, *, run: int | None = None) -> Iterator[Worker]:
        """Be a worker for a while; needs connections in autocommit mode."""
        with lent(self._pool) as conn:
            connection = WorkerConnection(conn)
            try:
                yield Worker(connection, self._tenant, collection, run=run)
            finally:
                if not conn.broken:
                    connection.close()

    def start_run(self, collection: int, command: str) -> int:
        """Note that a command begins on a collection; return the run's number.

        Raises NotFoundError where the collection was deleted meanwhile.
        """
        values = (self._tenant, collection, command, host())
        try:
            with transaction(self._pool, self._tenant, None) as cursor:
                return int(first_value(cursor, _START, values))
        except DatabaseError as error:
            if not isinstance(error.__cause__, ForeignKeyViolation):
                raise
            raise NotFoundError(
                "The collection was deleted just now: run the same command again."
            ) from error

    def end_run(self, run: int, figures: Mapping[str, object]) -> None:
        """Note that a run is over, and what it did; nothing where its collection is gone."""
        with transaction(self._pool, self._tenant, None) as cursor:
            cursor.execute(_END, (Jsonb(dict(figures)), self._tenant, run))

    def drop_run(self, run: int) -> None:
        """Forget a run in which there was nothing to do."""
        with transaction(self._pool, self._tenant, None) as cursor:
            cursor.execute(_DROP_RUN, (self._tenant, run))

    def runs(self, *, collection: str | None = None, limit: int = 50) -> list[Run]:
        """List runs, latest first."""
        return self._runs(None, collection, limit)

    def run(self, run: int) -> Run:
        """Look a run up. Raises NotFoundError."""
        found = self._runs(run, None, 1)
        if not found:
            raise NotFoundError(f"There is no run {run}.")
        return found[0]

    def jobs(
        self,
        *,
        collection: str | None = None,
        state: str | None = None,
        run: int | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[LedgerJob]:
        """List jobs, those of the highest number first and only numbers below `before`.

        Raises UsageError for a state that there is not, NotFoundError for an unknown collection.
        """
        if state is not None and state not in STATES:
            raise UsageError(f"{state!r} is no state of a job: use {', '.join(STATES)}")
        values = {"tenant": self._tenant, "collection": collection, "state": state, "run": run}
        with transaction(self._pool, self._tenant, None) as cursor:
            self._number(cursor, collection)
            rows = cursor.execute(_PAGE, {**values, "before": before, "limit": limit})
            return [_job(row) for row in rows]

    def job(self, job: int) -> LedgerJob:
        """Look a job up. Raises NotFoundError."""
        with transaction(self._pool, self._tenant, None) as cursor:
            rows = cursor.execute(_SOME, {"tenant": self._tenant, "ids": [job]}).fetchall()
        if not rows:
            raise _no_job(job)
        return _job(rows[0])

    def counts(self) -> dict[str, dict[str, int]]:
        """Count each collection's jobs by their states."""
        found: dict[str, dict[str, int]] = {}
        with transaction(self._pool, self._tenant, None) as cursor:
            for name, state, number in cursor.execute(_COUNTS, (self._tenant,)):
                found.setdefault(str(name), {})[str(state)] = int(number)
        return found

    def settle(self, jobs: Sequence[int]) -> None:
        """Note that what failed once is well, though there is nothing to store of it."""
        if jobs:
            with transaction(self._pool, self._tenant, None) as cursor:
                cursor.execute(_SETTLE, (self._tenant, list(jobs)))

    def retry(self, jobs: Sequence[int]) -> None:
        """Queue failed and cancelled jobs again, with all attempts before them; all or none.

        Raises NotFoundError, and UsageError for a job in another state or whose file is gone.
        """
        with transaction(self._pool, self._tenant, None) as cursor:
            for number, state, uri, _, _, gone in self._locked(cursor, jobs):
                if state not in {"failed", "cancelled"}:
                    raise UsageError(
                        f"job {number} ({uri}) is {state}: only failed and cancelled ones are"
                        " retried"
                    )
                if gone:
                    raise UsageError(
                        f"the uploaded file of job {number} is kept no more: send it again"
                    )
            cursor.execute(_RETRY, (self._tenant, list(jobs)))

    def retry_all(self, collection: str | None = None) -> list[int]:
        """Queue all failed and cancelled jobs again whose files are there; return their numbers."""
        with transaction(self._pool, self._tenant, None) as cursor:
            number = self._number(cursor, collection)
            values = {"tenant": self._tenant, "collection": number}
            found = [int(row[0]) for row in cursor.execute(_SET_ASIDE, values).fetchall()]
            rows = list(self._locked(cursor, found))
            still = [int(row[0]) for row in rows if row[1] in {"failed", "cancelled"}]
            cursor.execute(_RETRY, (self._tenant, still))
            return still

    def cancel(self, jobs: Sequence[int]) -> None:
        """Cancel queued and running jobs; whoever works on one is refused to store it; all or none.

        Raises NotFoundError, and UsageError for a job that is done or has failed.
        """
        with transaction(self._pool, self._tenant, None) as cursor:
            sources: list[int] = []
            for number, state, uri, document, source, _ in self._locked(cursor, jobs):
                if state == "done":
                    made = f": `ragkit documents delete {document}`" if document else ""
                    raise UsageError(
                        f"job {number} ({uri}) is done and cannot be cancelled; delete what was"
                        f" made of it{made}"
                    )
                if state == "failed":
                    raise UsageError(f"job {number} ({uri}) has failed: nothing is to be cancelled")
                if source is not None:
                    sources.append(int(source))
            cursor.execute(_CANCEL, (self._tenant, list(jobs)))
            for source in sources:
                documents.drop_source(Session(cursor, self._tenant), source)

    def _locked(
        self, cursor: Cursor[Any], jobs: Sequence[int]
    ) -> Iterator[tuple[int, str, str, int | None, int | None, bool]]:
        rows = cursor.execute(_LOCK, (self._tenant, list(jobs))).fetchall()
        missing = set(jobs) - {row[0] for row in rows}
        if missing:
            raise _no_job(min(missing))
        yield from rows

    def _number(self, cursor: Cursor[Any], collection: str | None) -> int | None:
        if collection is None:
            return None
        return documents.collection_id(Session(cursor, self._tenant), collection)

    def _runs(self, run: int | None, collection: str | None, limit: int) -> list[Run]:
        values = {"tenant": self._tenant, "id": run, "collection": collection, "limit": limit}
        with transaction(self._pool, self._tenant, None) as cursor:
            self._number(cursor, collection)
            return [Run(*row) for row in cursor.execute(_RUNS, values)]


def _job(row: tuple[Any, ...]) -> LedgerJob:
    """Read a row; bytes of a place that are not UTF-8 are written as \\xNN, as in a URI."""
    place = (row[-1] or b"").decode("utf-8", "backslashreplace")
    values = [*row[:-1], place]
    return LedgerJob(*values)


def _no_job(job: int) -> NotFoundError:
    return NotFoundError(f"There is no job {job}: `ragkit jobs list` shows those there are.")
