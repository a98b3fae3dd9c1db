"""The OpenAI wire format of a chat: what is asked, and what a streamed chunk says.

The names are vLLM's where OpenAI has none (top_k, min_p, repetition_penalty, structured_outputs,
reasoning). It sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragkit.types import Decoding, Message, Reasoning, Usage

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


def spoken(chunk: Mapping[str, Any]) -> Iterator[str | Reasoning]:
    """Yield the reasoning (vLLM's name, or llama.cpp's) and the text of a chunk."""
    delta = _choice(chunk).get("delta") or {}
    thought = delta.get("reasoning") or delta.get("reasoning_content")
    if isinstance(thought, str):
        yield Reasoning(thought)
    if text := delta.get("content"):
        if not isinstance(text, str):
            raise TypeError(f"content is {type(text).__name__}")
        yield text


def finish_reason(chunk: Mapping[str, Any]) -> str:
    """Return why the answer ends with this chunk, or "" when it goes on."""
    return str(_choice(chunk).get("finish_reason") or "")


def usage_of(counted: Mapping[str, Any]) -> Usage:
    """Read token counts; `cached_tokens` stays None where the server does not tell."""
    cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens")
    return Usage(int(counted["prompt_tokens"]), int(counted["completion_tokens"]), cached)


def _choice(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the only choice of a chunk; one that only counts tokens has none."""
    choices = chunk.get("choices")
    choice: Mapping[str, Any] = choices[0] if choices else {}
    return choice
