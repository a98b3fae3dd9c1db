"""A search from the question to the hits: what is searched for, both legs, and what refines them.

A plain composition; it knows nothing of databases or models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from ragkit.contracts import Refinement
from ragkit.retrieve.search import MAX_K, check
from ragkit.types import Found, Hit, Query, Stage

if TYPE_CHECKING:
    from ragkit.retrieve.search import HybridRetriever


class Pipeline:
    """Search, refine at least `depth` hits, keep the k best, and widen these.

    `plan` makes a query of a question, for example with a language model's wordings.
    """

    def __init__(
        self,
        retriever: HybridRetriever,
        *,
        refinements: Sequence[Refinement] = (),
        depth: int = 0,
        widening: Sequence[Refinement] = (),
        plan: Callable[[str], Query] = Query,
    ) -> None:
        self.retriever = retriever
        self.refinements = refinements
        self.depth = depth
        self.widening = widening
        self.plan = plan

    def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """Return at most k hits, best first; raises what `HybridRetriever.search` does."""
        return list(self.find(query, k=k).hits)

    def find(self, query: str, *, k: int) -> Found:
        """Search, and return the hits with the steps that led to them."""
        check(query, k)
        found = self.retriever.find(self.plan(query), k=min(MAX_K, max(k, self.depth)))
        hits: Sequence[Hit] = found.hits
        stages = list(found.stages)
        for refinement in self.refinements:
            hits = _refined(refinement, query, hits, stages)
        hits = hits[:k]
        for refinement in self.widening:
            hits = _refined(refinement, query, hits, stages)
        return Found(tuple(hits), tuple(stages))


def _refined(
    refinement: Refinement, query: str, hits: Sequence[Hit], stages: list[Stage]
) -> Sequence[Hit]:
    began = perf_counter()
    left = refinement.refine(query, hits)
    ranked = tuple((hit.chunk, hit.score) for hit in left)
    stages.append(Stage(refinement.name, perf_counter() - began, ranked))
    return left
