"""POST /ui/ask: a question from the chat page, answered as a stream of safe HTML.

It is admitted, run and given up as every other question to the server is. Each event has the whole
answer so far, rendered here, so that the page never has to read Markdown.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragkit.access.library import Caller
from ragkit.errors import RagkitError
from ragkit.types import Answer, Mode, Reasoning
from ragkit_serve.api import audit
from ragkit_serve.api.access import needs
from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.event_stream import EventStream, event_of, while_connected
from ragkit_serve.api.pump import pumped
from ragkit_serve.page.markdown import to_html
from ragkit_serve.page.turn import turn_html
from ragkit_serve.page.words import WORDS, language_of

if TYPE_CHECKING:
    from ragkit.conversation.dialogue import Conversation
    from ragkit_serve.api.state import State

router = APIRouter()
EVERY_S: Final = 0.1  # between two renderings of an answer that is being written
MAX_DOCUMENTS: Final = 1000

Piece = str | Reasoning | Answer


class Asked(BaseModel):
    """A question, with what is chosen beside it; without a conversation a new one begins.

    `replaces` is the ordinal of the conversation's last turn, whose place it is to take. `model` is
    one that the language-model server offers, where the settings leave the choice open.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    question: Annotated[str, Field(min_length=1, max_length=32_000)]
    conversation: UUID | None = None
    replaces: int | None = None
    collection: str | None = None
    documents: Annotated[list[int], Field(max_length=MAX_DOCUMENTS)] = []
    mode: Mode = "hybrid"
    passages: Annotated[int, Field(ge=1, le=50)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=500)] | None = None


@router.post("/ui/ask", include_in_schema=False)
async def ask(request: Request, body: Asked, caller: Annotated[Caller, needs("read")]) -> Response:
    """Answer a question; the events end with the turn as it was kept."""
    ended = request.app.state.ragkit.admission.ended
    return await while_connected(request, _admitted(request, body, caller), ended=ended)


async def _admitted(request: Request, body: Asked, caller: Caller) -> Response:
    state: State = request.app.state.ragkit
    words = WORDS[language_of(request.headers.get("accept-language", ""))]
    async with AsyncExitStack() as held:
        place = await held.enter_async_context(state.admission.place(caller))
        name = None if body.conversation else state.services.library.name(caller, body.collection)
        record = audit.Chat(state, request.scope, caller)
        record.question(body.question, collection=name)
        asking = Asking(state, body, caller, words)
        batches = pumped(asking.pieces, place)
        held.push_async_callback(batches.aclose)  # also where the events are never begun
        events = _events(asking, batches, record)
        return EventStream(events, held=held.pop_all(), ended=state.admission.ended)
    raise AssertionError("the stack lets no exception go")


class Asking:
    """One question on its way; its pieces are made in a thread."""

    def __init__(self, state: State, asked: Asked, caller: Caller, words: Any) -> None:
        self.words = words
        self.markdown = state.services.settings.llm_url is not None
        self.conversation: Conversation | None = None
        self._state = state
        self._asked = asked
        self._caller = caller

    def pieces(self) -> Iterator[Piece]:
        """Answer in the conversation, with the page's settings."""
        asked, library = self._asked, self._state.services.library
        if asked.model is not None and not library.has_model(asked.model):
            raise ApiError(404, self.words["error_model_not_found"], code="model_not_found")
        conversation = library.conversation(
            self._caller, collection=asked.collection, id=asked.conversation, model=asked.model
        )
        where = {"in": {"document": asked.documents}} if asked.documents else None
        conversation.kb = conversation.kb.adapted(
            passages=asked.passages, mode=asked.mode, where=where
        )
        self.conversation = conversation
        if asked.replaces is not None:
            # Another page may have gone on: what this one has not shown is not thrown away.
            last = next(reversed(conversation.turns()), None)
            if last is None or last.ordinal != asked.replaces:
                raise ApiError(409, self.words["error_moved_on"], code="moved_on")
        return conversation.stream(asked.question, replace_last=asked.replaces is not None)

    def finished(self, answer: Answer) -> dict[str, Any]:
        """Return the last event: the turn as it was kept."""
        conversation = self.conversation
        assert conversation is not None, "it has answered"
        assert conversation.last is not None, "it has answered"
        self._state.metrics.answered(answer.timings, answer.usage)
        html = turn_html(
            conversation.last, conversation.id, markdown=self.markdown, words=self.words
        )
        return {"html": html, "conversation": str(conversation.id)}


async def _events(
    asking: Asking, batches: AsyncGenerator[Sequence[Piece], None], record: audit.Chat
) -> AsyncGenerator[bytes, None]:
    text = reasoning = ""
    rendered = 0.0
    async with aclosing(batches):
        try:
            async for batch in batches:
                text += "".join(piece for piece in batch if isinstance(piece, str))
                reasoning += "".join(piece.text for piece in batch if isinstance(piece, Reasoning))
                answers = [piece for piece in batch if isinstance(piece, Answer)]
                if answers:
                    yield event_of(asking.finished(answers[0]))
                elif _due(rendered):
                    rendered = time.monotonic()
                    yield event_of(_partial(text, reasoning, asking))
        except RagkitError:
            # What had come since the last rendering is shown before the failure.
            yield event_of(_partial(text, reasoning, asking))
            raise
        finally:
            record.answers([text] if text else [])


def _due(rendered: float, now: Callable[[], float] = time.monotonic) -> bool:
    return now() - rendered >= EVERY_S


def _partial(text: str, reasoning: str, asking: Asking) -> dict[str, str]:
    html = to_html(text, markdown=asking.markdown, words=asking.words) if text else ""
    return {"text": html, **({"reasoning": reasoning} if reasoning else {})}
