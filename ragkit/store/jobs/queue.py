"""Jobs that any worker may take: files at their places, and uploads; which queues they wait in.

Such a job is as any other (see `ragkit.store.jobs.worker`) and has a place, or an uploaded file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

from ragkit.store.connection.transactions import EVERYBODY, lent, transaction
from ragkit.store.documents.documents import uri_key
from ragkit.store.jobs import lease
from ragkit.store.jobs.job import Job, claim, claim_jobs, free_jobs, quarantine
from ragkit.store.jobs.upload_bytes import CHANNEL, KEY_DAYS
from ragkit.store.jobs.worker import MAX_ATTEMPTS, MAX_TOGETHER, Worker
from ragkit.store.jobs.worker_connection import WorkerConnection

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

JOB_DAYS: Final = 30  # arbitrary: for so long it can be read what became of an upload

_ADD_PLACE: Final = """
    INSERT INTO job_place (tenant, collection_id, root, options, key) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (tenant, collection_id, key) DO UPDATE SET options = excluded.options
    RETURNING id
"""
_PLACE: Final = """
    SELECT root, options FROM job_place WHERE tenant = %s AND id = %s
"""
_PUT: Final = """
    UPDATE job j SET place_id = %(place)s, path = t.path
    FROM unnest(%(keys)s::bytea[], %(paths)s::bytea[]) AS t (key, path)
    WHERE j.tenant = %(tenant)s AND j.collection_id = %(collection)s AND j.kind = 'ingest'
        AND j.uri_key = t.key
    RETURNING j.state
"""
_WAITING_JOBS: Final = free_jobs("""
    (j.place_id IS NOT NULL OR j.kind = 'upload') AND CASE WHEN j.place_id IS NULL THEN true
        ELSE %(places)s AND j.place_id <> ALL(%(without)s::bigint[]) END""")
_QUARANTINE: Final = quarantine(_WAITING_JOBS)
_CLAIM_WAITING: Final = claim(_WAITING_JOBS)
# What was read is what the job is for from here on.
_CONFIRM: Final = """
    UPDATE job j SET content_hash = coalesce(nullif(held.hash, ''), j.content_hash),
        seen_at = greatest(j.seen_at, now() - make_interval(secs => %(age)s)), updated_at = now()
    FROM unnest(%(ids)s::bigint[], %(tokens)s::bigint[], %(hashes)s::text[])
        AS held (id, token, hash)
    WHERE j.tenant = %(tenant)s AND j.id = held.id AND j.token = held.token
        AND j.state = 'running'
    RETURNING j.id
"""
_LEAVE: Final = """
    UPDATE job SET state = 'queued', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        attempts = attempts - 1, run_id = NULL, reason = %s, updated_at = now()
    WHERE tenant = %s AND id = %s AND token = %s AND state = 'running'
"""
_NOTE: Final = "UPDATE job SET reason = %s, updated_at = now() WHERE tenant = %s AND id = %s"
_WAITING: Final = """
    SELECT tenant, collection_id, name, place_id, suspect, free, held, first
    FROM ragkit_waiting(%s)
"""
_FORGET: Final = "SELECT ragkit_forget_uploads(%s, %s)"


@dataclass(frozen=True, slots=True)
class QueuedFile:
    """A job that was claimed; of a file at a place also that place's number and the path in it."""

    job: Job
    place: int | None
    path: str


@dataclass(slots=True)
class Waiting:
    """A collection's queue: how many files at places and uploads wait, how many are at work.

    `places` are those of the files, and `suspect_places` of files that may be taken alone only;
    None stands for uploads. At work are jobs that a living worker has. `first` is the number of the
    oldest job.
    """

    tenant: str
    collection: int
    name: str
    files: int = 0
    uploads: int = 0
    at_work: int = 0
    first: int = 0
    places: set[int | None] = field(default_factory=set)
    suspect_places: set[int | None] = field(default_factory=set)


