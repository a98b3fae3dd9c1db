"""/v1/collections: list, make, rename and delete the collections that a caller may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragkit.access.library import Caller
from ragkit.api_values import ServedCollection
from ragkit.errors import NotFoundError
from ragkit.json_values import copy_as
from ragkit.store.documents.browse import Browser, ListedCollection
from ragkit.store.documents.sharing import MAX_READERS, Sharing
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


@dataclass(frozen=True, kw_only=True)
class CollectionItem(ServedCollection):
    """A collection with the number of its documents and chunks that the caller may read.

    `owner` and `readers` are sent to its owner and to keys with the scope admin; readers null is
    every principal of the tenant.
    """

    __pydantic_config__ = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "object": "collection",
                    "id": "handbook",
                    "documents": 12,
                    "chunks": 340,
                    "created_at": "2025-01-31T09:30:00Z",
                    "owner": "user:ada",
                    "readers": ["group:hr"],
                }
            ]
        },
    )

    object: Literal["collection"] = "collection"
    name: Annotated[str, Field(serialization_alias="id")]
    owner: str | None = None
    readers: Sequence[str] | None = None


class NewCollection(BaseModel):
    """A collection to make; its readers are the whole tenant unless they are named."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra={"examples": [{"id": "handbook"}]}
    )

    id: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=NAME_PATTERN)]
    readers: Annotated[list[str], Field(max_length=MAX_READERS)] | None = None


class RenamedCollection(BaseModel):
    """The name that a collection is to have."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra={"examples": [{"id": "manuals"}]}
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
    browser = Browser(request.app.state.services.database.pool, caller.tenant, caller.readers)
    rows = browser.collections(limit=limit + 1, after=after, names=caller.collections)
    return listing(rows, limit, lambda row: _item(row, caller), lambda row: row.name)


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
    """Make a collection that is the caller's; 200 where it is there already."""
    if not caller.may_see(new.id):
        raise ApiError(403, "the key is for other collections", code="collection", param="id")
    audit.note(request.app.state.ragkit, request.scope, caller, "create", collection=new.id)
    database = request.app.state.services.database
    readers = None if new.readers is None else tuple(new.readers)
    store = database.store(caller.tenant, readers=caller.readers)
    _, is_new = store.add_collection(new.id, Sharing(f"user:{caller.principal}", readers))
    response.status_code = 201 if is_new else 200
    browser = Browser(database.pool, caller.tenant, caller.readers)
    return _item(browser.collection(new.id), caller)


@router.get("/v1/collections/{name}", summary="Look a collection up", responses=RESPONSES)
def get_collection(
    request: Request, name: Name, caller: Annotated[Caller, needs("read")]
) -> CollectionItem:
    """Return one collection."""
    check_visible(caller, name)
    browser = Browser(request.app.state.services.database.pool, caller.tenant, caller.readers)
    return _item(browser.collection(name), caller)


@router.patch("/v1/collections/{name}", summary="Rename a collection", responses=RESPONSES)
def rename_collection(
    request: Request,
    name: Name,
    renamed: RenamedCollection,
    caller: Annotated[Caller, needs("admin")],
) -> CollectionItem:
    """Give a collection another name; its conversations and the keys that are for it follow."""
    check_visible(caller, name)
    if not caller.may_see(renamed.id):
        raise ApiError(403, "the key is for other collections", code="collection", param="id")
    database = request.app.state.services.database
    Browser(database.pool, caller.tenant).collection(name)  # its 404 is the API's own
    audit.note(request.app.state.ragkit, request.scope, caller, "rename", collection=name)
    database.store(caller.tenant).rename_collection(name, renamed.id)
    browser = Browser(database.pool, caller.tenant, caller.readers)
    return _item(browser.collection(renamed.id), caller)


@router.delete(
    "/v1/collections/{name}",
    summary="Delete a collection and all that is in it",
    status_code=204,
    responses=RESPONSES,
)
def delete_collection(
    request: Request, name: Name, caller: Annotated[Caller, needs("admin")]
) -> None:
    """Delete a collection, its documents and their files, also those the caller may not read."""
    check_visible(caller, name)
    database = request.app.state.services.database
    Browser(database.pool, caller.tenant).collection(name)  # its 404 is the API's own
    audit.note(request.app.state.ragkit, request.scope, caller, "delete", collection=name)
    database.store(caller.tenant).delete_collection(name)


def check_visible(caller: Caller, name: str) -> None:
    """Raise NotFoundError, as for one that does not exist, for what is not there for a caller."""
    if not caller.may_see(name):
        raise NotFoundError(f"There is no collection {name!r}.")


def may_share(caller: Caller, owner: str | None) -> bool:
    """Tell whether a caller may know and say who reads what has this owner."""
    is_owner = owner is not None and owner in (caller.readers or ())
    return caller.operator or "admin" in caller.scopes or is_owner


def _item(row: ListedCollection, caller: Caller) -> CollectionItem:
    item = copy_as(CollectionItem, row)
    return item if may_share(caller, row.owner) else replace(item, owner=None, readers=None)
