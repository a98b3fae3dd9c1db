"""/v1/documents: uploaded, listed, read, replaced and deleted; their files, and their text by span.

A file is only ever handed out as an attachment: it may hold anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from pydantic import ConfigDict
from starlette.responses import StreamingResponse

from ragkit.access.library import Caller
from ragkit.api_values import TextPiece
from ragkit.errors import NotFoundError
from ragkit.json_values import copy_as
from ragkit.store.documents.browse import Browser, Excerpt, ListedDocument
from ragkit.store.jobs.upload_bytes import Sources
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.collections import Name, check_visible, may_share
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.jobs import JobItem
from ragkit_serve.api.paging import After, Id, Limit, Listing, listing
from ragkit_serve.api.threads import in_turn
from ragkit_serve.api.uploading import Key, form_schema, keep_files

router = APIRouter(tags=["documents"])

MAX_CHARS: Final = 200_000  # of a text, in one answer
AROUND_CHARS: Final = 2_000  # arbitrary: before and after a place, about a page
_LARGEST_OFFSET: Final = 1 << 30  # PostgreSQL keeps no longer text
_TEXT_EXAMPLE: Final[dict[str, Any]] = {
    "object": "document.text",
    "document": 3,
    "version": 1,
    "title": "Leave",
    "language": "en",
    "start": 0,
    "end": 27,
    "chars": 27,
    "text": "Everybody has 28 days off.\n",
    "pages": [{"page": 1, "start": 0}],
    "chunks": None,
}


@dataclass(frozen=True, kw_only=True)
class DocumentItem(ListedDocument):
    """A document without its text; `file` and `bytes` are of the upload that is kept, if any.

    `owner` and `readers` are sent to its owner and to keys with the scope admin; readers null is
    everybody who may read the collection.
    """

    __pydantic_config__ = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "object": "document",
                    "id": 3,
                    "collection": "handbook",
                    "uri": "upload:leave.pdf",
                    "title": "Leave",
                    "language": "en",
                    "media_type": "application/pdf",
                    "version": 1,
                    "chars": 5120,
                    "chunks": 6,
                    "pages": 3,
                    "file": "leave.pdf",
                    "bytes": 48211,
                    "updated_at": "2025-01-31T09:30:02Z",
                    "owner": "user:ada",
                    "readers": None,
                }
            ]
        },
    )

    object: Literal["document"] = "document"


@dataclass(frozen=True)
class PageStart:
    """A page, and the character at which it begins."""

    page: int
    start: int


@dataclass(frozen=True)
class ChunkItem:
    """The span of a chunk in the text."""

    id: int
    start: int
    end: int
    page: int | None
    headings: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class DocumentText(TextPiece):
    """The characters `start:end` of a document's text, of `chars` in all; offsets are code points.

    `pages` are those that the piece touches; `chunks` are sent when the request asks for them.
    """

    __pydantic_config__ = ConfigDict(json_schema_extra={"examples": [_TEXT_EXAMPLE]})

    object: Literal["document.text"] = "document.text"
    document: int
    title: str
    language: str
    pages: Sequence[PageStart]
    chunks: Sequence[ChunkItem] | None


@router.get(
    "/v1/collections/{name}/documents",
    summary="List a collection's documents in the order they came",
    responses=RESPONSES,
)
def list_documents(
    request: Request,
    name: Name,
    caller: Annotated[Caller, needs("read")],
    limit: Limit = 50,
    after: After = None,
) -> Listing[DocumentItem]:
    """List the documents of a collection."""
    check_visible(caller, name)
    browser = _browser(request, caller)
    browser.collection(name)  # its 404 is the API's own
    audit.note(request.app.state.ragkit, request.scope, caller, "list", collection=name)
    rows = browser.documents(name, limit=limit + 1, after=after)
    return listing(rows, limit, lambda row: item(row, caller), lambda row: row.id)


@router.post(
    "/v1/collections/{name}/documents",
    summary="Upload files",
    status_code=202,
    response_model=Listing[JobItem],
    responses=RESPONSES,
    openapi_extra=form_schema(several=True),
)
async def upload_documents(
    request: Request, name: Name, caller: Annotated[Caller, needs("write")], key: Key = None
) -> Listing[JobItem]:
    """Keep files and open a job for each; a file takes the place of the document of its name."""
    check_visible(caller, name)
    await in_turn(request, caller, lambda: _prepare(request, caller, name))
    audit.note(request.app.state.ragkit, request.scope, caller, "upload", collection=name)
    return await keep_files(request, caller, name, key)


@router.get("/v1/documents/{id}", summary="Look a document up", responses=RESPONSES)
def get_document(
    request: Request, id: Id, caller: Annotated[Caller, needs("read")]
) -> DocumentItem:
    """Return one document without its text."""
    document = visible(request, caller, id)
    _note(request, caller, "read", document)
    return item(document, caller)


@router.delete(
    "/v1/documents/{id}", summary="Delete a document", status_code=204, responses=RESPONSES
)
def delete_document(request: Request, id: Id, caller: Annotated[Caller, needs("write")]) -> None:
    """Delete a document, its chunks and its file."""
    document = visible(request, caller, id)
    _note(request, caller, "delete", document)
    store = request.app.state.services.library.store(caller)
    store.delete_document(document.collection, id)


@router.put(
    "/v1/documents/{id}/source",
    summary="Replace a document by another file",
    status_code=202,
    response_model=Listing[JobItem],
    responses=RESPONSES,
    openapi_extra=form_schema(several=False),
)
async def replace_document(
    request: Request, id: Id, caller: Annotated[Caller, needs("write")], key: Key = None
) -> Listing[JobItem]:
    """Keep a file and open the job that makes it the document's next version."""
    target = await in_turn(request, caller, lambda: visible(request, caller, id))
    _note(request, caller, "upload", target)
    return await keep_files(request, caller, target.collection, key, document=id)


