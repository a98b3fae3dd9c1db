"""The agent's loop: LangChain's create_agent with one tool, bounded steps and tokens, and a trace.

The answer is read, cited and verified like one that was written without an agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from contextvars import Context, copy_context
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal

from ragkit.agent.bounds import make_bounds
from ragkit.agent.search import SearchTool
from ragkit.answer.refuse import refusal
from ragkit.answer.write.citations import cite
from ragkit.answer.write.links import sanitise_pieces
from ragkit.answer.write.llm import refusal_in
from ragkit.errors import ModelServerError
from ragkit.model.thinking import Thinking
from ragkit.prompts.messages import REFUSAL, neutralise, prompt_language
from ragkit.system.clock import Clock
from ragkit.types import Answer, Draft, Hit

if TYPE_CHECKING:
    from collections.abc import Generator

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langgraph.graph.state import CompiledStateGraph

    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.prompts.templates import PromptLanguage, Templates

# Arbitrary, and enough for a question that needs three searches and a second look.
MAX_STEPS: Final = 6
MAX_TOKENS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an agent: the model's text or calls, or a search and its hits.

    `tokens` counts a model step's prompt and completion, 0 where the server does not report them.
    In a tree of thoughts a search has a `score`, and `is_followed` says whether it was one of the
    best; elsewhere both are None.
    """

    kind: Literal["model", "search"]
    text: str
    hits: tuple[Hit, ...] = ()
    seconds: float = 0.0
    tokens: int = 0
    score: float | None = None
    is_followed: bool | None = None


class Agent:
    """Answer questions from a knowledge base by searching it as often as needed.

    `chats` are chat models that can call tools, each a substitute for the previous. At most
    `max_steps` calls of the model are made, and none once `max_tokens` have been spent; then the
    knowledge base's generator answers from the hits.
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
        """Yield each step once it is done, then the verified Answer.

        Raises QueryError for a question without a word, NotFoundError for an unknown collection,
        ModelServerError, and ModelError at once when claims cannot be checked.
        """
        from langchain_core.messages import AIMessage

        self._knowledge.load_entailment()

        clock = Clock()
        tool = SearchTool(self._knowledge, max_searches=2 * self._max_steps)
        first = tool(question)  # also refuses a question without a word
        yield from _searches(tool)
        reply, started = "", perf_counter()
        with closing(self._messages(question, first, tool)) as messages:
            for message in messages:
                seconds = perf_counter() - started
                yield from _searches(tool)
                if isinstance(message, AIMessage):
                    reply = "" if message.tool_calls else _without_thoughts(message.text)
                    yield Step("model", reply or _wishes(message), (), seconds, _tokens(message))
                started = perf_counter()
        draft = self._draft(question, reply, tool)
        clock.stop("agent")
        yield self._knowledge.verified(draft, tool.hits, clock)

    def _messages(
        self, question: str, first: str, tool: SearchTool
    ) -> Generator[BaseMessage, None, None]:
        """Run LangChain's loop and yield every message as it comes."""
        language = prompt_language(question)
        agent = self._agent(language, tool)
        message = self._templates.render(
            "user", language, sources=[first], question=neutralise(question)
        )
        updates = agent.stream({"messages": [("user", message)]}, stream_mode="updates")
        quiet = _untraced()
        while True:
            try:
                update = quiet.run(next, updates, None)
            except _foreign_errors() as error:
                problem = " ".join(str(error).split())[:300] or type(error).__name__
                raise ModelServerError(
                    f"the language model failed in agent mode: {problem}"
                ) from error
            if update is None:
                return
            for node in update.values():
                yield from (node or {}).get("messages", ())

    def _agent(self, language: PromptLanguage, tool: SearchTool) -> CompiledStateGraph[Any]:
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelFallbackMiddleware
        from langchain_core.tools import StructuredTool

        first, *substitutes = self._chats
        search = StructuredTool.from_function(
            tool.for_model,
            name="search",
            description="Search the documents with a short query. Returns numbered sources.",
        )
        return create_agent(
            first,
            [search],
            system_prompt=self._templates.render("agent", language, refusal=REFUSAL[language]),
            middleware=[
                make_bounds(self._max_steps, self._max_tokens),
                *([ModelFallbackMiddleware(*substitutes)] if substitutes else []),
            ],
        )

    def _draft(self, question: str, reply: str, tool: SearchTool) -> Draft:
        """Read the answer from the last reply, or let the generator write one."""
        if not reply.strip():  # out of steps or tokens, or nothing but searches
            pieces = self._knowledge.generator.generate(question, tool.hits)
            return next(piece for piece in pieces if isinstance(piece, Draft))
        pieces = sanitise_pieces([reply], tool.hits)
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        refused = refusal_in(text)
        citations = () if refused else cite(text, tool.hits)
        reason = refusal.by_model(refused) if refused else ""
        return Draft(text, citations, bool(refused), reason, used=tuple(tool.hits))


def _without_thoughts(text: str) -> str:
    thinking = Thinking()
    pieces = [*thinking.feed(text), *thinking.end()]
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _foreign_errors() -> tuple[type[Exception], ...]:
    """Name the errors of chat models: each provider's own, and those of malformed responses."""
    import httpx
    import openai
    from langgraph.errors import GraphRecursionError

    odd = (ValueError, KeyError, IndexError, TypeError, AttributeError, OSError)
    return (openai.OpenAIError, httpx.HTTPError, GraphRecursionError, *odd)


def _untraced() -> Context:
    """Make a context in which LangChain sends no traces, whatever the environment."""
    from langsmith import tracing_context

    with tracing_context(enabled=False):
        return copy_context()


def _searches(tool: SearchTool) -> Iterator[Step]:
    """Yield the searches since the last call."""
    while tool.unreported:
        search = tool.unreported.pop(0)
        yield Step("search", search.query, search.hits, search.seconds)


def _wishes(message: AIMessage) -> str:
    return "; ".join(f"{call['name']}({call['args']})" for call in message.tool_calls)


def _tokens(message: AIMessage) -> int:
    return message.usage_metadata["total_tokens"] if message.usage_metadata else 0
