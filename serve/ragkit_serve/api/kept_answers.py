"""/v1/chat/completions/{id}: one's own answers that were asked for with `store`, shown and deleted.

How they are made, and how long they are kept, is not decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse

from ragkit.access.library import Caller
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.chat_answer import ChatCompletion
from ragkit_serve.api.errors import RESPONSES

if TYPE_CHECKING:
    from ragkit_serve.api.state import State

router = APIRouter()
Reader = Annotated[Caller, needs("read")]
AnswerId = Annotated[str, Path(examples=["chatcmpl-5f0c"], description="Of the completion.")]


class DeletedCompletion(BaseModel):
    """That an answer is no longer kept."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "examples": [
                {"object": "chat.completion.deleted", "id": "chatcmpl-5f0c", "deleted": True}
            ]
        },
    )
    object: Literal["chat.completion.deleted"] = "chat.completion.deleted"
    id: str
    deleted: Literal[True] = True


@router.get(
    "/v1/chat/completions/{id}",
    response_model=ChatCompletion,
    responses=RESPONSES,
    summary="Show a kept answer",
)
def get_completion(request: Request, caller: Reader, id: AnswerId) -> JSONResponse:
    """Return an answer of one's own that was asked for with `store`, as it was sent.

    Of a streamed one, as it would have been sent whole.
    """
    state = request.app.state.ragkit
    audit.note(state, request.scope, caller, "completion.read")
    answers = kept_answers(state, caller)
    return JSONResponse(answers.completion(id, collections=caller.collections))


@router.delete("/v1/chat/completions/{id}", responses=RESPONSES, summary="Delete a kept answer")
def delete_completion(request: Request, caller: Reader, id: AnswerId) -> DeletedCompletion:
    """Delete an answer of one's own; a rating of it stays, with its copy, until it is deleted."""
    state = request.app.state.ragkit
    audit.note(state, request.scope, caller, "completion.delete")
    kept_answers(state, caller).delete(id, collections=caller.collections)
    return DeletedCompletion(id=id)


def kept_answers(state: State, caller: Caller) -> KeptAnswers:
    """Return the caller's kept answers."""
    services = state.services
    return KeptAnswers(
        services.database.pool,
        caller.tenant,
        caller.principal,
        keep_days=services.settings.serve_keep_days,
        readers=caller.readers,
    )
