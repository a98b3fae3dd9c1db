"""The one tool of an agent: a search whose passages keep their numbers for the whole answer."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.answer.prompt import source_block
from ragkit.errors import QueryError
from ragkit.types import Hit, Query

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase

PASSAGES: Final = 4  # of one search: several searches share the context


@dataclass(frozen=True, slots=True)
class Search:
    """A search that was made, the passages that it found, and its seconds."""

    query: str
    found: tuple[Hit, ...]
    seconds: float


class SearchTool:
    """Search for an agent; source n of what it returns is `hits[n - 1]`.

    `made` are the searches that nobody has taken note of yet.
    """

    def __init__(self, knowledge: KnowledgeBase, *, max_searches: int) -> None:
        self._knowledge = copy(knowledge)
        self._knowledge.plan = Query  # the agent words its queries itself
        self._left = max_searches
        self._numbers: dict[int, int] = {}
        self.hits: list[Hit] = []
        self.made: list[Search] = []

    def __call__(self, query: str) -> str:
        """Search, and return the passages as numbered sources, those known by number alone.

        Raises QueryError, NotFoundError, DatabaseError.
        """
        started = perf_counter()
        found = self._knowledge.search(query, k=PASSAGES)
        self.made.append(Search(query, tuple(found), perf_counter() - started))
        known = sorted(self._numbers[hit.chunk] for hit in found if hit.chunk in self._numbers)
        new = [hit for hit in found if hit.chunk not in self._numbers]
        blocks = [source_block(self._number(hit), hit) for hit in new]
        if known:
            blocks.append(f"Found again: {', '.join(f'[{n}]' for n in known)}")
        return "\n\n".join(blocks) or "Nothing found."

    def for_model(self, query: str) -> str:
        """Search for the model, which is told in words what it cannot have."""
        if self._left == 0:
            return "No more searches are allowed: answer from the sources that you have."
        self._left -= 1
        try:
            return self(query)
        except QueryError as error:
            return f"This cannot be searched: {error}"

    def _number(self, hit: Hit) -> int:
        self.hits.append(hit)
        self._numbers[hit.chunk] = len(self.hits)
        return len(self.hits)
