"""/v1/collections: the named sets of documents that a caller may see, made and deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragkit.errors import NotFoundError
from ragkit.library import Caller
from ragkit.store.browse import Browser, ListedCollection
from ragkit.store.postgres import MAX_NAME_CHARS
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.paging import Limit, Listing, listing

router = APIRouter(tags=["collections"])

# PostgreSQL keeps no NUL, and an address has no place for a slash within a name.
NAME_PATTERN: Final = r"^[^/\x00-\x1f\x7f]+$"
Name = Annotated[
    str,
    Path(min_length=1, max_length=MAX_NAME_CHARS, pattern=NAME_PATTERN, examples=["handbook"]),
]


class CollectionItem(BaseModel):
    """A collection and how much is in it."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "examples": [
                {
                    "object": "collection",
                    "id": "handbook",
                    "documents": 12,
                    "chunks": 340,
                    "created_at": "2025-01-31T09:30:00Z",
                }
            ]
        },
    )

    object: Literal["collection"] = "collection"
    id: str
    documents: int
    chunks: int
    created_at: datetime


class NewCollection(BaseModel):
    """A collection to make."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra={"examples": [{"id": "handbook"}]}
    )

    id: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=NAME_PATTERN)]


@router.get("/v1/collections", summary="List collections by name", responses=RESPONSES)
def list_collections(
    request: Request,
    caller: Annotated[Caller, needs("read")],
    limit: Limit = 50,
    after: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=MAX_NAME_CHARS,
            pattern=NAME_PATTERN,
            description="The `last_id` of the page before.",
        ),
    ] = None,
) -> Listing[CollectionItem]:
    """List the collections that the key may see."""
    browser = Browser(request.app.state.services.database.pool, caller.tenant)
    rows = browser.collections(limit=limit + 1, after=after, names=caller.collections)
    return listing(rows, limit, _item, lambda row: row.name)


@router.post(
    "/v1/collections",
    summary="Make a collection",
    status_code=201,
    response_model=CollectionItem,
    responses={**RESPONSES, 200: {"model": CollectionItem, "description": "It is there already."}},
)
def create_collection(
    request: Request,
    response: Response,
    new: NewCollection,
    caller: Annotated[Caller, needs("write")],
) -> CollectionItem:
    """Make a collection; 200 where it is there already."""
    if not caller.may_see(new.id):
        raise ApiError(403, "the key is for other collections", code="collection", param="id")
    audit.note(request.app.state.ragkit, request.scope, caller, "create", collection=new.id)
    database = request.app.state.services.database
    _, is_new = database.store(caller.tenant).add_collection(new.id)
    response.status_code = 201 if is_new else 200
    return _item(Browser(database.pool, caller.tenant).collection(new.id))


@router.get("/v1/collections/{name}", summary="Look a collection up", responses=RESPONSES)
def get_collection(
    request: Request, name: Name, caller: Annotated[Caller, needs("read")]
) -> CollectionItem:
    """Return one collection."""
    check_visible(caller, name)
    browser = Browser(request.app.state.services.database.pool, caller.tenant)
    return _item(browser.collection(name))


@router.delete(
    "/v1/collections/{name}",
    summary="Delete a collection and all that is in it",
    status_code=204,
    responses=RESPONSES,
)
def delete_collection(
    request: Request, name: Name, caller: Annotated[Caller, needs("admin")]
) -> None:
    """Delete a collection, its documents and their files."""
    check_visible(caller, name)
    database = request.app.state.services.database
    Browser(database.pool, caller.tenant).collection(name)  # its 404 is the API's own
    audit.note(request.app.state.ragkit, request.scope, caller, "delete", collection=name)
    database.store(caller.tenant).delete_collection(name)


def check_visible(caller: Caller, name: str) -> None:
    """Raise NotFoundError, as for one that does not exist, for what is not there for a caller."""
    if not caller.may_see(name):
        raise NotFoundError(f"There is no collection {name!r}.")


def _item(row: ListedCollection) -> CollectionItem:
    return CollectionItem(
        id=row.name, documents=row.documents, chunks=row.chunks, created_at=row.created_at
    )
