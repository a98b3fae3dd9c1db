"""/v1/collections/{name}/sharing and /v1/documents/{id}/sharing: who owns what and may read it.

An owner may see and change it, and so may a key with the scope admin, also of what its principal
may not read. For everybody else what he may not read is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from ragkit.access.library import Caller
from ragkit.errors import NotFoundError
from ragkit.store.documents.browse import Browser
from ragkit.store.documents.filter_sql import Readers
from ragkit.store.documents.sharing import MAX_CHARS, MAX_READERS, Change, Shares, Sharing
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.collections import Name, check_visible, may_share
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.paging import Id

router = APIRouter(tags=["sharing"])

Principal = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]


class SharingItem(BaseModel):
    """An owner, if there is one, and readers: none is the owner alone, null the whole tenant."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "examples": [{"object": "sharing", "owner": "user:ada", "readers": ["group:hr"]}]
        },
    )

    object: Literal["sharing"] = "sharing"
    owner: str | None
    readers: list[str] | None


class NewSharing(BaseModel):
    """Who is to read something: null is the whole tenant. An owner that is not named stays."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra={"examples": [{"readers": ["group:hr"]}]}
    )

    readers: Annotated[list[Principal], Field(max_length=MAX_READERS)] | None
    owner: Principal | None = None


@router.get(
    "/v1/collections/{name}/sharing", summary="Tell who may read a collection", responses=RESPONSES
)
def collection_sharing(
    request: Request, name: Name, caller: Annotated[Caller, needs("read")]
) -> SharingItem:
    """Return a collection's owner and readers."""
    check_visible(caller, name)
    return _item(_checked(caller, _shares(request, caller).collection(name)))


@router.put(
    "/v1/collections/{name}/sharing", summary="Say who may read a collection", responses=RESPONSES
)
def share_collection(
    request: Request, name: Name, sharing: NewSharing, caller: Annotated[Caller, needs("read")]
) -> SharingItem:
    """Set a collection's readers, and its owner if one is named."""
    check_visible(caller, name)
    shares = _shares(request, caller)
    _checked(caller, shares.collection(name))
    audit.note(request.app.state.ragkit, request.scope, caller, "share", collection=name)
    return _item(shares.collection(name, _change(sharing)))


@router.get(
    "/v1/documents/{id}/sharing", summary="Tell who may read a document", responses=RESPONSES
)
def document_sharing(
    request: Request, id: Id, caller: Annotated[Caller, needs("read")]
) -> SharingItem:
    """Return a document's owner and readers; they must be able to read its collection as well."""
    _collection(request, caller, id)
    return _item(_checked(caller, _shares(request, caller).document(id)))


@router.put(
    "/v1/documents/{id}/sharing", summary="Say who may read a document", responses=RESPONSES
)
def share_document(
    request: Request, id: Id, sharing: NewSharing, caller: Annotated[Caller, needs("read")]
) -> SharingItem:
    """Set a document's readers, and its owner if one is named."""
    collection = _collection(request, caller, id)
    shares = _shares(request, caller)
    _checked(caller, shares.document(id))
    audit.note(request.app.state.ragkit, request.scope, caller, "share", collection=collection)
    return _item(shares.document(id, _change(sharing)))


def _asking(caller: Caller) -> Readers:
    """Return whom the database is asked for: an administrator of sharing sees what he shares."""
    return None if "admin" in caller.scopes else caller.readers


def _shares(request: Request, caller: Caller) -> Shares:
    pool = request.app.state.services.database.pool
    return Shares(pool, caller.tenant, _asking(caller))


def _collection(request: Request, caller: Caller, id: int) -> str:
    """Return the collection of a document that is there for the caller."""
    pool = request.app.state.services.database.pool
    document = Browser(pool, caller.tenant, _asking(caller)).document(id)
    if not caller.may_see(document.collection):
        raise NotFoundError(f"There is no document {id}.")
    return document.collection


def _checked(caller: Caller, sharing: Sharing) -> Sharing:
    if not may_share(caller, sharing.owner):
        raise ApiError(
            403, "only its owner, or a key with the scope admin, may do this", code="owner"
        )
    return sharing


def _change(sharing: NewSharing) -> Change:
    readers: Sequence[str] | None = sharing.readers
    return Change(readers=None if readers is None else tuple(readers), owner=sharing.owner)


def _item(sharing: Sharing) -> SharingItem:
    return SharingItem(
        owner=sharing.owner, readers=None if sharing.readers is None else list(sharing.readers)
    )
