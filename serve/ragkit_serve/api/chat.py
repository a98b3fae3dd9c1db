"""POST /v1/chat/completions: answers from documents, or the served model as it is.

It admits, answers in a thread and sends; what an answer is made of it does not know.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from ragkit.access.library import Caller
from ragkit.types import Answer, Reasoning
from ragkit_serve.api import audit, pass_through
from ragkit_serve.api.access import needs
from ragkit_serve.api.authority import server_address
from ragkit_serve.api.chat_answer import ChatCompletion, Found, finish_reason
from ragkit_serve.api.chat_question import Piece, Question
from ragkit_serve.api.chat_request import ChatRequest
from ragkit_serve.api.errors import RESPONSES
from ragkit_serve.api.event_stream import DONE, EventStream, event_of, while_connected
from ragkit_serve.api.model_names import named
from ragkit_serve.api.pump import pumped
from ragkit_serve.api.threads import in_thread
from ragkit_serve.api.tracing import chat_span

if TYPE_CHECKING:
    from ragkit_serve.api.state import State

router = APIRouter()

Batches = AsyncGenerator[Sequence[tuple[int, Piece]], None]


@router.post(
    "/v1/chat/completions",
    response_model=ChatCompletion,
    responses=RESPONSES,
    summary="Answer a question, whole or streamed",
)
async def chat(
    request: Request, body: ChatRequest, caller: Annotated[Caller, needs("read")]
) -> Response:
    """Answer the last message from a collection, or pass the request on to the served model."""
    ended = request.app.state.ragkit.admission.ended
    return await while_connected(request, _admitted(request, body, caller), ended=ended)


async def _admitted(request: Request, asked: ChatRequest, caller: Caller) -> Response:
    """Answer while holding a place; a stream takes the place along."""
    state: State = request.app.state.ragkit
    server = server_address(request)
    name = await named(asked.model, state.services)
    async with AsyncExitStack() as held:
        place = await held.enter_async_context(state.admission.place(caller))
        span = held.enter_context(chat_span(asked.model, state.services.settings))
        record = audit.Chat(state, request.scope, caller)
        if name.served:
            body = await request.json()
            record.question(pass_through.last_text(body), model=name.served)
            return await pass_through.forward(state, body, held, record)
        asked.check_conversation()
        if asked.tools:
            body = await request.json()
            return await pass_through.augmented(
                state, asked, body, caller, name, held, place, record, server
            )
        make = partial(Question, state, asked, caller, name, server)
        # Only a kept conversation is looked up.
        question = await in_thread(place, make) if asked.options.conversation else make()
        if question.task is None:
            record.question(question.text, collection=question.collection)
        else:
            record.question(question.text, model=state.services.settings.llm_model)
        batches = pumped(question.pieces, place)
        first = await _first(batches)
        if not asked.stream:
            return await _send_complete(question, first, batches, span, record)
        held.push_async_callback(batches.aclose)  # also where the events are never begun
        events = _events(question, first, batches, span, record)
        return EventStream(events, held=held.pop_all(), ended=state.admission.ended)
    raise AssertionError("the stack lets no exception go")


async def _first(batches: Batches) -> Sequence[tuple[int, Piece]]:
    """Wait for the first text: what fails before it has a status of its own."""
    try:
        return await anext(batches)
    except BaseException:
        await batches.aclose()
        raise


async def _send_complete(
    question: Question,
    first: Sequence[tuple[int, Piece]],
    batches: Batches,
    span: Any,
    record: audit.Chat,
) -> Response:
    answers: list[Answer] = []
    async with aclosing(batches):
        answers += [piece for _, piece in first if isinstance(piece, Answer)]
        async for batch in batches:
            answers += [piece for _, piece in batch if isinstance(piece, Answer)]
    _measure(question, answers, span)
    record.answers(answer.text for answer in answers)
    return JSONResponse(question.completion.whole(answers, question.usage))


async def _events(
    question: Question,
    first: Sequence[tuple[int, Piece]],
    batches: Batches,
    span: Any,
    record: audit.Chat,
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a stream; those that came together are sent together."""
    begun: set[int] = set()
    answers: list[Answer] = []
    sent: dict[int, str] = {}
    try:
        async with aclosing(batches):
            _add(sent, first)
            yield b"".join(_written(question, piece, begun, answers) for piece in first)
            async for batch in batches:
                _add(sent, batch)
                yield b"".join(_written(question, piece, begun, answers) for piece in batch)
    finally:
        record.answers(sent.values())
    _measure(question, answers, span)
    last = b""
    if question.asked.usage_wanted:
        last = event_of(question.completion.usage_chunk(question.usage))
    yield last + DONE


def _measure(question: Question, answers: Sequence[Answer], span: Any) -> None:
    metrics = question.state.metrics
    for answer in answers:
        metrics.answered(answer.timings, None)
        span.answered(answer)
    for usage in question.spent:
        metrics.answered({}, usage)


def _add(sent: dict[int, str], pieces: Sequence[tuple[int, Piece]]) -> None:
    """Add the text of pieces to what has been sent of each choice."""
    for choice, piece in pieces:
        if isinstance(piece, str):
            sent[choice] = sent.get(choice, "") + piece


def _written(
    question: Question, numbered: tuple[int, Piece], begun: set[int], answers: list[Answer]
) -> bytes:
    """Write one piece as the events that it is; a choice's first has the role."""
    choice, piece = numbered
    completion = question.completion
    delta: dict[str, Any] = {}
    end: str | None = None
    if choice not in begun:
        begun.add(choice)
        context = completion.found(piece.hits) if isinstance(piece, Found) else {"citations": []}
        head = completion.chunk(choice, {"role": "assistant", "content": "", "context": context})
        if isinstance(piece, Found):
            return _event(question, head)
        return _event(question, head) + _written(question, numbered, begun, answers)
    if isinstance(piece, str):
        delta = {"content": piece}
    elif isinstance(piece, Reasoning):
        delta = {"reasoning": piece.text}
    elif isinstance(piece, Answer):
        answers.append(piece)
        delta, end = completion.checked(piece), finish_reason(piece)
    return _event(question, completion.chunk(choice, delta, end))


def _event(question: Question, chunk: dict[str, Any]) -> bytes:
    return event_of(chunk | {"usage": None} if question.asked.usage_wanted else chunk)
