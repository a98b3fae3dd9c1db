"""Read the answers of an OpenAI-style server: completions and chat completions, not streamed.

Odd shapes raise what Python raises for them (see `ODD`); who asked says what that means.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ragkit.types import Usage
from ragkit_eval.item import Response

ODD: Final = (KeyError, IndexError, TypeError, ValueError, AttributeError)
Top = tuple[tuple[str, float], ...]


def response_of(answer: dict[str, Any], latency_s: float, *, chat: bool) -> Response:
    """Read one completion."""
    choice = answer["choices"][0]
    message = choice["message"] if chat else {}
    text = message.get("content") if chat else choice["text"]
    thought = message.get("reasoning_content") or message.get("reasoning")
    return Response(
        text=_clean(text or ""),
        finish=choice.get("finish_reason") or "",
        top=_chat_top(choice) if chat else _top(choice),
        usage=usage_of(answer.get("usage")),
        latency_s=latency_s,
        detail={"reasoning": _clean(thought)} if isinstance(thought, str) else {},
    )


def usage_of(usage: Any) -> Usage | None:
    """Read the tokens that a server counted."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        int(usage.get("prompt_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
        details.get("cached_tokens"),
    )


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """Add the tokens of two requests; None where neither was told."""
    if one is None or other is None:
        return one or other
    cached = [n for n in (one.cached_tokens, other.cached_tokens) if n is not None]
    return Usage(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        sum(cached) if cached else None,
    )


def _top(choice: dict[str, Any]) -> Top:
    """Read the first token's candidates of a completion: a table of tokens."""
    told = choice.get("logprobs")
    if not told or not told.get("top_logprobs"):
        return ()
    return _sorted(list((told["top_logprobs"][0] or {}).items()))


def _chat_top(choice: dict[str, Any]) -> Top:
    """Read the first token's candidates of a chat: a list of objects."""
    told = choice.get("logprobs")
    if not told or not told.get("content"):
        return ()
    return _sorted([(one["token"], one["logprob"]) for one in told["content"][0]["top_logprobs"]])


def _sorted(candidates: list[tuple[Any, Any]]) -> Top:
    kept = [(_clean(token), float(logprob)) for token, logprob in candidates]
    if any(math.isnan(logprob) for _, logprob in kept):
        raise ValueError("a log-probability is NaN")
    return tuple(sorted(kept, key=lambda one: -one[1]))


def _clean(text: str) -> str:
    """Replace lone surrogates, which JSON may hold and UTF-8 may not."""
    return text.encode("utf-8", "replace").decode()
