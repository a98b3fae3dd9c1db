"""A search from the question to the hits: plan, both legs, refinements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from ragkit.contracts import Refinement
from ragkit.filters.tree import Every
from ragkit.retrieve.legs import MAX_K
from ragkit.retrieve.search import check_query
from ragkit.retrieve.words.marks import read_preferences
from ragkit.system.cancellation import check_cancelled
from ragkit.text.analyse import CJK_CHARACTER
from ragkit.text.analysers import analyser
from ragkit.types import Hit, Query, SearchResult, Stage

if TYPE_CHECKING:
    from ragkit.filters.tree import Filter
    from ragkit.retrieve.search import HybridRetriever


MAX_CHARACTERS = 20  # of a question that are searched for singly; arbitrary
MAX_PAIRS = 50  # of those that contain such a character; arbitrary
SPARE = 10  # additional hits, as some may be duplicates; arbitrary


class Pipeline:
    """Search, refine at least `depth` hits, keep the k best, and widen these.

    `plan` makes a query of a question, for example with a language model's wordings. `distinct`
    removes duplicates of better hits: the search goes as deep as it takes to have enough others.
    With `for_answer` passages that have a "phrase" of the question come first, where a query
    requires it, and a collection of at most k passages is read whole.
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
        check_query(query, k)
        return list(self.find(query, k=k).hits)

    def find(self, query: str, *, k: int) -> SearchResult:
        """Search for a query that `check_query` accepts; return the hits with their steps.

        Raises WorkCancelledError between two steps.
        """
        stages: list[Stage] = []
        planned = self._planned(query, stages)
        depth = min(MAX_K, max(k, self.depth))
        hits = self._searched(_unmarked(planned) if self.for_answer else planned, depth, stages)
        if self.for_answer:
            hits = self._phrases_first(planned, hits, depth, stages)
        if self.for_answer and not hits:
            hits = self._by_characters(planned, depth, stages)
        if self.for_answer and len(hits) < k:
            hits = self._with_all_passages(hits, k, stages)
        for refinement in self.refinements:
            hits = _refined(refinement, query, hits, stages)
        hits = hits[:k]
        for refinement in self.widening:
            hits = _refined(refinement, query, hits, stages)
        return SearchResult(tuple(hits), tuple(stages))

    def _planned(self, query: str, stages: list[Stage]) -> Query:
        began = perf_counter()
        planned = self.plan(query)
        if planned.notes:
            stages.append(Stage("plan", perf_counter() - began, notes=planned.notes))
        return planned

    def _phrases_first(
        self, query: Query, hits: Sequence[Hit], depth: int, stages: list[Stage]
    ) -> Sequence[Hit]:
        """Put the passages with the question's phrases first; a stage says where there are none."""
        marked = read_preferences(query.text)
        if not marked.phrases:
            return hits
        began = perf_counter()
        having = self._searched(replace(_unmarked(query), text=marked.first), depth, [])
        notes: dict[str, str] = {} if having else {"phrase": ", ".join(marked.phrases)}
        first = {hit.chunk for hit in having}
        hits = [*having, *(hit for hit in hits if hit.chunk not in first)][:depth]
        ranked = tuple((hit.chunk, hit.score) for hit in hits)
        stages.append(Stage("phrases first", perf_counter() - began, ranked, notes))
        return hits

    def _by_characters(self, query: Query, depth: int, stages: list[Stage]) -> Sequence[Hit]:
        """Search for all pairs that contain a character of a Chinese question.

        The question's pairs of neighbours may stand in no passage, as "房租每月" where a passage
        has "月租金".
        """
        legs = self.retriever
        if not CJK_CHARACTER.search(query.text):
            return ()
        began = perf_counter()
        with legs.store.snapshot() as reader:
            text = analyser(reader.analyser(legs.collection)).fold(query.text)
            characters = dict.fromkeys(CJK_CHARACTER.findall(text))
            pairs = [
                pair
                for character in [*characters][:MAX_CHARACTERS]
                for pair in reader.beginning_or_ending(legs.collection, character)[:MAX_PAIRS]
            ]
        stages.append(Stage("by characters", perf_counter() - began, notes={"pairs": len(pairs)}))
        text = " ".join(dict.fromkeys(pairs))
        return self._searched(replace(query, text=text, variants=()), depth, stages) if text else ()

    def _with_all_passages(self, hits: Sequence[Hit], k: int, stages: list[Stage]) -> Sequence[Hit]:
        """Add the other passages of a collection that has at most k."""
        began, legs = perf_counter(), self.retriever
        if not len(hits) < _chunks(stages) <= k:
            return hits
        collection = {hit.chunk for hit in hits}.union(
            copy.chunk for hit in hits for copy in hit.duplicates
        )
        with legs.store.snapshot() as reader:
            chunks = reader.matching(legs.collection, legs.where or Every(()))
            others = reader.hits([chunk for chunk in chunks if chunk not in collection])
        hits = [*hits, *others]
        ranked = tuple((hit.chunk, hit.score) for hit in hits)
        stages.append(Stage("all passages", perf_counter() - began, ranked))
        return hits

    def _searched(self, query: Query, depth: int, stages: list[Stage]) -> Sequence[Hit]:
        """Find `depth` hits that differ, if there are so many.

        The filter that the plan inferred is dropped where nothing matches it, with the stages of
        that search.
        """
        began, steps = perf_counter(), list[Stage]()
        limit = depth if self.distinct is None else min(MAX_K, depth + SPARE)
        while True:
            check_cancelled()
            search_began = perf_counter()
            result = _within(self.retriever, query.where).find(query, k=limit)
            hits, last = result.hits, [*result.stages]
            if not hits and query.where is not None:
                query = replace(query, where=None)
                dropped = {"dropped": "nothing is found so"}
                steps = [Stage("filter dropped", perf_counter() - began, notes=dropped)]
                continue
            if self.distinct is None:
                stages += [*steps, *last]
                return hits
            distinct = _refined(self.distinct, query.text, hits, last)
            if len(distinct) >= depth or len(hits) < limit or limit == MAX_K:
                stages += [*steps, *last]
                return distinct[:depth]
            steps.append(Stage("too many duplicates", perf_counter() - search_began))
            limit = min(MAX_K, 4 * limit)


def _unmarked(query: Query) -> Query:
    """Return a question's query without its marks."""
    variants = tuple(read_preferences(variant).text for variant in query.variants)
    return replace(query, text=read_preferences(query.text).text, variants=variants)


def _chunks(stages: Sequence[Stage]) -> int:
    """Return the chunks that the collection had at the last search by words; 0 without one."""
    counts = [stage.notes["chunks"] for stage in stages if stage.name == "lexical"]
    return int(counts[-1]) if counts else 0


def _within(retriever: HybridRetriever, where: Filter | None) -> HybridRetriever:
    """Return the retriever with another filter in addition to its own."""
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
    refined = refinement.refine(query, hits)
    ranked = tuple((hit.chunk, hit.score) for hit in refined)
    stages.append(Stage(refinement.name, perf_counter() - began, ranked))
    return refined