@router.get(
    "/v1/documents/{id}/source",
    summary="Download the file that a document was made of",
    response_class=StreamingResponse,
    responses={
        **RESPONSES,
        200: {
            "description": "The file, as it was uploaded.",
            "content": {
                kind: {"schema": {"type": "string", "format": "binary"}}
                for kind in (
                    "application/octet-stream",
                    "application/pdf",
                    "text/plain",
                    "text/csv",
                )
            },
        },
    },
)
def download(
    request: Request, id: Id, caller: Annotated[Caller, needs("read")]
) -> StreamingResponse:
    """Send the uploaded file; 404 for a document that was read from a path."""
    document = visible(request, caller, id)
    _note(request, caller, "download", document)
    pool = request.app.state.services.database.pool
    sources = Sources(pool, caller.tenant, caller.readers)
    source = sources.of_document(id)
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(source.name, safe='')}",
        "content-length": str(source.bytes),
        "content-security-policy": "sandbox; default-src 'none'",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
    }
    return StreamingResponse(sources.parts(source), headers=headers, media_type=source.media_type)


@router.get("/v1/documents/{id}/text", summary="Read a piece of a document", responses=RESPONSES)
def read_text(
    request: Request,
    id: Id,
    caller: Annotated[Caller, needs("read")],
    start: Annotated[int | None, Query(ge=0, le=_LARGEST_OFFSET)] = None,
    end: Annotated[int | None, Query(ge=0, le=_LARGEST_OFFSET)] = None,
    around: Annotated[
        int | None,
        Query(ge=0, le=_LARGEST_OFFSET, description="A place, in the stead of start and end."),
    ] = None,
    chunks: Annotated[bool, Query(description="With the spans of the chunks.")] = False,
) -> DocumentText:
    """Return the characters `start:end`, or about a page before and after the place `around`.

    At most 200,000 at once; without an end, as many as that.
    """
    first, chars = _range(start, end, around)
    _note(request, caller, "read text", visible(request, caller, id))
    return _text(id, _browser(request, caller).excerpt(id, first, chars), chunks=chunks)


def _range(start: int | None, end: int | None, around: int | None) -> tuple[int, int]:
    """Return where to begin and how many characters to take."""
    if around is not None:
        if start is not None or end is not None:
            raise ApiError(400, "around stands in the stead of start and end", param="around")
        first = max(0, around - AROUND_CHARS)
        return first, around + AROUND_CHARS - first
    first = start or 0
    if end is None:
        return first, MAX_CHARS
    if end < first:
        raise ApiError(400, f"end {end} is before start {first}", param="end")
    if end - first > MAX_CHARS:
        raise ApiError(400, f"at most {MAX_CHARS} characters are sent at once", param="end")
    return first, end - first


def _note(request: Request, caller: Caller, action: str, document: ListedDocument) -> None:
    """Write down what a caller does with a document."""
    state, collection = request.app.state.ragkit, document.collection
    audit.note(state, request.scope, caller, action, collection=collection, document=document.id)


def _prepare(request: Request, caller: Caller, name: str) -> None:
    """See that a collection is there; that of the settings is made when it is first filled."""
    services = request.app.state.services
    if name == services.settings.collection:
        services.library.store(caller).create_collection(name)
    _browser(request, caller).collection(name)


def _browser(request: Request, caller: Caller) -> Browser:
    return Browser(request.app.state.services.database.pool, caller.tenant, caller.readers)


def visible(request: Request, caller: Caller, id: int) -> ListedDocument:
    """Look a document up; one that the caller may not see is not there."""
    document = _browser(request, caller).document(id)
    if not caller.may_see(document.collection):
        raise NotFoundError(f"There is no document {id}.")
    return document


def _text(id: int, excerpt: Excerpt, *, chunks: bool) -> DocumentText:
    return copy_as(
        DocumentText,
        excerpt,
        document=id,
        end=excerpt.start + len(excerpt.text),
        pages=[PageStart(page=page.number, start=page.start) for page in excerpt.pages],
        chunks=[copy_as(ChunkItem, span) for span in excerpt.chunks] if chunks else None,
    )


def item(row: ListedDocument, caller: Caller) -> DocumentItem:
    """Return a document as the API sends it; its sharing only to those who may change it."""
    document = copy_as(DocumentItem, row)
    return document if may_share(caller, row.owner) else replace(document, owner=None, readers=None)