class QueueWorker(Worker):
    """A worker that claims the jobs of a queue; made by `queue_worker`."""

    def add_place(self, root: str, options: Mapping[str, object]) -> int:
        """Note where files lie and how they are to be read; return the place's number."""
        text = json.dumps(options, sort_keys=True)
        key = hashlib.sha256(_bytes(root) + b"\0" + text.encode()).digest()
        with self._begun() as cursor:
            values = (self.tenant, self.collection, _bytes(root), Jsonb(dict(options)), key)
            row = cursor.execute(_ADD_PLACE, values).fetchone()
            assert row is not None
            return int(row[0])

    def place(self, number: int) -> tuple[str, Mapping[str, Any]]:
        """Return a place's root, and how its files are to be read."""
        with self._begun() as cursor:
            row = cursor.execute(_PLACE, (self.tenant, number)).fetchone()
            assert row is not None, "a place stays for as long as its jobs"
            return _text(row[0]), row[1]

    def put(self, place: int, files: Sequence[tuple[str, str, str]], *, age_s: float = 0.0) -> int:
        """Queue files of a place: (URI, hash of what was read there or "", path).

        `age_s` is as in `enqueue`. Return how many of them wait now.
        """
        files = sorted({uri: (uri, content, path) for uri, content, path in files}.values())
        keys, paths = [uri_key(file[0]) for file in files], [_bytes(file[2]) for file in files]
        with self._begun() as cursor:
            self._enqueue(cursor, [file[:2] for file in files], age_s)
            values = {**self._values(), "place": place, "keys": keys, "paths": paths}
            rows = cursor.execute(_PUT, values).fetchall()
            cursor.execute("SELECT pg_notify(%s, '')", (CHANNEL,))
        return sum(state == "queued" for (state,) in rows)

    def next_files(
        self,
        limit: int,
        *,
        places: bool = True,
        without: Collection[int] = (),
        alone: bool = False,
    ) -> list[QueuedFile]:
        """Claim up to `limit` jobs that wait, the oldest first, but none at places `without`.

        A suspect is claimed only if `alone`: when nothing else is worked on. Without `places` only
        uploads are claimed. Nothing comes once the connection has given its jobs back.
        """
        most = MAX_TOGETHER + MAX_ATTEMPTS
        values = {**self._values(), "limit": limit, "places": places, "without": list(without)}
        bounds = (MAX_TOGETHER, most - 1) if alone else (0, MAX_TOGETHER - 1)
        with self._begun() as cursor:
            if self.connection.is_closed:
                return []
            self._set_aside(cursor, _QUARANTINE, values, most)
            values |= {"fewest": bounds[0], "most": bounds[1]}
            claimed = claim_jobs(cursor, _CLAIM_WAITING, values)
        return [
            QueuedFile(job, place, "" if path is None else _text(path))
            for job, place, path in claimed
        ]

    def confirm(self, jobs: Sequence[tuple[Job, str]], *, age_s: float = 0.0) -> list[Job]:
        """Keep jobs for the content that was read, each with its hash, "" where reading failed.

        Return those that are still this worker's. `age_s` is as in `enqueue`.
        """
        values = {
            "tenant": self.tenant,
            "age": age_s,
            "ids": [job.id for job, _ in jobs],
            "tokens": [job.token for job, _ in jobs],
            "hashes": [content for _, content in jobs],
        }
        with self._begun() as cursor:
            held = {row[0] for row in cursor.execute(_CONFIRM, values)}
        return [
            replace(job, content_hash=content or job.content_hash)
            for job, content in jobs
            if job.id in held
        ]

    def leave(self, job: Job, reason: str) -> None:
        """Release a file that is for other workers, and say why; this attempt does not count."""
        with self._begun() as cursor:
            cursor.execute(_LEAVE, (reason, self.tenant, job.id, job.token))

    def note(self, job: Job, reason: str) -> None:
        """Write a remark on an upload, which stays when it is done. Raises LeaseLostError."""
        with self._begun() as cursor:
            lease.hold(cursor, self.tenant, job)
            cursor.execute(_NOTE, (reason, self.tenant, job.id))


@contextmanager
def queue_worker(
    pool: ConnectionPool[Connection[Any]], tenant: str, collection: int, *, run: int | None = None
) -> Iterator[QueueWorker]:
    """Be a worker on a collection's queue for a while; needs connections in autocommit mode."""
    with lent(pool) as conn:
        connection = WorkerConnection(conn)
        try:
            yield QueueWorker(connection, tenant, collection, run=run)
        finally:
            if not conn.broken:
                connection.close()


def waiting(pool: ConnectionPool[Connection[Any]], tenant: str | None = None) -> list[Waiting]:
    """List the queues that hold something, the one with the oldest job first; None: all tenants'.

    Raises DatabaseError.
    """
    queues: dict[int, Waiting] = {}
    with transaction(pool, EVERYBODY) as cursor:
        rows = cursor.execute(_WAITING, (MAX_TOGETHER,)).fetchall()
    for owner, collection, name, place, is_suspect, free, held, first in rows:
        if tenant not in (None, owner):
            continue
        queue = queues.setdefault(collection, Waiting(owner, collection, name, first=first))
        queue.first = min(queue.first, first)
        queue.at_work += held
        if place is None:
            queue.uploads += free
        else:
            queue.files += free
        if free:
            (queue.suspect_places if is_suspect else queue.places).add(place)
    return sorted(queues.values(), key=lambda queue: queue.first)


def next_queue(queues: Sequence[Waiting], last: str) -> Waiting:
    """Return the queue whose turn it is: of the tenant after the last one, the oldest."""
    return min(queues, key=lambda queue: (queue.tenant <= last, queue.tenant, queue.first))


def forget_ended_uploads(pool: ConnectionPool[Connection[Any]]) -> None:
    """Delete the records of uploads and idempotency keys that are past their time."""
    with transaction(pool, EVERYBODY) as cursor:
        cursor.execute(_FORGET, (KEY_DAYS, JOB_DAYS))


def _bytes(path: str) -> bytes:
    """Write a path as the bytes that it is on this machine, whatever they say as text."""
    return path.encode("utf-8", "surrogateescape")


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
