"""Bounds of an agent: the number of its model's calls, and of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware


def is_over(calls: int, tokens: int, max_steps: int, max_tokens: int) -> bool:
    """Tell whether so many calls and tokens allow no other call."""
    return calls >= max_steps or tokens >= max_tokens


def make_bounds(max_steps: int, max_tokens: int) -> AgentMiddleware[Any, Any]:
    """Make the middleware that ends the loop before a call that would exceed a bound."""
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain_core.messages import AIMessage

    class Bounds(AgentMiddleware[Any, Any]):
        @hook_config(can_jump_to=["end"])
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            replies = [message for message in state["messages"] if isinstance(message, AIMessage)]
            spent = sum(m.usage_metadata["total_tokens"] for m in replies if m.usage_metadata)
            over = is_over(len(replies), spent, max_steps, max_tokens)
            return {"jump_to": "end"} if over else None

    return Bounds()
