"""A job, and the statements by which a worker of any kind claims it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ragkit.store.documents.filter_sql import Readers

# Of an open job: no living worker holds it within its lease.
FREE: Final = "(j.state = 'queued' OR j.lease_until < now() OR NOT ragkit_alive(j.worker))"


def free_jobs(condition: str, join: str = "") -> str:
    """Write the query for a collection's free jobs, locked, the oldest first.

    They were tried between `fewest` and `most` times.
    """
    return f"""
        SELECT j.tenant, j.id FROM job j {join}
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
        WHERE (tenant, id) IN ({jobs})
        RETURNING source_id, id, attempts
    """  # noqa: S608  built from constants only


def claim(jobs: str) -> str:
    """Write the statement that gives jobs to a worker. Its rows are read by `job_of`.

    An uploaded file's readers are those that its sender went by; where the file is gone already,
    the sender alone is known.
    """
    return f"""
        UPDATE job SET state = 'running', worker = %(worker)s, attempts = attempts + 1, stage = '',
            reason = '', done = 0, total = 0, token = nextval('job_token'), host = %(host)s,
            run_id = %(run)s, lease_until = now() + make_interval(secs => %(lease)s),
            started_at = now(), finished_at = NULL, updated_at = now()
        WHERE (tenant, id) IN ({jobs})
        RETURNING id, uri, token, attempts, content_hash, source_id, name, principal,
            CASE WHEN EXISTS (SELECT FROM source s WHERE s.tenant = job.tenant AND s.id = source_id)
                THEN (SELECT principals FROM source s
                    WHERE s.tenant = job.tenant AND s.id = source_id)
                WHEN principal <> '' THEN ARRAY['user:' || principal] END,
            place_id, path
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


def job_of(row: Sequence[Any]) -> Job:
    """Read a row of `claim`."""
    source, name, principal, readers = row[5:9]
    upload = None
    if source is not None:
        upload = UploadedFile(source, name, principal, None if readers is None else tuple(readers))
    number, uri, token, attempts, content = row[:5]
    return Job(number, uri, token, attempts, content, upload)
