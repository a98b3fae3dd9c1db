"""/v1/conversations: a caller's own conversations, to list, read, rename, delete and export.

Questions are asked at /v1/chat/completions. One about a collection that the caller may not see is
not there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from ragkit.access.library import Caller
from ragkit.api_values import KeptConversation
from ragkit.conversation.export import to_json, to_markdown
from ragkit.json_values import copy_as
from ragkit.store.people.conversations import (
    MAX_TITLE_CHARS,
    Conversations,
    StoredConversation,
    StoredTurn,
    missing,
)
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.chat_answer import CitationOut
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.paging import Limit, Listing, listing

if TYPE_CHECKING:
    from ragkit_serve.api.services import Services

router = APIRouter(tags=["conversations"])
Reader = Annotated[Caller, needs("read")]
_CURSOR: Final = re.compile(r"([0-9]{1,17})_([0-9a-f-]{36})")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ID: Final = "6f1c2a9b-3f9e-4c55-9d0a-2f6f8f3c7c11"
_LISTED: Final[dict[str, Any]] = {
    "object": "conversation",
    "id": _ID,
    "title": "How many days of leave do I have?",
    "collection": "default",
    "turns": 1,
    "created_at": "2026-01-05T09:00:00Z",
    "updated_at": "2026-01-05T09:00:02Z",
}
_TURN_EXAMPLE: Final[dict[str, Any]] = {
    "id": f"{_ID}/1",
    "ordinal": 1,
    "question": "How many days of leave do I have?",
    "query": "How many days of leave do I have?",
    "answer": "You have 28 days of leave a year [1].",
    "refused": False,
    "reason": "",
    "citations": [],
    "claims": [],
    "unverified": [],
    "created_at": "2026-01-05T09:00:02Z",
}


@dataclass(frozen=True, kw_only=True)
class ConversationOut(KeptConversation):
    """A conversation in a list; `turns` counts its questions."""

    __pydantic_config__ = ConfigDict(json_schema_extra={"examples": [_LISTED]})
    object: Literal["conversation"] = "conversation"


@dataclass(frozen=True)
class ClaimOut:
    """A sentence `start:end` of an answer, the sources that it cites, and their support."""

    start: int
    end: int
    cites: Sequence[int]
    support: str


@dataclass(frozen=True)
class TurnOut:
    """A question and its answer; `id` is what feedback on it names."""

    id: str
    ordinal: int
    question: str
    query: str
    answer: str
    refused: bool
    reason: str
    citations: Sequence[CitationOut]
    claims: Sequence[ClaimOut]
    unverified: Sequence[str]
    created_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class WholeConversation(KeptConversation):
    """A conversation with its turns, oldest first."""

    __pydantic_config__ = ConfigDict(
        json_schema_extra={"examples": [_LISTED | {"turns": [_TURN_EXAMPLE]}]}
    )
    object: Literal["conversation"] = "conversation"
    turns: Sequence[TurnOut]  # type: ignore[assignment]  # listed, where a list counts them


class Renamed(BaseModel):
    """The title a conversation is to have."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra={"examples": [{"title": "Leave in 2026"}]}
    )
    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS)]


class DeletedConversation(BaseModel):
    """That a conversation is deleted, with everything in it."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={"examples": [{"object": "conversation", "id": _ID, "deleted": True}]},
    )
    object: Literal["conversation"] = "conversation"
    id: UUID
    deleted: Literal[True] = True


class Format(StrEnum):
    """What a conversation is exported as."""

    json = "json"
    markdown = "markdown"


@router.get("/v1/conversations", responses=RESPONSES, summary="List one's conversations")
def list_conversations(
    request: Request,
    caller: Reader,
    limit: Limit = 50,
    after: Annotated[
        str | None, Query(max_length=100, description="The `last_id` of the page before.")
    ] = None,
    search: Annotated[
        str, Query(max_length=200, description="A part of the title or of a question.")
    ] = "",
) -> Listing[ConversationOut]:
    """List the caller's conversations that have an answer, the latest first."""
    rows = _conversations(request, caller).page(
        limit + 1, after=_position(after), collections=caller.collections, search=search
    )
    return listing(rows, limit, _listed, _cursor)


