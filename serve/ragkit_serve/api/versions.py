"""/v1/documents/{id}/versions: a document's stored versions, listed and restored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict

from ragkit.access.library import Caller
from ragkit.api_values import ServedVersion
from ragkit.json_values import copy_as
from ragkit.store.documents.history import History
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.documents import DocumentItem, item, visible
from ragkit_serve.api.errors import RESPONSES
from ragkit_serve.api.paging import Id

router = APIRouter(tags=["documents"])

Number = Annotated[int, Path(ge=1, le=2**31 - 1, examples=[1])]  # PostgreSQL's integer


@dataclass(frozen=True, kw_only=True)
class VersionItem(ServedVersion):
    """A version of a document, which has the number `document` as that version.

    It was current from `since` until `to`, which is null for the current version.
    """

    object: Literal["document.version"] = "document.version"


class VersionList(BaseModel):
    """A document's versions, the current one first."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "examples": [
                {
                    "object": "list",
                    "data": [
                        {
                            "object": "document.version",
                            "version": 1,
                            "document": 3,
                            "since": "2025-01-31T09:30:02Z",
                            "to": None,
                            "title": "Leave",
                            "chars": 5120,
                        }
                    ],
                }
            ]
        },
    )

    object: Literal["list"] = "list"
    data: list[VersionItem]


@router.get(
    "/v1/documents/{id}/versions", summary="List a document's versions", responses=RESPONSES
)
def list_versions(
    request: Request, id: Id, caller: Annotated[Caller, needs("read")]
) -> VersionList:
    """List the current version and the old ones that were kept, the current one first."""
    document = visible(request, caller, id)
    state = request.app.state.ragkit
    audit.note(state, request.scope, caller, "read", collection=document.collection, document=id)
    versions = _history(request, caller).of(id)
    return VersionList(
        data=[copy_as(VersionItem, version, document=version.id) for version in versions]
    )


@router.post(
    "/v1/documents/{id}/versions/{version}/restore",
    summary="Take an old version back",
    responses=RESPONSES,
)
def restore_version(
    request: Request, id: Id, version: Number, caller: Annotated[Caller, needs("write")]
) -> DocumentItem:
    """Make an old version the current one again, as a new version; the current one is kept."""
    document = visible(request, caller, id)
    state = request.app.state.ragkit
    audit.note(state, request.scope, caller, "restore", collection=document.collection, document=id)
    _history(request, caller).restore(id, version)
    return item(visible(request, caller, id), caller)


def _history(request: Request, caller: Caller) -> History:
    return History(request.app.state.services.database.pool, caller.tenant, caller.readers)
