"""/v1/jobs: the state of uploaded files and the progress of their ingestion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import ConfigDict

from ragkit.access.library import Caller
from ragkit.api_values import Job
from ragkit.errors import NotFoundError
from ragkit.json_values import copy_as
from ragkit.store.jobs.uploads import JobState, UploadJob, UploadJobs
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.paging import After, Id, Limit, Listing, listing

router = APIRouter(tags=["jobs"])


@dataclass(frozen=True, kw_only=True)
class JobItem(Job):
    """The state of an uploaded file's ingestion: `done` of `total` chunks are embedded.

    Both are 0 before the file is parsed. A failed job has the `stage` at which it failed and the
    `reason`; a done one has its `document`, and in `reason` what was taken out of a mail or
    archive, what was left out, or why all of it was.
    """

    __pydantic_config__ = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "object": "job",
                    "id": 7,
                    "state": "running",
                    "collection": "handbook",
                    "name": "leave.pdf",
                    "uri": "upload:leave.pdf",
                    "done": 16,
                    "total": 40,
                    "attempts": 1,
                    "stage": "",
                    "reason": "",
                    "document": None,
                    "created_at": "2025-01-31T09:30:00Z",
                    "updated_at": "2025-01-31T09:30:02Z",
                }
            ]
        },
    )

    object: Literal["job"] = "job"


@router.get("/v1/jobs", summary="List upload jobs, latest first", responses=RESPONSES)
def list_jobs(
    request: Request,
    caller: Annotated[Caller, needs("read")],
    limit: Limit = 50,
    after: After = None,
    state: Annotated[JobState | None, Query(description="Only those in this state.")] = None,
) -> Listing[JobItem]:
    """List the upload jobs of the collections that the key may see."""
    jobs = UploadJobs(request.app.state.services.database.pool, caller.tenant, caller.readers)
    rows = jobs.page(limit=limit + 1, after=after, state=state, collections=caller.collections)
    return listing(rows, limit, job_item, lambda row: row.id)


@router.get("/v1/jobs/{id}", summary="Look an upload job up", responses=RESPONSES)
def get_job(request: Request, id: Id, caller: Annotated[Caller, needs("read")]) -> JobItem:
    """Return one upload job. Its record is kept for 30 days."""
    pool = request.app.state.services.database.pool
    job = UploadJobs(pool, caller.tenant, caller.readers).get(id)
    if not caller.may_see(job.collection):
        raise NotFoundError(f"There is no job {id}.")
    return job_item(job)


@router.delete(
    "/v1/jobs/{id}",
    summary="Forget an upload job that has ended",
    status_code=204,
    responses=RESPONSES,
)
def delete_job(request: Request, id: Id, caller: Annotated[Caller, needs("write")]) -> None:
    """Delete the record of a job that is done, failed or cancelled; its document stays."""
    jobs = UploadJobs(request.app.state.services.database.pool, caller.tenant, caller.readers)
    job = jobs.get(id)
    if not caller.may_see(job.collection):
        raise NotFoundError(f"There is no job {id}.")
    if job.state in {"queued", "running"}:
        raise ApiError(409, f"job {id} is {job.state}: wait for its end", code="job_not_ended")
    state = request.app.state.ragkit
    audit.note(state, request.scope, caller, "delete job", collection=job.collection)
    jobs.forget(id)


def job_item(job: UploadJob) -> JobItem:
    """Return a job as the API sends it."""
    return copy_as(JobItem, job)
