"""Uploaded files as they come: a multipart form, checked, then kept with a job for each file.

The bound on bodies stands around the routes; this looks at the form and at the files' names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Header
from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect

from ragkit.documents.formats import refusal
from ragkit.errors import BusyError
from ragkit.store.jobs.upload_bytes import MAX_KEY_CHARS, Sources, Upload, clean_name
from ragkit.store.jobs.uploads import UploadJobs
from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.jobs import JobItem, job_item
from ragkit_serve.api.paging import Listing
from ragkit_serve.api.threads import in_turn

if TYPE_CHECKING:
    from starlette.requests import Request

    from ragkit.access.library import Caller

MAX_FILES: Final = 100  # arbitrary: in one request
_MAX_FIELDS: Final = 10  # that are no files, and of no use

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=MAX_KEY_CHARS,
        description="The same key with the same files, within a day, gives the same jobs.",
    ),
]


def form_schema(*, several: bool) -> dict[str, Any]:
    """Describe the form for the OpenAPI document: FastAPI does not read it itself."""
    file: dict[str, Any] = {"type": "string", "format": "binary", "description": "A file."}
    files = {"type": "array", "items": file, "minItems": 1, "maxItems": MAX_FILES}
    schema = {
        "type": "object",
        "required": ["file"],
        "properties": {"file": files if several else file},
    }
    return {
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {
                    "schema": schema,
                    "encoding": {"file": {"contentType": "application/octet-stream"}},
                }
            },
        }
    }


async def keep_files(
    request: Request,
    caller: Caller,
    collection: str,
    key: str | None,
    *,
    document: int | None = None,
) -> Listing[JobItem]:
    """Keep the form's files in a collection and return their jobs; one file for a document."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise ApiError(415, "send the files as multipart/form-data", code="content_type")
    try:
        async with request.form(max_files=MAX_FILES, max_fields=_MAX_FIELDS) as form:
            uploads = _uploads(form.getlist("file"))
            if document is not None and len(uploads) > 1:
                raise ApiError(400, "a document is replaced by one file", param="file")
            return await in_turn(
                request,
                caller,
                lambda: _keep(request, caller, collection, uploads, key or "", document),
            )
    except FormParserError as error:
        raise ApiError(400, "the form cannot be read", code="form") from error
    except ClientDisconnect as error:
        raise ApiError(400, "the upload broke off", code="incomplete") from error


def _uploads(parts: list[UploadFile | str]) -> list[Upload]:
    uploads = [
        # Browsers write a quotation mark in a form's file name as %22, and nothing else so.
        Upload((part.filename or "").replace("%22", '"'), part.file)
        for part in parts
        if isinstance(part, UploadFile)
    ]
    if not uploads or len(uploads) < len(parts):
        raise ApiError(400, "each part named file must be a file with a name", param="file")
    for upload in uploads:
        _check_format(clean_name(upload.name))
    return uploads


def _check_format(name: str) -> None:
    """Refuse at once what no worker could read. Raises ApiError."""
    if reason := refusal(name):
        raise ApiError(415, reason, code="format", param="file")


def _keep(
    request: Request,
    caller: Caller,
    collection: str,
    uploads: list[Upload],
    key: str,
    document: int | None,
) -> Listing[JobItem]:
    pool = request.app.state.services.database.pool
    try:
        numbers = Sources(pool, caller.tenant, caller.readers).keep(
            collection, uploads, principal=caller.principal, key=key, document=document
        )
    except BusyError as error:
        raise ApiError(409, str(error), code="idempotency_key_reused") from error
    jobs = UploadJobs(pool, caller.tenant, caller.readers).some(numbers)
    return Listing(
        data=[job_item(job) for job in jobs],
        has_more=False,
        last_id=str(numbers[-1]) if numbers else None,
    )
