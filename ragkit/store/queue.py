"""Files in the ledger that any worker may take in: where they lie, and whose turn it is.

Such a file's job is as any other's (see `ragkit.store.jobs`), and has a place beside. It knows
nothing of what is done with a file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

from ragkit.store.documents import uri_key
from ragkit.store.jobs import MAX_ATTEMPTS, MAX_TOGETHER, OPEN, File, Job, Worker
from ragkit.store.lending import lent, transaction

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

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
    WHERE j.tenant = %(tenant)s AND j.collection_id = %(collection)s AND j.kind = %(kind)s
        AND j.uri_key = t.key
    RETURNING j.state
"""
_FREE: Final = f"""
    SELECT j.tenant, j.id FROM job j
    WHERE j.tenant = %(tenant)s AND j.collection_id = %(collection)s AND j.kind = %(kind)s
        AND j.state IN ('queued', 'running') AND j.place_id IS NOT NULL AND {OPEN}
        AND j.place_id <> ALL(%(without)s::bigint[])
        AND j.attempts BETWEEN %(fewest)s AND %(most)s
    ORDER BY j.id LIMIT %(limit)s FOR UPDATE OF j SKIP LOCKED
"""  # noqa: S608  built from constants only
_QUARANTINE: Final = f"""
    UPDATE job SET state = 'failed', worker = NULL, token = NULL, lease_until = NULL,
        stage = coalesce(nullif(stage, ''), 'worker'), finished_at = now(), updated_at = now(),
        reason = 'the program ended while at work on this file, ' || attempts || ' times'
    WHERE (tenant, id) IN ({_FREE})
"""  # noqa: S608  built from constants only
_NEXT: Final = f"""
    UPDATE job SET state = 'running', worker = %(worker)s, attempts = attempts + 1, stage = '',
        reason = '', token = nextval('job_token'), host = %(host)s, run_id = %(run)s,
        lease_until = now() + make_interval(secs => %(lease)s), started_at = now(),
        finished_at = NULL, updated_at = now()
    WHERE (tenant, id) IN ({_FREE})
    RETURNING id, uri, token, attempts, content_hash, place_id, path
"""  # noqa: S608  built from constants only
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
_UNDER_WAY: Final = """
    SELECT count(*) FROM job
    WHERE tenant = %s AND collection_id = %s AND worker = %s AND state = 'running'
"""
_WAITING: Final = f"""
    SELECT c.id, c.name, array_agg(DISTINCT j.place_id) FILTER (WHERE {OPEN}),
        count(*) FILTER (WHERE {OPEN}), count(*) FILTER (WHERE NOT {OPEN})
    FROM job j JOIN collection c ON c.tenant = j.tenant AND c.id = j.collection_id
    WHERE j.tenant = %s AND j.place_id IS NOT NULL AND j.state IN ('queued', 'running')
    GROUP BY c.id, c.name ORDER BY min(j.id)
"""  # noqa: S608  built from constants only


