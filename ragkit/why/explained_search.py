"""A search with regard to one document: its chunks, the stages, and its rank at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.filters.tree import Comparison, Every
from ragkit.retrieve.search import check_query
from ragkit.retrieve.words.marks import read_preferences

if TYPE_CHECKING:
    from ragkit.filters.tree import Filter
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.types import Hit, Mode, Stage

DROPPED: Final = "filter dropped"
Ranked = Sequence[tuple[int, float]]


class ExplainedSearch:
    """A search for a question with regard to one document; the constructor searches.

    `query` is the planned query, `where` all conditions on its documents, and `chunks` are the
    document's.
    """

    def __init__(
        self, kb: KnowledgeBase, question: str, document: int, *, k: int, mode: Mode
    ) -> None:
        self.store, self.collection = kb.store, kb.collection
        self.question, self.k, self.mode = question, k, mode
        check_query(question, k)
        self.pipeline = kb.retriever(mode, for_answer=True)
        query = self.pipeline.plan(question)
        self.query = replace(query, text=read_preferences(query.text).text)
        self.pipeline.plan = lambda _: query  # a language model may say something else next time
        self.legs = self.pipeline.retriever
        self.result = self.pipeline.find(question, k=k)
        names = [stage.name for stage in self.result.stages]
        self.dropped = DROPPED in names
        # Stages under a filter that matched nothing do not count.
        self.stages = self.result.stages[names.index(DROPPED) if self.dropped else 0 :]
        conditions = (self.legs.where, None if self.dropped else query.where)
        parts = tuple(where for where in conditions if where is not None)
        self.where: Filter | None = Every(parts) if parts else None
        with self.store.snapshot() as reader:
            of_it = Comparison("eq", "document", (document,))
            self.chunks = list(reader.matching(self.collection, of_it))
        self.chunk_set = frozenset(self.chunks)

    @property
    def hits(self) -> list[Hit]:
        """The hits of the document among those that the search returned."""
        return [hit for hit in self.result.hits if hit.chunk in self.chunk_set]

    @property
    def fetched(self) -> Stage:
        """The stage that passes the hits on to the refinements."""
        return next(stage for stage in reversed(self.stages) if stage.name == "fetch")

    @property
    def refined(self) -> list[Stage]:
        """The stages after `fetched`, without those that widen a hit."""
        widening = {step.name for step in self.pipeline.widening}
        following = self.stages[self.stages.index(self.fetched) + 1 :]
        return [stage for stage in following if stage.name not in widening]

    def of_leg(self, name: str) -> list[Stage]:
        """List a leg's stages, one for each wording of the question."""
        return [stage for stage in self.stages if stage.name.split(" ")[0] == name]

    def rank(self, ranked: Ranked) -> int | None:
        """Return the rank of the document's best chunk, from 1; None when none is there."""
        return next((n for n, (chunk, _) in enumerate(ranked, 1) if chunk in self.chunk_set), None)
