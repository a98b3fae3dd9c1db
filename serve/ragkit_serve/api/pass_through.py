"""Requests passed on to the served model: as they are, or with passages put before a question.

The latter is for requests with tools, whose calls are the client's to make.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from ragkit.answer.write.citations import cite
from ragkit.answer.write.llm import UNKNOWN_CONTEXT_TOKENS
from ragkit.knowledge import build
from ragkit.prompts.messages import Prompt, build_prompt, default_budget
from ragkit.prompts.templates import Templates
from ragkit.system.clock import Clock
from ragkit.types import Answer, Draft, Hit
from ragkit_serve.api.chat_answer import Completion
from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.event_stream import EventStream, event_of
from ragkit_serve.api.threads import in_thread
from ragkit_serve.api.upstream import Events, Upstream, Whole

if TYPE_CHECKING:
    from ragkit.access.library import Caller
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit_serve.api.audit import Chat
    from ragkit_serve.api.chat_request import ChatRequest
    from ragkit_serve.api.model_names import Named
    from ragkit_serve.api.slots import Place
    from ragkit_serve.api.state import State

# What would have the model server fetch, run or reveal something: nobody passes these on.
REFUSED: Final = frozenset(
    {"chat_template", "chat_template_kwargs", "kv_transfer_params", "mm_processor_kwargs"}
    | {"vllm_xargs", "logits_processors", "media_io_kwargs"}
)


async def forward(
    state: State, body: dict[str, Any], held: AsyncExitStack, record: Chat
) -> Response:
    """Pass a request on and its answer back, unchanged."""
    _check(body)
    answer = await _upstream(state).ask({k: v for k, v in body.items() if k != "ragkit"})
    if isinstance(answer, Whole):
        if record.wants_texts and answer.status == 200:
            record.answers(_texts(json.loads(answer.content)))
        return Response(answer.content, answer.status, media_type="application/json")
    held.push_async_callback(answer.aclose)  # also where the events are never begun
    events = _recorded(answer, record) if record.wants_texts else answer
    return EventStream(events, held=held.pop_all(), ended=state.admission.ended)


async def augmented(
    state: State,
    chat_request: ChatRequest,
    body: dict[str, Any],
    caller: Caller,
    name: Named,
    held: AsyncExitStack,
    place: Place,
    record: Chat,
    server: str,
) -> Response:
    """Pass a request with tools on, with passages for its last question; check what comes back."""
    _check(body)
    upstream = _upstream(state)
    context = await in_thread(place, lambda: _shown(state, chat_request, caller, name, server))
    record.question(context.question, collection=context.kb.collection)
    sent = {key: value for key, value in body.items() if key != "ragkit"}
    sent |= {"model": context.model, "messages": context.messages(body["messages"])}
    answer = await upstream.ask(sent)
    if isinstance(answer, Whole):
        if answer.status != 200:
            return Response(answer.content, answer.status, media_type="application/json")
        completion = json.loads(answer.content)
        record.answers(_texts(completion))
        return Response(
            json.dumps(await _annotated(place, context, completion)), media_type="application/json"
        )
    held.push_async_callback(answer.aclose)  # also where the events are never begun
    events = _rewritten(place, context, answer, record)
    return EventStream(events, held=held.pop_all(), ended=state.admission.ended)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A question with the passages that the model is shown for it."""

    kb: KnowledgeBase
    question: str
    hits: tuple[Hit, ...]
    prompt: Prompt
    completion: Completion
    model: str
    clock: Clock = field(default_factory=Clock)

    def messages(self, dialogue: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Put the passages into the last question, and the prompt's instructions first."""
        last = max(i for i, message in enumerate(dialogue) if message.get("role") == "user")
        system, user = self.prompt.messages[0], self.prompt.messages[-1]
        question = {**dialogue[last], "content": user.content}
        first = {"role": "system", "content": system.content}
        return [first, *dialogue[:last], question, *dialogue[last + 1 :]]

    def checked(self, text: str) -> Answer:
        """Verify what the model said against the passages it was shown."""
        used = self.prompt.used
        draft = Draft(text, cite(text, used), used=used, prompt=self.prompt.version)
        return self.kb.verified(draft, self.hits, self.clock)


def _shown(
    state: State, chat_request: ChatRequest, caller: Caller, name: Named, server: str
) -> _Shown:
    services, options = state.services, chat_request.options
    questions = [message.text for message in chat_request.messages if message.role == "user"]
    if not questions:
        raise ApiError(400, "there is no user's message", param="messages", code="no_question")
    kb = services.library.open(caller, options.collection or name.collection)
    kb = kb.adapted(
        passages=options.top_k, mode=options.mode, where=options.filter, as_of=options.as_of
    )
    kb.load_entailment()  # before the model is asked: its answer could not be checked
    hits = kb.search(questions[-1], k=kb.passages)
    model = services.library.model
    assert model is not None, "there is a served model"
    answer_tokens = chat_request.max_completion_tokens or chat_request.max_tokens
    answer_tokens = answer_tokens or build.decoding(services.settings).max_tokens
    context = model.context_tokens() or UNKNOWN_CONTEXT_TOKENS
    prompt = build_prompt(
        questions[-1],
        hits,
        budget_tokens=services.settings.llm_budget_tokens
        or default_budget(context, answer_tokens, gpu=True),
        count=model.count_tokens,
        context_tokens=context,
        max_answer_tokens=answer_tokens,
        templates=Templates(services.settings.prompts, kb.collection),
    )
    completion = Completion(chat_request.model, server)
    return _Shown(kb, questions[-1], tuple(hits), prompt, completion, model.name)


async def _annotated(place: Place, context: _Shown, answer: dict[str, Any]) -> dict[str, Any]:
    """Put checked citations beside the text of each choice."""
    for choice in answer.get("choices", ()):
        message = choice.get("message", {})
        message |= await _checked(place, context, message.get("content"))
    return answer | {"model": context.completion.model}


async def _rewritten(
    place: Place, context: _Shown, events: Events, record: Chat
) -> AsyncGenerator[bytes, None]:
    """Put passages into the first chunk of each choice, and checked citations into its last."""
    sent: dict[int, str] = {}
    try:
        async with aclosing(events):
            async for event in events:
                chunk = _chunk(event)
                if chunk is None:
                    yield event
                    continue
                unsent = [
                    choice for choice in _choices(chunk) if choice.get("index", 0) not in sent
                ]
                _add(sent, chunk)
                for choice in _choices(chunk):
                    delta = choice.setdefault("delta", {})
                    if choice in unsent:
                        delta["context"] = context.completion.found(context.hits)
                    if choice.get("finish_reason"):
                        text = sent[choice.get("index", 0)]
                        delta |= await _checked(place, context, text)
                yield event_of(chunk | {"model": context.completion.model})
    finally:
        record.answers(sent.values())


async def _recorded(events: Events, record: Chat) -> AsyncGenerator[bytes, None]:
    """Pass events on unchanged, and write down the answers in them."""
    sent: dict[int, str] = {}
    try:
        async with aclosing(events):
            async for event in events:
                _add(sent, _chunk(event) or {})
                yield event
    finally:
        record.answers(sent.values())


def _chunk(event: bytes) -> dict[str, Any] | None:
    """Return the chunk that an event holds; None for the stream's end, or a comment."""
    data = event.removeprefix(b"data:").strip()
    if not data.startswith(b"{"):
        return None
    chunk: dict[str, Any] = json.loads(data)
    return chunk


def _choices(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return list(answer.get("choices") or ())


def _add(sent: dict[int, str], chunk: dict[str, Any]) -> None:
    """Add a chunk's text to what has been sent of each choice."""
    for choice in _choices(chunk):
        index, delta = choice.get("index", 0), choice.get("delta") or {}
        sent[index] = sent.get(index, "") + (delta.get("content") or "")


def _texts(answer: dict[str, Any]) -> list[str]:
    """Return the text of each choice of a whole answer."""
    messages = [choice.get("message") or {} for choice in _choices(answer)]
    return [str(message.get("content") or "") for message in messages]


def last_text(body: dict[str, Any]) -> str:
    """Return the text of the last message of a request, without what is no text in it."""
    content = body["messages"][-1].get("content") if body.get("messages") else ""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


async def _checked(place: Place, context: _Shown, text: str | None) -> dict[str, Any]:
    if not text:  # tools are called: there is nothing to check yet
        return {"context": context.completion.found(context.hits)}
    answer = await in_thread(place, lambda: context.checked(text))
    return context.completion.checked(answer)


def _upstream(state: State) -> Upstream:
    if state.upstream is None:
        raise ApiError(
            400,
            "this server has no language model to call tools: leave `tools` out, or set"
            " RAGKIT_LLM_URL",
            param="tools",
            code="no_language_model",
        )
    return state.upstream


def _check(body: dict[str, Any]) -> None:
    """Refuse what would have the model server fetch or run something for the client."""
    strange = REFUSED & body.keys()
    if strange:
        raise ApiError(
            400,
            f"{min(strange)!r} is not passed on to the served model: leave it out",
            param=min(strange),
            code="unsupported_parameter",
        )
    for message in body.get("messages", ()):
        parts = message.get("content")
        for part in parts if isinstance(parts, list) else ():
            for name, value in part.items() if isinstance(part, dict) else ():
                url = value.get("url") if isinstance(value, dict) else value
                if name.endswith("_url") and not str(url).startswith("data:"):
                    raise ApiError(
                        400,
                        "the server fetches nothing from addresses: send it as a data: URL",
                        param="messages",
                        code="remote_content",
                    )
