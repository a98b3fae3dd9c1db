"""GET /v1/models: the collections that can be asked, and the served models themselves."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from ragkit.access.library import Caller
from ragkit.errors import RagkitError
from ragkit_serve.api.access import needs
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.model_names import RAGKIT, served_models

router = APIRouter()
log = logging.getLogger("ragkit.serve")
_EXAMPLE: dict[str, Any] = {
    "id": "ragkit/manuals",
    "object": "model",
    "created": 0,
    "owned_by": "ragkit",
}


class Model(BaseModel):
    """A name that chat completions can be asked of."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "ragkit"


class ModelList(BaseModel):
    """All of them."""

    object: str = "list"
    data: list[Model]


@router.get("/v1/models", responses=RESPONSES, summary="List what can be asked")
def models(request: Request, caller: Annotated[Caller, needs("read")]) -> ModelList:
    """List `ragkit`, `ragkit/COLLECTION` for each collection, and the served models."""
    return ModelList(data=list(_offered(request, caller)))


@router.get("/v1/models/{model:path}", responses=RESPONSES, summary="Look one up")
def model(request: Request, model: str, caller: Annotated[Caller, needs("read")]) -> Model:
    """Look a model up by its name."""
    for offered in _offered(request, caller):
        if offered.id == model:
            return offered
    raise ApiError(404, f"there is no model {model[:100]!r}", code="model_not_found")


def _offered(request: Request, caller: Caller) -> Sequence[Model]:
    services = request.app.state.services
    collections = services.library.collections(caller)
    offered = [
        Model(id=RAGKIT),
        *(Model(id=f"{RAGKIT}/{collection.name}") for collection in collections),
    ]
    served: Sequence[str] = ()
    try:
        served = served_models(services)
    except RagkitError as error:  # the collections are there all the same
        log.warning("the model server's models are not listed: %s", error)
    return [*offered, *(Model(id=name, owned_by="served") for name in served)]