@router.get("/v1/conversations/{id}", responses=RESPONSES, summary="Read a conversation")
def get_conversation(request: Request, caller: Reader, id: UUID) -> WholeConversation:
    """Return a conversation with its turns."""
    stored, turns = _with_turns(request, caller, id)
    _note(request, caller, "conversation.read", stored)
    return copy_as(WholeConversation, stored, turns=[_turn(stored.id, turn) for turn in turns])


@router.patch("/v1/conversations/{id}", responses=RESPONSES, summary="Rename a conversation")
def rename_conversation(
    request: Request, caller: Reader, id: UUID, renamed: Renamed
) -> ConversationOut:
    """Give a conversation another title; its place in the list stays."""
    conversations = _conversations(request, caller)
    _visible(conversations, caller, id)
    conversations.rename(id, renamed.title)
    return _listed(conversations.get(id))


@router.delete("/v1/conversations/{id}", responses=RESPONSES, summary="Delete a conversation")
def delete_conversation(request: Request, caller: Reader, id: UUID) -> DeletedConversation:
    """Delete a conversation with its questions, answers and citations."""
    conversations = _conversations(request, caller)
    _note(request, caller, "conversation.delete", _visible(conversations, caller, id))
    conversations.delete(id)
    return DeletedConversation(id=id)


@router.get(
    "/v1/conversations/{id}/export",
    response_class=Response,
    responses=RESPONSES
    | {
        200: {
            "description": "The conversation as a file.",
            "content": {
                "application/json": {
                    "schema": {"type": "object"},
                    "example": {"id": _ID, "title": "Leave in 2026", "turns": []},
                },
                "text/markdown": {
                    "schema": {"type": "string"},
                    "example": "# Leave in 2026\n\n## 1. How many days of leave do I have?\n",
                },
            },
        }
    },
    summary="Export a conversation",
)
def export_conversation(
    request: Request, caller: Reader, id: UUID, format: Format = Format.json
) -> Response:
    """Return everything of a conversation as JSON, or for people as Markdown."""
    stored, turns = _with_turns(request, caller, id)
    _note(request, caller, "conversation.export", stored)
    ending = "md" if format is Format.markdown else "json"
    headers = {"content-disposition": f'attachment; filename="conversation-{id}.{ending}"'}
    if format is Format.markdown:
        text = to_markdown(stored, turns)
        return Response(text, headers=headers, media_type="text/markdown; charset=utf-8")
    return JSONResponse(to_json(stored, turns), headers=headers)


def _note(request: Request, caller: Caller, action: str, stored: StoredConversation) -> None:
    state = request.app.state.ragkit
    audit.note(state, request.scope, caller, action, collection=stored.collection)


def _conversations(request: Request, caller: Caller) -> Conversations:
    services: Services = request.app.state.ragkit.services
    return services.library.conversations(caller)


def _visible(conversations: Conversations, caller: Caller, id: UUID) -> StoredConversation:
    """Return a conversation that is there for the caller. Raises NotFoundError."""
    stored = conversations.get(id)
    if not caller.may_see(stored.collection):
        raise missing(str(id))
    return stored


def _with_turns(
    request: Request, caller: Caller, id: UUID
) -> tuple[StoredConversation, tuple[StoredTurn, ...]]:
    conversations = _conversations(request, caller)
    return _visible(conversations, caller, id), tuple(conversations.turns(id))


def _listed(stored: StoredConversation) -> ConversationOut:
    return copy_as(ConversationOut, stored)


def _turn(conversation: UUID, turn: StoredTurn) -> TurnOut:
    return copy_as(
        TurnOut,
        turn,
        id=f"{conversation}/{turn.ordinal}",
        citations=[copy_as(CitationOut, citation) for citation in turn.citations],
        claims=[copy_as(ClaimOut, claim) for claim in turn.claims],
    )


def _cursor(stored: StoredConversation) -> str:
    """Name a place in the list, which stays when the conversation there moves or goes."""
    return f"{(stored.updated_at - _EPOCH) // timedelta(microseconds=1)}_{stored.id}"


def _position(cursor: str | None) -> tuple[datetime, UUID] | None:
    if cursor is None:
        return None
    parts = _CURSOR.fullmatch(cursor)
    try:
        if parts is not None:
            return _EPOCH + timedelta(microseconds=int(parts[1])), UUID(parts[2])
    except ValueError:
        pass
    raise ApiError(
        400, "after: not a page's `last_id`: leave it out to begin", param="after", code="cursor"
    )
