"""POST /v1/chat/completions: answers from documents, or the served model as it is.

It admits, answers in a thread and sends; what an answer is made of it does not know.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from ragkit import build
from ragkit.answer.templates import Templates
from ragkit.conversation.follow_up import stream as stream_told
from ragkit.library import Caller
from ragkit.types import Answer, Hit, Reasoning
from ragkit_serve.api import audit, passing
from ragkit_serve.api.access import needs
from ragkit_serve.api.chat_answer import ChatCompletion, Completion, Found, finish_reason
from ragkit_serve.api.chat_request import ChatRequest
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.kept import kept_answers
from ragkit_serve.api.model_names import Named, named
from ragkit_serve.api.pump import pumped
from ragkit_serve.api.sending import DONE, EventStream, event_of, while_connected
from ragkit_serve.api.threads import in_thread
from ragkit_serve.api.tracing import chat_span

if TYPE_CHECKING:
    from ragkit.conversation.dialogue import Conversation
    from ragkit.knowledge import KnowledgeBase
    from ragkit_serve.api.state import State

router = APIRouter()

Piece = str | Reasoning | Found | Answer
Batches = AsyncGenerator[Sequence[tuple[int, Piece]], None]


@router.post(
    "/v1/chat/completions",
    response_model=ChatCompletion,
    responses=RESPONSES,
    summary="Answer a question, whole or streamed",
)
async def chat(
    request: Request, asked: ChatRequest, caller: Annotated[Caller, needs("read")]
) -> Response:
    """Answer the last message from a collection, or pass the request on to the served model."""
    ended = request.app.state.ragkit.admission.ended
    return await while_connected(request, _admitted(request, asked, caller), ended=ended)


async def _admitted(request: Request, asked: ChatRequest, caller: Caller) -> Response:
    """Answer while holding a place; a stream takes the place along."""
    state: State = request.app.state.ragkit
    name = named(asked.model, state.services.settings)
    async with AsyncExitStack() as held:
        place = await held.enter_async_context(state.admission.place(caller))
        span = held.enter_context(chat_span(asked.model, state.services.settings))
        record = audit.Chat(state, request.scope, caller)
        if name.served:
            body = await request.json()
            record.question(passing.last_text(body), model=name.served)
            return await passing.forward(state, body, held, record)
        asked.check_conversation()
        if asked.tools:
            body = await request.json()
            return await passing.augmented(state, asked, body, caller, name, held, place, record)
        question = await in_thread(place, lambda: Question(state, asked, caller, name))
        record.question(question.text, collection=question.collection)
        batches = pumped(question.pieces, place)
        first = await _first(batches)
        if not asked.stream:
            return await _whole(question, first, batches, span, record)
        held.push_async_callback(batches.aclose)  # also where the events are never begun
        events = _events(question, first, batches, span, record)
        return EventStream(events, held=held.pop_all(), ended=state.admission.ended)
    raise AssertionError("the stack lets no exception go")


class Question:
    """One request to a collection, and its answers as they are made in a thread."""

    def __init__(self, state: State, asked: ChatRequest, caller: Caller, name: Named) -> None:
        self.state = state
        self.asked = asked
        self.caller = caller
        self.text = asked.question()
        self.collection = state.services.library.name(caller, self._wanted(name))
        self.completion = Completion(asked.model)
        self._found: list[tuple[Hit, ...]] = []
        self._queries: list[str] = []  # of each choice: what was searched for
        self._talk: Conversation | None = None

    def _wanted(self, name: Named) -> str | None:
        """Say which collection is asked; a conversation that goes on stays with its own."""
        wanted = self.asked.options.collection or name.collection
        number = self.asked.options.conversation
        if not isinstance(number, UUID):
            return wanted
        kept = self.state.services.library.conversations(self.caller).get(number).collection
        if wanted not in {None, kept}:
            raise ApiError(
                400,
                f"conversation {number} is about collection {kept!r}: ask that, or begin a new one",
                param="ragkit.collection",
                code="invalid_value",
            )
        return kept

    def pieces(self) -> Iterator[tuple[int, Piece]]:
        """Yield the pieces of each choice after the other, each ending with its Answer."""
        answers: list[Answer] = []
        for choice in range(self.asked.n or 1):
            kb = self._adapted(choice)
            for piece in self._stream(kb):
                if self._found:
                    yield choice, Found(self._found.pop())
                if isinstance(piece, Answer):
                    answers.append(piece)
                    self._keep(answers)
                yield choice, piece

    def _adapted(self, choice: int) -> KnowledgeBase:
        services, options = self.state.services, self.asked.options
        kb = services.library.open(self.caller, self.collection)
        kb.load_entailment()  # before a follow-up is made standalone, which asks the model
        return kb.adapted(
            passages=options.top_k,
            mode=options.mode,
            where=options.filter,
            as_of=options.as_of,
            refusal_threshold=options.refusal_threshold,
            decoding=self.asked.decoding(build.decoding(services.settings), choice),
            instructions=self.asked.instructions(),
            on_found=lambda hits: self._found.append(tuple(hits)),
        )

    def _stream(self, kb: KnowledgeBase) -> Iterator[str | Reasoning | Answer]:
        services = self.state.services
        if self.asked.options.conversation is not None:
            conversation = self._conversation(self.asked.options.conversation)
            conversation.kb = kb
            self._talk = conversation
            self.completion = Completion(self.asked.model, str(conversation.id))
            replace_last = self.asked.options.replace_last
            return conversation.stream(self.text, replace_last=replace_last)
        return stream_told(
            kb,
            self.text,
            self.asked.turns(),
            model=services.library.model,
            templates=Templates(services.settings.prompts, self.collection),
            history_tokens=services.settings.history_tokens,
            on_query=self._queries.append,
        )

    def _conversation(self, wanted: UUID | str) -> Conversation:
        library = self.state.services.library
        if isinstance(wanted, UUID):
            return library.conversation(self.caller, id=wanted)
        return library.conversation(self.caller, collection=self.collection)

    def _keep(self, answers: Sequence[Answer]) -> None:
        """Keep what is to be kept, once it has all its choices; the first can be rated."""
        if not self.asked.store or len(answers) < (self.asked.n or 1):
            return
        last = self._talk.last if self._talk is not None else None
        kept_answers(self.state, self.caller).keep(
            self.completion.id,
            collection=self.collection,
            question=self.text,
            query=self._queries[0] if last is None else last.query,
            answer=answers[0],
            completion=self.completion.whole(answers),
        )


async def _first(batches: Batches) -> Sequence[tuple[int, Piece]]:
    """Wait for the first text: what fails before it has a status of its own."""
    try:
        return await anext(batches)
    except BaseException:
        await batches.aclose()
        raise


async def _whole(
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
    for answer in answers:
        question.state.metrics.answered(answer.timings, answer.usage)
        span.answered(answer)
    record.answers(answer.text for answer in answers)
    return JSONResponse(question.completion.whole(answers))


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
    for answer in answers:
        question.state.metrics.answered(answer.timings, answer.usage)
        span.answered(answer)
    last = b""
    if question.asked.usage_wanted:
        last = event_of(question.completion.usage_chunk([answer.usage for answer in answers]))
    yield last + DONE


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
        found = completion.found(piece.hits) if isinstance(piece, Found) else {"citations": []}
        head = completion.chunk(choice, {"role": "assistant", "content": "", "context": found})
        if isinstance(piece, Found):
            return _event(question, head)
        return _event(question, head) + _written(question, numbered, begun, answers)
    if isinstance(piece, str):
        delta = {"content": piece}
    elif isinstance(piece, Reasoning):
        delta = {"reasoning": piece.text}
    elif isinstance(piece, Answer):
        answers.append(piece)
        delta, end = {"context": completion.context(piece)}, finish_reason(piece)
    return _event(question, completion.chunk(choice, delta, end))


def _event(question: Question, chunk: dict[str, Any]) -> bytes:
    return event_of(chunk | {"usage": None} if question.asked.usage_wanted else chunk)
