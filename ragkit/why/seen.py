"""One search, seen from one document: its chunks, the stages, and where the chunks stood at each.

It makes the search; what the stages mean is said elsewhere in this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.filters import Comparison, Every
from ragkit.retrieve.words.marks import read_preferences

if TYPE_CHECKING:
    from ragkit.filters import Filter
    from ragkit.knowledge import KnowledgeBase
    from ragkit.types import Hit, Mode, Stage

DROPPED: Final = "filter dropped"
Ranked = Sequence[tuple[int, float]]


class Seen:
    """A search for a question, seen from one document; making one makes the search.

    `query` is what was made of the question, `where` all that its documents had to fulfil, and
    `chunks` are the document's.
    """

    def __init__(
        self, kb: KnowledgeBase, question: str, document: int, *, k: int, mode: Mode
    ) -> None:
        self.store, self.collection = kb.store, kb.collection
        self.question, self.k, self.mode = question, k, mode
        self.pipeline = kb.retriever(mode, for_answer=True)
        query = self.pipeline.plan(question)
        self.query = replace(query, text=read_preferences(query.text).text)
        self.pipeline.plan = lambda _: query  # a language model may say something else next time
        self.legs = self.pipeline.retriever
        self.found = self.pipeline.find(question, k=k)
        names = [stage.name for stage in self.found.stages]
        self.dropped = DROPPED in names
        # What was searched under a filter that left nothing decided nothing.
        self.stages = self.found.stages[names.index(DROPPED) if self.dropped else 0 :]
        heard = (self.legs.where, None if self.dropped else query.where)
        parts = tuple(where for where in heard if where is not None)
        self.where: Filter | None = Every(parts) if parts else None
        with self.store.snapshot() as reader:
            of_it = Comparison("eq", "document", (document,))
            self.chunks = list(reader.matching(self.collection, of_it))
        self.own = frozenset(self.chunks)

    @property
    def shown(self) -> list[Hit]:
        """The hits of the document among those that the search returned."""
        return [hit for hit in self.found.hits if hit.chunk in self.own]

    @property
    def fetched(self) -> Stage:
        """The stage that hands the search's hits on to be refined."""
        return next(stage for stage in reversed(self.stages) if stage.name == "fetch")

    @property
    def refined(self) -> list[Stage]:
        """The stages after that, without those that show more around a hit."""
        widening = {one.name for one in self.pipeline.widening}
        after = self.stages[self.stages.index(self.fetched) + 1 :]
        return [stage for stage in after if stage.name not in widening]

    def of_leg(self, name: str) -> list[Stage]:
        """List a leg's stages, one for each wording of the question."""
        return [stage for stage in self.stages if stage.name.split(" ")[0] == name]

    def rank(self, ranked: Ranked) -> int | None:
        """Return the rank of the document's best chunk, from 1; None when none is there."""
        return next((n for n, (chunk, _) in enumerate(ranked, 1) if chunk in self.own), None)
