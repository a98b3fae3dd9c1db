"""Questions and answers in OpenAI's wire format: the request, the answer, the event stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from ragkit.api_values import ServedAnswer
from ragkit.client.values import answer
from ragkit.errors import IncompleteAnswerError, ServerError
from ragkit.types import Mode, Reasoning, Turn

PATH: Final = "/v1/chat/completions"
MAX_LINE_BYTES: Final = 16 << 20  # arbitrary: an event is a line


def request(
    question: str,
    *,
    stream: bool,
    collection: str | None,
    filter: Mapping[str, Any] | str | None,
    as_of: datetime | None,
    top_k: int | None,
    mode: Mode | None,
    refusal_threshold: float | None,
    conversation: UUID | str | None,
    replace_last: bool,
    turns: Sequence[Turn],
    keep: bool,
) -> dict[str, Any]:
    """Write the request; the server chooses every option that is None."""
    messages = []
    for turn in turns:
        messages.append({"role": "user", "content": turn.question})
        messages.append({"role": "assistant", "content": turn.answer})
    options = {
        "collection": collection,
        "filter": filter,
        "as_of": None if as_of is None else as_of.isoformat(),
        "top_k": top_k,
        "mode": mode,
        "refusal_threshold": refusal_threshold,
        "conversation": None if conversation is None else str(conversation),
        "replace_last": replace_last or None,
    }
    return {
        "model": "ragkit",
        "messages": [*messages, {"role": "user", "content": question}],
        "stream": stream,
        **({"stream_options": {"include_usage": True}} if stream else {}),
        "store": keep,
        "ragkit": {name: option for name, option in options.items() if option is not None},
    }


def read_completion(body: Mapping[str, Any]) -> ServedAnswer:
    """Read an answer that was not streamed. Raises ServerError."""
    try:
        message = body["choices"][0]["message"]
        reasoning, context = message.get("reasoning") or "", message.get("context")
        return answer(body, message["content"] or "", reasoning, context)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ServerError("the server's answer is no chat completion: check the address") from error


def pieces(chunks: Iterable[bytes]) -> Iterator[str | Reasoning | ServedAnswer]:
    """Yield an answer's text as it comes, then the answer with its verified citations.

    Raises IncompleteAnswerError, with the text so far, when the stream fails or ends too early.
    """
    text, reasoning = "", ""
    head: dict[str, Any] = {}
    context: Any = None
    finished = False
    try:
        for event in events(chunks):
            if event == "[DONE]" and finished:
                yield answer(head, text, reasoning, context)
                return
            delta, ended = _delta(event, head)
            finished = finished or ended
            context = delta.get("context") or context
            if thought := delta.get("reasoning"):
                reasoning += thought
                yield Reasoning(thought)
            if piece := delta.get("content"):
                text += piece
                yield piece
    except ServerError as error:
        raise IncompleteAnswerError(str(error), text) from error
    raise IncompleteAnswerError("the server ended its answer before it was complete", text)


def events(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the data of server-sent events, however the bytes are cut.

    Only a line feed ends a line: an event's JSON may contain other characters that some programs
    take for a line break, such as U+2028.
    """
    buffer = b""
    for chunk in chunks:
        *lines, buffer = (buffer + chunk).split(b"\n")
        if len(buffer) > MAX_LINE_BYTES:
            raise ServerError(f"the server sent a line of more than {MAX_LINE_BYTES >> 20} MB")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8", "replace")


def _delta(data: str, head: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return an event's delta, and whether it ends the answer; add its id and usage to `head`.

    Raises ServerError for an event that reports a failure or is malformed.
    """
    try:
        event = json.loads(data)
        if "error" in event:
            raise ServerError(str(event["error"]["message"]))
        head.update({"id": event.get("id", "")}, **_usage(event))
        if not event["choices"]:
            return {}, False
        choice = event["choices"][0]
        return dict(choice.get("delta") or {}), choice.get("finish_reason") is not None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ServerError("the server sent an event that is no part of an answer") from error


def _usage(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"usage": event["usage"]} if event.get("usage") else {}
