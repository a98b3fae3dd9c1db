"""/v1/feedback: rate one's own answers; list and export what everybody of the tenant thinks.

A rating is of an answer asked for with `store`, or of a conversation's turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from ragkit import api_values
from ragkit.access.library import Caller
from ragkit.conversation.ratings_json import evaluation_item
from ragkit.json_values import copy_as
from ragkit.store.people.feedback import MAX_COMMENT_CHARS, Feedback, Rated, Rating
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.errors import RESPONSES
from ragkit_serve.api.paging import After, Id, Limit, Listing, listing

if TYPE_CHECKING:
    from ragkit_serve.api.state import State

router = APIRouter(tags=["feedback"])
Reader = Annotated[Caller, needs("read")]
Admin = Annotated[Caller, needs("admin")]
RatingQuery = Annotated[Rating | None, Query(description="Only these.")]
_TURN: Final = "6f1c2a9b-3f9e-4c55-9d0a-2f6f8f3c7c11/1"
_RATED: Final[dict[str, Any]] = {
    "object": "feedback",
    "id": 12,
    "answer_id": _TURN,
    "rating": "down",
    "comment": "That was the figure of 2024.",
    "principal": "ann",
    "collection": "default",
    "question": "How many days of leave do I have?",
    "answer": "You have 28 days of leave a year [1].",
    "refused": False,
    "created_at": "2026-01-05T09:00:02Z",
    "updated_at": "2026-01-05T09:00:02Z",
}


class NewRating(BaseModel):
    """What the caller thinks of an answer: a completion's id, or CONVERSATION/ORDINAL of a turn."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={
            "examples": [{"answer_id": _TURN, "rating": "down", "comment": "Of last year."}]
        },
    )
    answer_id: Annotated[str, Field(min_length=1, max_length=200)]
    rating: Rating
    comment: Annotated[str, Field(max_length=MAX_COMMENT_CHARS)] = ""


@dataclass(frozen=True, kw_only=True)
class RatingOut(api_values.Rated):
    """A rating with a copy of the question and the answer."""

    __pydantic_config__ = ConfigDict(json_schema_extra={"examples": [_RATED]})
    object: Literal["feedback"] = "feedback"


class DeletedRating(BaseModel):
    """That a rating is deleted, with its copies of question and answer."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={"examples": [{"object": "feedback", "id": 12, "deleted": True}]},
    )
    object: Literal["feedback"] = "feedback"
    id: int
    deleted: Literal[True] = True


@router.post("/v1/feedback", responses=RESPONSES, summary="Rate an answer")
def rate(request: Request, caller: Reader, rating: NewRating) -> RatingOut:
    """Rate one's own answer up or down; a second rating takes the first one's place."""
    rated = _feedback(request, caller).rate(
        rating.answer_id, rating.rating, rating.comment, collections=caller.collections
    )
    return _item(rated)


@router.get("/v1/feedback", responses=RESPONSES, summary="List the tenant's ratings")
def list_feedback(
    request: Request,
    caller: Admin,
    limit: Limit = 50,
    after: After = None,
    rating: RatingQuery = None,
) -> Listing[RatingOut]:
    """List everybody's ratings of answers from the collections that the caller may see."""
    rows = _feedback(request, caller).page(
        limit + 1, after=after, rating=rating, collections=caller.collections
    )
    audit.note(_state(request), request.scope, caller, "feedback.list")
    return listing(rows, limit, _item, lambda rated: rated.id)


@router.get(
    "/v1/feedback/export",
    response_class=StreamingResponse,
    responses=RESPONSES
    | {
        200: {
            "description": "Items to evaluate with, one JSON object a line.",
            "content": {
                "application/x-ndjson": {
                    "schema": {"type": "string"},
                    "example": '{"id": 12, "question": "How many days of leave do I have?"}\n',
                }
            },
        }
    },
    summary="Export the tenant's ratings as evaluation items",
)
def export_feedback(
    request: Request, caller: Admin, rating: RatingQuery = None
) -> StreamingResponse:
    """Return everybody's ratings as JSON lines, each with question, answer and citations."""
    ratings = _feedback(request, caller).all(rating=rating, collections=caller.collections)
    audit.note(_state(request), request.scope, caller, "feedback.export")
    first = next(ratings, None)  # so that a database that fails is answered with its own status
    lines = _lines(ratings if first is None else chain([first], ratings))
    return StreamingResponse(
        lines,
        media_type="application/x-ndjson",
        headers={"content-disposition": 'attachment; filename="feedback.jsonl"'},
    )


@router.delete("/v1/feedback/{id}", responses=RESPONSES, summary="Delete a rating")
def delete_feedback(request: Request, caller: Reader, id: Id) -> DeletedRating:
    """Delete one's own rating; a caller with the scope admin may delete anybody's."""
    everybody = "admin" in caller.scopes
    audit.note(_state(request), request.scope, caller, "feedback.delete")
    _feedback(request, caller).delete(id, everybody=everybody, collections=caller.collections)
    return DeletedRating(id=id)


def _state(request: Request) -> State:
    state: State = request.app.state.ragkit
    return state


def _feedback(request: Request, caller: Caller) -> Feedback:
    services = _state(request).services
    return Feedback(
        services.database.pool,
        caller.tenant,
        caller.principal,
        keep_days=services.settings.serve_keep_days,
        readers=caller.readers,
    )


def _item(rated: Rated) -> RatingOut:
    return copy_as(
        RatingOut,
        rated,
        created_at=rated.created_at.replace(microsecond=0),
        updated_at=rated.updated_at.replace(microsecond=0),
    )


def _lines(ratings: Iterator[Rated]) -> Iterator[bytes]:
    for rated in ratings:
        yield json.dumps(evaluation_item(rated), ensure_ascii=False).encode() + b"\n"
