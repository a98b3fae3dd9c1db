"""The OpenAI wire format of the stub server's answers, whole and streamed. Sends nothing."""

import base64
import json
import re
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from ragkit.testing.stub_server.script import Json, Reply


def whole(reply: Reply, body: Json, cached_tokens: int) -> Json:
    """Write a whole chat completion."""
    message: Json = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = _tool_calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
    frame = {**_frame(body, "chat.completion"), "choices": [choice]}
    return {**frame, "usage": _usage(body, reply, cached_tokens)}


def frames(reply: Reply, body: Json, cached_tokens: int) -> Iterator[Json]:
    """Yield the chunks of a streamed one; the last has the usage, where it was asked for."""
    yield delta(body, {"role": "assistant", "content": ""})
    for piece in pieces(reply.reasoning):
        yield delta(body, {"reasoning_content": piece})
    for piece in pieces(reply.text):
        yield delta(body, {"content": piece})
    if reply.tool_calls:
        calls = [{"index": n, **call} for n, call in enumerate(_tool_calls(reply))]
        yield delta(body, {"tool_calls": calls})
    yield delta(body, {}, _reason(reply))
    options = body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage"):
        frame = _frame(body, "chat.completion.chunk")
        yield {**frame, "choices": [], "usage": _usage(body, reply, cached_tokens)}


def delta(body: Json, said: Json, finish_reason: str | None = None) -> Json:
    """Write one chunk."""
    choice = {"index": 0, "delta": said, "finish_reason": finish_reason}
    return {**_frame(body, "chat.completion.chunk"), "choices": [choice]}


def embeddings(vectors: Iterable[Iterable[float]], tokens: int, body: Json) -> Json:
    """Write a list of embeddings of so many tokens, in the form that the request asks for."""
    rows = [array("f", vector) for vector in vectors]
    if body.get("encoding_format") == "base64":
        written: list[Any] = [base64.b64encode(row.tobytes()).decode() for row in rows]
    else:
        written = [list(row) for row in rows]
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(written)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def prompt_pieces(body: Json) -> list[str]:
    """Split a request's messages into pieces, in their order."""
    contents = (message.get("content") for message in body["messages"])
    return [piece for content in contents for piece in pieces(_plain(content))]


def pieces(text: str) -> list[str]:
    """Split text into words with their spaces, and runs without spaces into fours, as tokens go.

    They count as tokens here: nobody's tokenizer, but the same for the same text.
    """
    return re.findall(r"\s*\S{1,4}|\s+$", text)


def _plain(content: Any) -> str:
    if isinstance(content, list):  # parts
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _tool_calls(reply: Reply) -> list[Json]:
    return [
        {
            "id": f"call-{n}",
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
            },
        }
        for n, call in enumerate(reply.tool_calls)
    ]


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.tool_calls else reply.finish_reason


def _frame(body: Json, kind: str) -> Json:
    return {"id": "chatcmpl-stub", "object": kind, "created": 0, "model": body["model"]}


def _usage(body: Json, reply: Reply, cached_tokens: int) -> Json:
    prompt = len(prompt_pieces(body))
    completion = len(pieces(reply.reasoning)) + len(pieces(reply.text))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }
