"""Search a knowledge base: both legs, then the steps after them, with the collection's model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ragkit.answer.refuse.gate import Gate, SearchMoment
from ragkit.errors import OtherModelError
from ragkit.filters.tree import Filter
from ragkit.knowledge.add import refuse_empty_collection
from ragkit.rerank.refine import CutOff, Rerank
from ragkit.retrieve.pipeline import Pipeline
from ragkit.retrieve.search import HybridRetriever, check_query

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Refinement, Reranker, Store
    from ragkit.types import Hit, Mode, Query, SearchResult


class Searching:
    """The part of a knowledge base that searches its `collection`; see `KnowledgeBase.over`."""

    store: Store
    embedder: Embedder
    collection: str
    top_k: int
    mode: Mode
    where: Filter | None
    gate: Gate
    distinct: Refinement | None
    reranker: Reranker | None
    refinements: Sequence[Refinement]
    candidates: int
    widening: Sequence[Refinement]
    plan: Callable[[str], Query]

    def search(
        self, query: str, *, k: int | None = None, mode: Mode | None = None
    ) -> Sequence[Hit]:
        """Find the k best passages, `top_k` unless told.

        Raises QueryError, and NotFoundError for an unknown collection or one without a document.
        """
        return list(self.find(query, k=k, mode=mode).hits)

    def find(self, query: str, *, k: int | None = None, mode: Mode | None = None) -> SearchResult:
        """Search as `search` does; return the hits with the steps that led to them."""
        k = self.top_k if k is None else k
        check_query(query, k)  # before any model is looked for
        result = self._search(query, k, mode or self.mode)
        if not result.hits:
            refuse_empty_collection(self.store, self.collection)
        return result

    def _search(
        self, query: str, k: int, mode: Mode, moment: SearchMoment | None = None
    ) -> SearchResult:
        """Search with the model that was last seen, or with the current one if it has changed.

        With `moment`, for an answer. Raises what a search raises, and so OtherModelError for a
        model of a space that the collection never had, or that changes once more meanwhile.
        """
        from ragkit.knowledge.embedders import CollectionEmbedder

        pipeline = self.retriever(mode, fresh=False, moment=moment)
        try:
            return pipeline.find(query, k=k)
        except OtherModelError:
            # A switch may have come between this process's last look and the search's snapshot. The
            # past spaces count, not the current one: the collection may have been switched back.
            space = pipeline.retriever.embedder.space
            if not isinstance(self.embedder, CollectionEmbedder) or not self.embedder.had(space):
                raise
        return self.retriever(mode, moment=moment).find(query, k=k)

    def retriever(
        self,
        mode: Mode | None = None,
        *,
        fresh: bool = True,
        for_answer: bool = False,
        moment: SearchMoment | None = None,
    ) -> Pipeline:
        """Return what searches the collection, by this knowledge base's mode unless told.

        With `for_answer`, as for answers, a query's marks are preferences; else they demand. A
        `moment` is for an answer, too: it reads the view of the search.

        It keeps the model that the collection has now: for one search, not for later. Without
        `fresh` it is the model that was last seen; a search raises OtherModelError if it is not.
        """
        from ragkit.embed.current import current, latest

        mode = mode or self.mode
        # Words need no model. A search keeps to the one that its query is embedded with.
        find = current if fresh else latest
        embedder = self.embedder if mode == "lexical" else find(self.embedder)
        observe = moment.read if moment else ignore
        legs = HybridRetriever(
            self.store, embedder, self.collection, mode, self.where, observe=observe
        )
        refinements = [*self.refinements]
        if self.reranker is not None:
            reranking = Rerank(self.reranker, self.candidates)
            refinements[:0] = [reranking, CutOff(partial(self.gate.least, mode))]
        return Pipeline(
            legs,
            distinct=self.distinct,
            refinements=refinements,
            depth=self.candidates if refinements else 0,
            widening=self.widening,
            plan=self.plan,
            for_answer=for_answer or moment is not None,
        )


def ignore(shown: object) -> None:
    """Be shown something, and do nothing."""
