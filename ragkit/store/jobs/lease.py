"""Who holds a job: what a worker writes takes effect only while its token is the job's own.

Each function runs in the caller's transaction and locks the job's row to its end, so that nobody
can take the job away between the check and the commit. It knows nothing of how jobs are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from psycopg.types.json import Jsonb

from ragkit.errors import LeaseLostError

if TYPE_CHECKING:
    from psycopg import Cursor

_HOLD: Final = """
    SELECT 1 FROM job WHERE tenant = %s AND id = %s AND state = 'running' AND token = %s FOR UPDATE
"""
# In one order everywhere, so that two who hold several do not deadlock.
_HOLD_SOME: Final = """
    SELECT id, token FROM job WHERE tenant = %s AND id = ANY(%s) AND state = 'running'
    ORDER BY id FOR UPDATE
"""
# What an upload's worker noted is for whoever sent it.
_FINISH: Final = """
    UPDATE job SET state = 'done', worker = NULL, token = NULL, lease_until = NULL, stage = '',
        reason = CASE WHEN kind = 'upload' THEN reason ELSE '' END, document_id = %s,
        content_hash = %s, figures = figures || %s,
        finished_at = now(), updated_at = now()
    WHERE tenant = %s AND id = %s
"""
_FAIL: Final = """
    UPDATE job SET state = 'failed', worker = NULL, token = NULL, lease_until = NULL, stage = %s,
        reason = %s, figures = figures || %s, finished_at = now(), updated_at = now()
    WHERE tenant = %s AND id = %s
"""
_OPEN: Final = ("queued", "running")
# An upload's job is found by the file that was sent, for jobs of the same document are many.
_LOCK_OF_FILES: Final = """
    SELECT id, source_id, state FROM job
    WHERE tenant = %(tenant)s AND id IN (
        SELECT id FROM job WHERE tenant = %(tenant)s AND collection_id = %(collection)s
            AND uri_key = ANY(%(keys)s)
        UNION
        SELECT j.id FROM source s JOIN job j ON j.tenant = s.tenant AND j.source_id = s.id
        WHERE s.tenant = %(tenant)s AND s.collection_id = %(collection)s
            AND s.uri_key = ANY(%(keys)s))
    ORDER BY id FOR UPDATE
"""
_CANCEL: Final = """
    UPDATE job SET state = 'cancelled', reason = 'the document was deleted', worker = NULL,
        token = NULL, lease_until = NULL, seen_at = now(), finished_at = now(), updated_at = now()
    WHERE tenant = %(tenant)s AND id = ANY(%(jobs)s)
"""
_SEE: Final = """
    UPDATE job SET seen_at = now(), updated_at = now()
    WHERE tenant = %(tenant)s AND id = ANY(%(jobs)s)
"""
_DROP_SOURCES: Final = """
    DELETE FROM source s WHERE s.tenant = %s AND s.id = ANY(%s) AND NOT EXISTS (
        SELECT FROM document d WHERE d.tenant = s.tenant AND d.source_id = s.id)
"""


class Held(Protocol):
    """A job as its holder knows it."""

    @property
    def id(self) -> int: ...
    @property
    def uri(self) -> str: ...
    @property
    def token(self) -> int: ...


def hold(cursor: Cursor[Any], tenant: str, job: Held) -> None:
    """Keep a job to the end of the transaction. Raises LeaseLostError when it is another's."""
    if cursor.execute(_HOLD, (tenant, job.id, job.token)).fetchone() is None:
        raise lost(job)


def hold_some(cursor: Cursor[Any], tenant: str, jobs: Sequence[Held]) -> list[bool]:
    """Keep those jobs to the end of the transaction that are still their holders'; tell which."""
    rows = cursor.execute(_HOLD_SOME, (tenant, [job.id for job in jobs])).fetchall()
    tokens = {int(number): token for number, token in rows}
    return [tokens.get(job.id) == job.token for job in jobs]


def lost(job: Held) -> LeaseLostError:
    """Say that a job is no longer its holder's."""
    return LeaseLostError(
        f"the job of {job.uri!r} was cancelled, begun anew or taken by another worker: nothing"
        " was written for it"
    )


def finish(
    cursor: Cursor[Any],
    tenant: str,
    job: Held,
    document: int | None,
    content_hash: str,
    figures: Mapping[str, object] | None = None,
) -> None:
    """Record that a job that is held is done, inside the transaction that wrote its result."""
    finish_some(cursor, tenant, [(job, document, content_hash, figures)])


def finish_some(
    cursor: Cursor[Any],
    tenant: str,
    done: Sequence[tuple[Held, int | None, str, Mapping[str, object] | None]],
) -> None:
    """Record that jobs that are held are done: each with what `finish` is given."""
    rows = [
        (document, content_hash, Jsonb(dict(figures or {})), tenant, job.id)
        for job, document, content_hash, figures in done
    ]
    cursor.executemany(_FINISH, rows)


def fail(
    cursor: Cursor[Any],
    tenant: str,
    job: Held,
    stage: str,
    reason: str,
    figures: Mapping[str, object] | None = None,
) -> None:
    """Record why a job failed. Raises LeaseLostError when it is another's."""
    hold(cursor, tenant, job)
    cursor.execute(_FAIL, (stage, reason, Jsonb(dict(figures or {})), tenant, job.id))


def cancel(cursor: Cursor[Any], tenant: str, collection: int, keys: Sequence[bytes]) -> None:
    """Cancel the open jobs of files that are deleted, whoever works on them.

    `keys` are what their URIs are looked up by. To be called before documents are locked, as
    whoever finishes a job locks it first.
    """
    values = {"tenant": tenant, "collection": collection, "keys": list(keys)}
    rows = cursor.execute(_LOCK_OF_FILES, values).fetchall()
    opened = [number for number, _, state in rows if state in _OPEN]
    ended = [number for number, _, state in rows if state not in _OPEN]
    for statement, jobs in ((_CANCEL, opened), (_SEE, ended)):
        if jobs:
            cursor.execute(statement, {"tenant": tenant, "jobs": jobs})
    needless = {*_OPEN, "cancelled"}
    drop_sources(
        cursor,
        tenant,
        [source for _, source, state in rows if source is not None and state in needless],
    )


def drop_sources(cursor: Cursor[Any], tenant: str, sources: Sequence[int]) -> None:
    """Delete uploaded files that no document was made of."""
    if sources:
        cursor.execute(_DROP_SOURCES, (tenant, list(sources)))
