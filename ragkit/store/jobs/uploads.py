"""The jobs of uploaded files, as those who sent them look at them: states, progress, failures.

It knows nothing of who works on them: see `ragkit.store.jobs.queue`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ragkit.errors import NotFoundError
from ragkit.store.connection.transactions import EVERYBODY, connection
from ragkit.store.documents.filter_sql import Readers
from ragkit.store.documents.visible import listed

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

JobState = Literal["queued", "running", "done", "failed", "cancelled"]

# A job is there for whoever sent the file, and for those who may read what it makes: one whose
# document is gone, or is for others, is not.
VISIBLE = """
    j.kind = 'upload' AND j.tenant = %(tenant)s AND (%(readers)s::text[] IS NULL
        OR 'user:' || j.principal = ANY (%(readers)s)
        OR may_read(c.owner, c.readers, %(readers)s) AND NOT EXISTS (
            SELECT 1 FROM document d WHERE d.tenant = j.tenant AND d.collection_id = j.collection_id
                AND (d.id = j.document_id OR d.uri_key = sha256(convert_to(j.uri, 'UTF8')))
                AND NOT may_read(d.owner, d.readers, %(readers)s))
            AND (j.state <> 'done' OR EXISTS (
                SELECT 1 FROM document d WHERE d.tenant = j.tenant AND d.id = j.document_id)))
"""
_SELECT = f"""
    SELECT j.id, c.name, j.uri, j.name, j.state, j.done, j.total, j.attempts, j.stage, j.reason,
        j.document_id, j.created_at, j.updated_at
    FROM job j JOIN collection c ON c.tenant = j.tenant AND c.id = j.collection_id
    WHERE {VISIBLE}
"""  # noqa: S608  built from constants only
_FORGET = f"""
    DELETE FROM job j USING collection c
    WHERE c.tenant = j.tenant AND c.id = j.collection_id AND {VISIBLE} AND j.id = %(id)s
        AND j.state IN ('done', 'failed', 'cancelled')
"""  # noqa: S608  built from constants only
_SOME = f"{_SELECT} AND j.id = ANY(%(ids)s) ORDER BY j.id"
_PAGE = f"""{_SELECT}
    AND (%(collections)s::text[] IS NULL OR c.name = ANY(%(collections)s))
    AND (%(state)s::text IS NULL OR j.state = %(state)s)
    AND (%(after)s::bigint IS NULL OR j.id < %(after)s)
    ORDER BY j.id DESC LIMIT %(limit)s
"""
_OPEN = "SELECT state, uploads FROM ragkit_count_uploads()"


@dataclass(frozen=True, slots=True)
class UploadJob:
    """How an uploaded file's way into its collection stands.

    `done` of `total` chunks are embedded; both are 0 before the file is parsed. A failed one says
    at which `stage` and for what `reason`; a done one names the `document`.
    """

    id: int
    collection: str
    uri: str
    name: str
    state: JobState
    done: int
    total: int
    attempts: int
    stage: str
    reason: str
    document: int | None
    created_at: datetime
    updated_at: datetime


class UploadJobs:
    """The upload jobs of one tenant that these readers may know of; None: an operator, all."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, readers: Readers = None
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._readers = listed(readers)

    def get(self, job: int) -> UploadJob:
        """Look one job up. Raises NotFoundError."""
        found = self.some([job])
        if not found:
            raise NotFoundError(f"There is no job {job}.")
        return found[0]

    def some(self, jobs: Sequence[int]) -> list[UploadJob]:
        """Look several jobs up, in the order of their numbers; those that are gone are left out."""
        with connection(self._pool, self._tenant) as conn:
            values = {"tenant": self._tenant, "readers": self._readers, "ids": list(jobs)}
            rows = conn.execute(_SOME, values)
            return [UploadJob(*row) for row in rows]

    def forget(self, job: int) -> None:
        """Delete the record of an upload that has ended; a document that it made stays.

        Raises NotFoundError, also for one that has not ended.
        """
        values = {"tenant": self._tenant, "readers": self._readers, "id": job}
        with connection(self._pool, self._tenant) as conn:
            if not conn.execute(_FORGET, values).rowcount:
                raise NotFoundError(f"There is no job {job} that has ended.")

    def page(
        self,
        *,
        limit: int,
        after: int | None = None,
        state: JobState | None = None,
        collections: Sequence[str] | None = None,
    ) -> list[UploadJob]:
        """List up to `limit` jobs, latest first, those older than the job `after`.

        `collections` names those whose jobs count; None: all.
        """
        values = {
            "tenant": self._tenant,
            "readers": self._readers,
            "collections": None if collections is None else list(collections),
            "state": state,
            "after": after,
            "limit": limit,
        }
        with connection(self._pool, self._tenant) as conn:
            return [UploadJob(*row) for row in conn.execute(_PAGE, values)]


def count_open(pool: ConnectionPool[Connection[Any]]) -> Mapping[str, int]:
    """Count the upload jobs of all tenants that are queued and running. Raises DatabaseError."""
    with connection(pool, EVERYBODY) as conn:
        found = dict(conn.execute(_OPEN).fetchall())
    return {"queued": found.get("queued", 0), "running": found.get("running", 0)}
