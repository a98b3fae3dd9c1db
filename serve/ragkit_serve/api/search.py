"""POST /v1/search: the passages that fit a query, with each leg's scores and the time it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragkit.access.library import Caller
from ragkit.cli.render import hit_json, stage_json
from ragkit.json_values import to_json
from ragkit.types import Copy, Mode, Stage
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.as_of import AsOf
from ragkit_serve.api.errors import RESPONSES
from ragkit_serve.api.threads import admitted

router = APIRouter()


class SearchRequest(BaseModel):
    """What to search for, and where."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "days of leave", "k": 5, "mode": "hybrid"}]},
    )
    query: Annotated[str, Field(min_length=1, max_length=32_000)]
    collection: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    k: Annotated[int, Field(ge=1, le=1000)] = 10
    mode: Mode = "hybrid"
    filter: dict[str, Any] | str | None = None
    as_of: AsOf = None
    trace: Annotated[bool, Field(description="Answer with the steps that led to the passages.")] = (
        False
    )


class Found(BaseModel):
    """A passage: where it is, what it says, and its scores."""

    document: int
    uri: str
    title: str
    page: int | None
    start: int
    end: int
    text: str
    score: float
    scores: dict[str, float]
    headings: list[str]
    duplicates: list[Copy]
    chunk: int
    version: int


@dataclass(frozen=True)
class Step(Stage):
    """A step of the search: its seconds, the chunks that it retained with their scores, best first,
    and the numbers that it used.
    """

    __pydantic_config__ = ConfigDict(json_schema_serialization_defaults_required=True)


class FoundList(BaseModel):
    """Passages, the best first, and the seconds of each stage; with `trace` the stages' results."""

    object: str = "list"
    data: list[Found]
    timings: dict[str, float]
    trace: list[Step] | None = None


@router.post("/v1/search", responses=RESPONSES, response_model=FoundList, summary="Find passages")
async def search(
    request: Request, body: SearchRequest, caller: Annotated[Caller, needs("read")]
) -> Response:
    """Find the passages of a collection that fit a query best."""
    return await admitted(request, caller, lambda: _search(request, body, caller))


def _search(request: Request, body: SearchRequest, caller: Caller) -> dict[str, Any]:
    state = request.app.state.ragkit
    kb = state.services.library.open(caller, body.collection)
    audit.note(state, request.scope, caller, "search", collection=kb.collection, text=body.query)
    adapted = kb.adapted(where=body.filter, as_of=body.as_of)
    result = adapted.find(body.query, k=body.k, mode=body.mode)
    answer: dict[str, Any] = {
        "object": "list",
        "data": [
            hit_json(hit) | {"chunk": hit.chunk, "version": hit.version} for hit in result.hits
        ],
        "timings": to_json(result.timings, digits=6),
    }
    if body.trace:
        answer["trace"] = [stage_json(stage) for stage in result.stages]
    return answer