@dataclass(frozen=True, slots=True)
class QueuedFile:
    """A file that was taken: its job, its place's number, and where it lies in the place."""

    job: Job
    place: int
    path: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a collection's queue holds: how many files wait, at which places; how many are at work.

    At work are those that a living worker has.
    """

    collection: int
    name: str
    places: frozenset[int]
    files: int
    at_work: int


class QueueWorker(Worker):
    """A worker that takes files as they were queued; made by `queue_worker`.

    What it took and has not begun it holds: `take` hands it on when its file has been read.
    """

    def __init__(self, *of: Any, **more: Any) -> None:
        super().__init__(*of, **more)
        self._held: dict[str, Job] = {}
        self._is_closed = False

    def add_place(self, root: str, options: Mapping[str, object]) -> int:
        """Note where files lie and what is said of them; return the number it goes by."""
        said = json.dumps(options, sort_keys=True)
        key = hashlib.sha256(_bytes(root) + b"\0" + said.encode()).digest()
        with self._begun() as cursor:
            values = (self._tenant, self._collection, _bytes(root), Jsonb(dict(options)), key)
            row = cursor.execute(_ADD_PLACE, values).fetchone()
            assert row is not None
            return int(row[0])

    def place(self, number: int) -> tuple[str, Mapping[str, Any]]:
        """Return a place's root and what was said of it."""
        with self._begun() as cursor:
            row = cursor.execute(_PLACE, (self._tenant, number)).fetchone()
            assert row is not None, "a place stays for as long as its jobs"
            return _text(row[0]), row[1]

    def put(self, place: int, files: Sequence[tuple[str, str, str]], *, age_s: float = 0.0) -> int:
        """Queue files of a place: (URI, hash of what was read there or "", path).

        `age_s` is as in `enqueue`. Return how many of them wait now.
        """
        once = sorted({uri: (uri, content, path) for uri, content, path in files}.values())
        keys, paths = [uri_key(file[0]) for file in once], [_bytes(file[2]) for file in once]
        with self._begun() as cursor:
            self._enqueue(cursor, [file[:2] for file in once], age_s)
            values = {**self._values(), "place": place, "keys": keys, "paths": paths}
            rows = cursor.execute(_PUT, values).fetchall()
        return sum(state == "queued" for (state,) in rows)

    def next_files(
        self, limit: int, *, without: Collection[int] = (), alone: bool = False
    ) -> list[QueuedFile]:
        """Take up to `limit` files that wait, the oldest first, but none at places `without`.

        One that was at hand when a program ended, MAX_TOGETHER times, is taken only if `alone`:
        when nothing else is worked on. Nothing comes once this is closed.
        """
        most = MAX_TOGETHER + MAX_ATTEMPTS
        values = {**self._values(), "limit": limit, "without": list(without)}
        wanted = (MAX_TOGETHER, most - 1) if alone else (0, MAX_TOGETHER - 1)
        with self._begun() as cursor:
            if self._is_closed:
                return []
            cursor.execute(_QUARANTINE, {**values, "fewest": most, "most": 1 << 30})
            values |= {"fewest": wanted[0], "most": wanted[1]}
            rows = cursor.execute(_NEXT, values).fetchall()
        found = [QueuedFile(Job(*row[:5]), row[5], _text(row[6])) for row in rows]
        found.sort(key=lambda file: file.job.id)
        self._held.update({file.job.uri: file.job for file in found})
        return found

    def take(self, files: Sequence[File], *, age_s: float = 0.0, alone: bool = False) -> list[Job]:
        """Confirm what is held already, now that it has been read; take the rest as others do."""
        given = [(file, "") if isinstance(file, str) else file for file in files]
        mine = [(self._held.pop(uri), content) for uri, content in given if uri in self._held]
        own = {job.uri for job, _ in mine}
        rest = [file for file in given if file[0] not in own]
        taken = super().take(rest, age_s=age_s, alone=alone) if rest else []
        return self._confirmed(mine, age_s) + taken if mine else taken

    def release(self, job: Job) -> None:
        """Keep a job for later: given back, it would come again at once."""
        self._held[job.uri] = job

    def leave(self, job: Job, reason: str) -> None:
        """Give a file back that is for other workers, and say why; this attempt does not count."""
        self._held.pop(job.uri, None)
        with self._begun() as cursor:
            cursor.execute(_LEAVE, (reason, self._tenant, job.id, job.token))

    def is_held(self, job: Job) -> bool:
        """Say whether a job that was taken has not been handed on."""
        return self._held.get(job.uri) == job

    def count_under_way(self) -> int:
        """Count what this worker is at, without what it holds for later."""
        values = (self._tenant, self._collection, self.number)
        with self._begun() as cursor:
            row = cursor.execute(_UNDER_WAY, values).fetchone()
            return int(row[0]) - len(self._held) if row else 0

    def close(self) -> None:
        """Give back what was taken and not done, and take nothing any more."""
        with self._lock:
            self._is_closed = True
        super().close()

    def _confirmed(self, mine: Sequence[tuple[Job, str]], age_s: float) -> list[Job]:
        values = {
            "tenant": self._tenant,
            "age": age_s,
            "ids": [job.id for job, _ in mine],
            "tokens": [job.token for job, _ in mine],
            "hashes": [content for _, content in mine],
        }
        with self._begun() as cursor:
            still = {row[0] for row in cursor.execute(_CONFIRM, values)}
        return [
            replace(job, content_hash=content or job.content_hash)
            for job, content in mine
            if job.id in still
        ]


@contextmanager
def queue_worker(
    pool: ConnectionPool[Connection[Any]],
    tenant: str,
    collection: int,
    kind: str,
    *,
    run: int | None = None,
) -> Iterator[QueueWorker]:
    """Be a worker on a collection's queue for a while; needs connections in autocommit mode."""
    with lent(pool) as conn:
        worker = QueueWorker(conn, tenant, collection, kind, run=run)
        try:
            yield worker
        finally:
            if not conn.broken:
                worker.close()


def waiting(pool: ConnectionPool[Connection[Any]], tenant: str) -> list[Waiting]:
    """List the collections in whose queues something is, those with the oldest first.

    Raises DatabaseError.
    """
    with transaction(pool, tenant) as cursor:
        rows = cursor.execute(_WAITING, (tenant,)).fetchall()
    return [Waiting(row[0], row[1], frozenset(row[2] or ()), row[3], row[4]) for row in rows]


def _bytes(path: str) -> bytes:
    """Write a path as the bytes that it is on this machine, whatever they say as text."""
    return path.encode("utf-8", "surrogateescape")


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
