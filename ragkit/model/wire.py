"""The OpenAI wire format of a chat: what is asked, and what a streamed chunk says.

The names are vLLM's where OpenAI has none (top_k, min_p, repetition_penalty, structured_outputs,
reasoning). It sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragkit.types import Decoding, Message, Reasoning, Usage

if TYPE_CHECKING:
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionChunk

# Where the choice is the server's, nothing is sent.
_SCALARS = (
    "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "seed",
)  # fmt: skip


def request_body(model: str, messages: Sequence[Message], decoding: Decoding) -> dict[str, Any]:
    """Write the body of a streamed chat completion."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "temperature": decoding.temperature,
        # OpenAI's newer max_completion_tokens is not known to every server.
        "max_tokens": decoding.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    chosen = {name: getattr(decoding, name) for name in _SCALARS}
    body |= {name: value for name, value in chosen.items() if value is not None}
    if decoding.stop:
        body["stop"] = list(decoding.stop)
    return body | _bound(decoding)


def _bound(decoding: Decoding) -> dict[str, Any]:
    if decoding.json_schema is not None:
        schema = {"name": "answer", "schema": dict(decoding.json_schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if decoding.regex is not None:
        return {"structured_outputs": {"regex": decoding.regex}}
    return {}


def spoken(chunk: ChatCompletionChunk) -> Iterator[str | Reasoning]:
    """Yield the reasoning (vLLM's name, or llama.cpp's) and the text of a chunk."""
    if not chunk.choices:
        return
    delta = chunk.choices[0].delta
    extra: Mapping[str, Any] = delta.model_extra or {}
    thought = extra.get("reasoning") or extra.get("reasoning_content")
    if isinstance(thought, str):
        yield Reasoning(thought)
    if delta.content:
        yield _text(delta.content)


def finish_reason(chunk: ChatCompletionChunk) -> str:
    """Return why the answer ends with this chunk, or "" when it goes on."""
    return str(chunk.choices[0].finish_reason or "") if chunk.choices else ""


def usage_of(counted: CompletionUsage) -> Usage:
    """Read token counts; `cached_tokens` stays None where the server does not tell."""
    details = counted.prompt_tokens_details
    cached = details.cached_tokens if details is not None else None
    return Usage(int(counted.prompt_tokens), int(counted.completion_tokens), cached)


def _text(value: object) -> str:
    if not isinstance(value, str):  # the client does not check what it parses
        raise TypeError(f"content is {type(value).__name__}")
    return value
