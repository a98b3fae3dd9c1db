"""Read the answers of an OpenAI-style server: completions and chat completions, not streamed.

A malformed answer raises one of Python's exceptions in `MALFORMED`, which the caller translates.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ragkit.types import Usage
from ragkit_eval.run.item import Response

MALFORMED: Final = (KeyError, IndexError, TypeError, ValueError, AttributeError)
Top = tuple[tuple[str, float], ...]


def response_of(answer: dict[str, Any], latency_s: float, *, chat: bool) -> Response:
    """Read a completion."""
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
    """Read the token counts of a server."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        int(usage.get("prompt_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
        details.get("cached_tokens"),
    )


def add_usage(first: Usage | None, second: Usage | None) -> Usage | None:
    """Add the token counts of two requests; None if both are unknown."""
    if first is None or second is None:
        return first or second
    cached = [n for n in (first.cached_tokens, second.cached_tokens) if n is not None]
    return Usage(
        first.prompt_tokens + second.prompt_tokens,
        first.completion_tokens + second.completion_tokens,
        sum(cached) if cached else None,
    )


def _top(choice: dict[str, Any]) -> Top:
    """Read the first token's candidates of a completion: a table of tokens."""
    logprobs = choice.get("logprobs")
    if not logprobs or not logprobs.get("top_logprobs"):
        return ()
    return _sorted(list((logprobs["top_logprobs"][0] or {}).items()))


def _chat_top(choice: dict[str, Any]) -> Top:
    """Read the first token's candidates of a chat: a list of objects."""
    logprobs = choice.get("logprobs")
    if not logprobs or not logprobs.get("content"):
        return ()
    return _sorted(
        [
            (candidate["token"], candidate["logprob"])
            for candidate in logprobs["content"][0]["top_logprobs"]
        ]
    )


def _sorted(candidates: list[tuple[Any, Any]]) -> Top:
    cleaned = [(_clean(token), float(logprob)) for token, logprob in candidates]
    if any(math.isnan(logprob) for _, logprob in cleaned):
        raise ValueError("a log-probability is NaN")
    return tuple(sorted(cleaned, key=lambda candidate: -candidate[1]))


def _clean(text: str) -> str:
    """Replace lone surrogates, which are valid in JSON and not in UTF-8."""
    return text.encode("utf-8", "replace").decode()
