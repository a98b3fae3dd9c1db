"""The agent's one tool: a search whose passages keep their numbers for the entire answer."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.errors import QueryError
from ragkit.prompts.messages import source_block
from ragkit.types import Hit, Query

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase

PASSAGES: Final = 4  # of one search: several searches share the context


@dataclass(frozen=True, slots=True)
class Search:
    """A search of the agent, its hits, and its seconds."""

    query: str
    hits: tuple[Hit, ...]
    seconds: float


class SearchTool:
    """Search for an agent; source n of the result is `hits[n - 1]`.

    `unreported` are the searches that the loop has not reported yet.
    """

    def __init__(self, knowledge: KnowledgeBase, *, max_searches: int) -> None:
        self._knowledge = copy(knowledge)
        self._knowledge.plan = Query  # the agent words its queries itself
        self._searches_left = max_searches
        self._numbers: dict[int, int] = {}
        self.hits: list[Hit] = []
        self.unreported: list[Search] = []

    def __call__(self, query: str) -> str:
        """Search, and return the passages as numbered sources, repeated ones by number alone.

        Raises QueryError, NotFoundError, DatabaseError.
        """
        started = perf_counter()
        hits = self._knowledge.search(query, k=PASSAGES)
        self.unreported.append(Search(query, tuple(hits), perf_counter() - started))
        numbers = sorted(self._numbers[hit.chunk] for hit in hits if hit.chunk in self._numbers)
        added = [hit for hit in hits if hit.chunk not in self._numbers]
        blocks = [source_block(self._number(hit), hit) for hit in added]
        if numbers:
            blocks.append(f"Found again: {', '.join(f'[{n}]' for n in numbers)}")
        return "\n\n".join(blocks) or "Nothing found."

    def for_model(self, query: str) -> str:
        """Search for the model; return problems as a text for it."""
        if self._searches_left == 0:
            return "No more searches are allowed: answer from the sources that you have."
        self._searches_left -= 1
        try:
            return self(query)
        except QueryError as error:
            return f"This cannot be searched: {error}"

    def _number(self, hit: Hit) -> int:
        self.hits.append(hit)
        self._numbers[hit.chunk] = len(self.hits)
        return len(self.hits)
