"""The agent's loop: LangChain's create_agent with one tool, bounded steps and tokens, and a trace.

The answer is read, cited and verified exactly as one that was written without an agent. It knows
nothing of how a search works, and has no tool but that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from ragkit.agent.search import SearchTool
from ragkit.types import Answer, Draft, Hit

if TYPE_CHECKING:
    from collections.abc import Generator

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

    from ragkit.answer.templates import Templates
    from ragkit.knowledge import KnowledgeBase

# Arbitrary, and enough for a question that needs three searches and a second look.
MAX_STEPS: Final = 6
MAX_TOKENS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an agent: what the model said or asked for, or a search and what it found.

    `tokens` counts a model step's prompt and completion, 0 where the server does not tell.
    """

    kind: Literal["model", "search"]
    text: str
    found: tuple[Hit, ...] = ()
    seconds: float = 0.0
    tokens: int = 0


class Agent:
    """Answer questions from a knowledge base by searching it as often as needed.

    `chats` are chat models that can call tools, each standing in for the one before. At most
    `max_steps` calls of the model are made, and none once `max_tokens` have been spent; then the
    knowledge base's own generator answers from what was found.
    """

    def __init__(
        self,
        knowledge: KnowledgeBase,
        chats: Sequence[BaseChatModel],
        *,
        templates: Templates,
        max_steps: int = MAX_STEPS,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        assert chats, "an agent needs a chat model"
        self._knowledge = knowledge
        self._chats = tuple(chats)
        self._templates = templates
        self._max_steps = max_steps
        self._max_tokens = max_tokens

    def stream(self, question: str) -> Iterator[Step | Answer]:
        """Yield each step as it is done, then the verified Answer.

        Raises QueryError for a question without a word, NotFoundError for an unknown collection,
        ModelServerError.
        """
        started = perf_counter()
        tool = SearchTool(self._knowledge, max_searches=2 * self._max_steps)
        tool(question)  # what everybody would search first; it also refuses what cannot be asked
        yield from _searches(tool)
        said = ""
        clock = perf_counter()
        with closing(self._messages(question, tool)) as messages:
            for message in messages:
                yield from _searches(tool)
                if message.type == "ai":
                    said = "" if message.tool_calls else message.text
                    yield _model_step(message, perf_counter() - clock)
                clock = perf_counter()
        yield from _searches(tool)
        yield self._answer(question, said, tool, started)

    def _messages(self, question: str, tool: SearchTool) -> Generator[AIMessage, None, None]:
        """Run the loop and yield what the model says, message by message."""
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelFallbackMiddleware
        from langchain_core.tools import StructuredTool

        language = prompt_language(question)
        middleware: list[Any] = [_bounds(self._max_steps, self._max_tokens)]
        if self._chats[1:]:
            middleware.append(ModelFallbackMiddleware(*self._chats[1:]))
        agent = create_agent(
            self._chats[0],
            [
                StructuredTool.from_function(
                    tool.answer_to_model,
                    name="search",
                    description="Search the documents. Returns numbered sources.",
                )
            ],
            system_prompt=self._templates.render("agent", language, refusal=REFUSAL[language]),
            middleware=middleware,
        )
        asked = self._templates.render("user", language, question=question, sources=[])
