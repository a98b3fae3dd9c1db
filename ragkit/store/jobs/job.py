"""A job, and the statements by which a worker of any kind claims it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.store.documents.filter_sql import Readers

# Of an open job: no living worker holds it within its lease.
FREE: Final = "(j.state = 'queued' OR j.lease_until < now() OR NOT ragkit_alive(j.worker))"

_PRINCIPALS: Final = """
    SELECT id, principals FROM source WHERE tenant = %(tenant)s AND id = ANY(%(sources)s)
"""


def free_jobs(condition: str, join: str = "") -> str:
    """Write the query for a collection's free jobs, locked, the oldest first.

    They were tried between `fewest` and `most` times. It goes into an array: joined, it could be
    executed several times, and lock more than `limit`.
    """
    return f"""
        SELECT j.id FROM job j {join}
        WHERE j.tenant = %(tenant)s AND j.collection_id = %(collection)s AND {condition}
            AND j.state IN ('queued', 'running') AND {FREE}
            AND j.attempts BETWEEN %(fewest)s AND %(most)s
        ORDER BY j.id LIMIT %(limit)s FOR UPDATE OF j SKIP LOCKED
    """  # noqa: S608  built from constants only


def quarantine(jobs: str) -> str:
    """Write the statement that sets jobs aside which ended their worker too often."""
    return f"""
        UPDATE job SET state = 'failed', worker = NULL, token = NULL, lease_until = NULL,
            stage = coalesce(nullif(stage, ''), 'worker'), finished_at = now(),
            reason = 'the program ended while at work on this file, ' || attempts || ' times',
            updated_at = now()
        WHERE tenant = %(tenant)s AND id = ANY(ARRAY({jobs}))
        RETURNING source_id, id, attempts
    """  # noqa: S608  built from constants only


def claim(jobs: str) -> str:
    """Write the statement that gives jobs to a worker, for `claim_jobs`."""
    return f"""
        UPDATE job SET state = 'running', worker = %(worker)s, attempts = attempts + 1, stage = '',
            reason = '', done = 0, total = 0, token = %(token)s, host = %(host)s,
            run_id = %(run)s, lease_until = now() + make_interval(secs => %(lease)s),
            started_at = now(), finished_at = NULL, updated_at = now()
        WHERE tenant = %(tenant)s AND id = ANY(ARRAY({jobs}))
        RETURNING id, uri, token, attempts, content_hash, source_id, name, principal, place_id, path
    """  # noqa: S608  built from constants only


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The file that an upload's job is for: the number that it is stored under, name and sender.

    `readers` are the principals that the sender went by; None: an operator.
    """

    source: int
    name: str
    principal: str
    readers: Readers


@dataclass(frozen=True, slots=True)
class Job:
    """A job claimed by a worker, held for as long as `token` is the job's own.

    `attempts` counts this one. `content_hash` is the file's when it was queued, "" if unknown.
    `upload` is the file that was uploaded; None for one that is read where it lies.
    """

    id: int
    uri: str
    token: int
    attempts: int
    content_hash: str = ""
    upload: UploadedFile | None = None


def claim_jobs(
    cursor: Cursor[Any], statement: str, values: Mapping[str, object]
) -> list[tuple[Job, int | None, bytes | None]]:
    """Claim jobs by a statement of `claim`; return them in their order.

    With a job come its file's place and the path there, where it has one. An uploaded file's
    readers are those that its sender went by; where the file is gone already, the sender alone is
    known.
    """
    rows = cursor.execute(statement.encode(), values).fetchall()
    sources = [row[5] for row in rows if row[5] is not None]
    principals: dict[int, Sequence[str] | None] = {}
    if sources:
        asked = {"tenant": values["tenant"], "sources": sources}
        principals = dict(cursor.execute(_PRINCIPALS, asked).fetchall())
    jobs = []
    for number, uri, token, attempts, content, source, name, principal, place, path in rows:
        upload = None
        if source is not None:
            sender = [f"user:{principal}"] if principal else None
            readers = principals.get(source, sender)
            named = None if readers is None else tuple(readers)
            upload = UploadedFile(source, name, principal, named)
        jobs.append((Job(number, uri, token, attempts, content, upload), place, path))
    return sorted(jobs, key=lambda claimed: claimed[0].id)
