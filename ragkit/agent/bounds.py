"""Where an agent ends: after so many calls of its model, or once so many tokens are spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware


def bounds(max_steps: int, max_tokens: int) -> AgentMiddleware[Any, Any]:
    """Make what stands before each call of the model and ends the loop when a bound is reached."""
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain_core.messages import AIMessage

    class Bounds(AgentMiddleware[Any, Any]):
        @hook_config(can_jump_to=["end"])
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            said = [message for message in state["messages"] if isinstance(message, AIMessage)]
            spent = sum(m.usage_metadata["total_tokens"] for m in said if m.usage_metadata)
            over = len(said) >= max_steps or spent >= max_tokens
            return {"jump_to": "end"} if over else None

    return Bounds()
