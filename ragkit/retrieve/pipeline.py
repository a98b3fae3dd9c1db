"""A search from the question to the hits: what is searched for, both legs, and what refines them.

A plain composition; it knows nothing of databases or models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from ragkit.cancellation import check_cancelled
from ragkit.contracts import Refinement
from ragkit.filters import Every
from ragkit.retrieve.legs import MAX_K
from ragkit.retrieve.search import check
from ragkit.retrieve.words.marks import preferred
from ragkit.text.analyse import CJK_CHARACTER
from ragkit.text.analysers import analyser
from ragkit.types import Found, Hit, Query, Stage

if TYPE_CHECKING:
    from ragkit.filters import Filter
    from ragkit.retrieve.search import HybridRetriever


MAX_CHARACTERS = 20  # of a question that are searched for one by one; arbitrary
MAX_PAIRS = 50  # that have one of them; arbitrary
SPARE = 10  # hits asked for besides, where some may be duplicates; arbitrary


class Pipeline:
    """Search, refine at least `depth` hits, keep the k best, and widen these.

    `plan` makes a query of a question, for example with a language model's wordings. `distinct`
    leaves out what says the same as a better hit: the search goes as deep as it takes to have
    enough others. With `for_answer` passages that have a "phrase" of the question come first,
    where a query demands it, and a collection of no more passages than are wanted is read whole.
    """

    def __init__(
        self,
        retriever: HybridRetriever,
        *,
        distinct: Refinement | None = None,
        refinements: Sequence[Refinement] = (),
        depth: int = 0,
        widening: Sequence[Refinement] = (),
        plan: Callable[[str], Query] = Query,
        for_answer: bool = False,
    ) -> None:
        self.retriever = retriever
        self.distinct = distinct
        self.refinements = refinements
        self.depth = depth
        self.widening = widening
        self.plan = plan
        self.for_answer = for_answer

    def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """Return at most k hits, best first; raises what `HybridRetriever.search` does."""
        return list(self.find(query, k=k).hits)

    def find(self, query: str, *, k: int) -> Found:
        """Search, and return the hits with the steps that led to them.

        Raises WorkCancelledError between two steps.
        """
        check(query, k)
        stages: list[Stage] = []
        planned = self._planned(query, stages)
        wanted = min(MAX_K, max(k, self.depth))
        search = self._phrases_first if self.for_answer else self._filtered
        hits = search(planned, wanted, stages)
        if self.for_answer and not hits:
            hits = self._by_characters(planned, wanted, stages)
        if self.for_answer and len(hits) < k:
            hits = self._with_the_rest(hits, k, stages)
        for refinement in self.refinements:
            hits = _refined(refinement, query, hits, stages)
        hits = hits[:k]
        for refinement in self.widening:
            hits = _refined(refinement, query, hits, stages)
        return Found(tuple(hits), tuple(stages))

    def _planned(self, query: str, stages: list[Stage]) -> Query:
        began = perf_counter()
        planned = self.plan(query)
        if planned.notes:
            stages.append(Stage("plan", perf_counter() - began, notes=planned.notes))
        return planned

    def _phrases_first(self, query: Query, wanted: int, stages: list[Stage]) -> Sequence[Hit]:
        """Search without what the question marks, and put the passages that have its phrases first.

        Where no passage has them, a stage says so.
        """
        asked = preferred(query.text)
        variants = tuple(preferred(variant).text for variant in query.variants)
        query = replace(query, text=asked.text, variants=variants)
        hits = self._filtered(query, wanted, stages)
        if not asked.phrases:
            return hits
        began = perf_counter()
        having = self._filtered(replace(query, text=asked.first), wanted, [])
        told: dict[str, str] = {} if having else {"phrase": ", ".join(asked.phrases)}
        first = {hit.chunk for hit in having}
        hits = [*having, *(hit for hit in hits if hit.chunk not in first)][:wanted]
        ranked = tuple((hit.chunk, hit.score) for hit in hits)
        stages.append(Stage("phrases first", perf_counter() - began, ranked, told))
        return hits

    def _by_characters(self, query: Query, wanted: int, stages: list[Stage]) -> Sequence[Hit]:
        """Search for the pairs that have single characters of a Chinese question.

        Its own pairs of neighbours stand in no passage, as "房租每月" where a passage has "月租金".
        """
        legs = self.retriever
        if not CJK_CHARACTER.search(query.text):
            return ()
        began = perf_counter()
        with legs.store.snapshot() as reader:
            text = analyser(reader.analyser(legs.collection)).fold(query.text)
            found = dict.fromkeys(CJK_CHARACTER.findall(text))
            pairs = [
                pair
                for character in [*found][:MAX_CHARACTERS]
                for pair in reader.beginning_or_ending(legs.collection, character)[:MAX_PAIRS]
            ]
        stages.append(Stage("by characters", perf_counter() - began, notes={"pairs": len(pairs)}))
        text = " ".join(dict.fromkeys(pairs))
        return (
            self._filtered(replace(query, text=text, variants=()), wanted, stages) if text else ()
        )

    def _with_the_rest(self, hits: Sequence[Hit], k: int, stages: list[Stage]) -> Sequence[Hit]:
        """Add the other passages of a collection that has no more than k."""
        began, legs = perf_counter(), self.retriever
        own = (known for known in legs.store.collections() if known.name == legs.collection)
        if not len(hits) < sum(known.chunks for known in own) <= k:
            return hits
        known = {hit.chunk for hit in hits}.union(
            copy.chunk for hit in hits for copy in hit.duplicates
        )
        with legs.store.snapshot() as reader:
            chunks = reader.matching(legs.collection, legs.where or Every(()))
            rest = reader.hits([chunk for chunk in chunks if chunk not in known])
        hits = [*hits, *rest]
        ranked = tuple((hit.chunk, hit.score) for hit in hits)
        stages.append(Stage("all passages", perf_counter() - began, ranked))
        return hits

    def _filtered(self, query: Query, wanted: int, stages: list[Stage]) -> Sequence[Hit]:
        """Search within what the question says of its documents, or without it for want of any."""
        began, searched = perf_counter(), list[Stage]()
        hits = self._searched(query, wanted, searched)
        if not hits and query.where is not None:  # its stages decided nothing
            dropped = {"dropped": "nothing is found so"}
            searched = [Stage("filter dropped", perf_counter() - began, notes=dropped)]
            hits = self._searched(replace(query, where=None), wanted, searched)
        stages += searched
        return hits

    def _searched(self, query: Query, wanted: int, stages: list[Stage]) -> Sequence[Hit]:
        """Find as many hits as are wanted, if there are so many that differ."""
        retriever = _within(self.retriever, query.where)
        if self.distinct is None:
            check_cancelled()
            found = retriever.find(query, k=wanted)
            stages += found.stages
            return found.hits
        asked = min(MAX_K, wanted + SPARE)
        while True:
            check_cancelled()
            began = perf_counter()
            found = retriever.find(query, k=asked)
            tried = [*found.stages]
            hits = _refined(self.distinct, query.text, found.hits, tried)
            if len(hits) >= wanted or len(found.hits) < asked or asked == MAX_K:
                stages += tried
                return hits[:wanted]
            stages.append(Stage("too many duplicates", perf_counter() - began))
            asked = min(MAX_K, 4 * asked)


def _within(retriever: HybridRetriever, where: Filter | None) -> HybridRetriever:
    """Narrow a search down to what a question says of its documents."""
    if where is None:
        return retriever
    narrow = copy(retriever)
    narrow.where = where if retriever.where is None else Every((retriever.where, where))
    return narrow


def _refined(
    refinement: Refinement, query: str, hits: Sequence[Hit], stages: list[Stage]
) -> Sequence[Hit]:
    check_cancelled()
    began = perf_counter()
    left = refinement.refine(query, hits)
    ranked = tuple((hit.chunk, hit.score) for hit in left)
    stages.append(Stage(refinement.name, perf_counter() - began, ranked))
    return left
