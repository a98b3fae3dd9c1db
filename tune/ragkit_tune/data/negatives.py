"""Hard negatives: passages that ragkit's own search finds for a query, and that do not answer it.

A false negative teaches the opposite of what is true, so that a row rather has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ragkit.errors import QueryError
from ragkit.text.language import language
from ragkit.text.near_duplicates import signature, similarity
from ragkit.types import Copy, Document, Hit
from ragkit_tune.data.questions import Place, Question, drawn, folded

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.knowledge.base import KnowledgeBase

FIRST_RANK: Final = 5  # better ones often answer too
LAST_RANK: Final = 50
MARGIN: Final = 0.05  # of the positive's similarity, by which a negative's is lower at least
# Similar texts that have half of their runs of words in common are rather copies than rivals.
SAME: Final = 0.5
READS: Final = 0.5  # share of a query that the model must read for its similarities to count


@dataclass(frozen=True, slots=True)
class Rivals:
    """What a search says of a query: its vector, its positive's and best rival's similarity.

    `vector` is None for a query that the model does not read, or that cannot be searched for.
    """

    negatives: tuple[str, ...] = ()
    vector: Vectors | None = None
    positive: float = 0.0
    best: float | None = None
    refused: Mapping[str, int] = field(default_factory=dict)

    @property
    def margin(self) -> float | None:
        """Return how far the positive is above its best rival; None without a rival."""
        return None if self.best is None else self.positive - self.best


class Miner:
    """Searches a knowledge base as it is, without a reranker, a model's wordings or widening."""

    def __init__(self, kb: KnowledgeBase, *, count: int, seed: int) -> None:
        from ragkit.knowledge.base import KnowledgeBase

        self._plain = KnowledgeBase(
            kb.store, kb.embedder, kb.generator, collection=kb.collection, distinct=kb.distinct
        )
        self._store = kb.store
        self._count = count
        self._seed = seed
        self._signatures: dict[int, bytes] = {}

    def best_passage(self, query: str, document: Document) -> Hit | None:
        """Return the passage of one document that is found first; None if none is."""
        among = self._plain.adapted(where={"eq": {"document": document.id}})
        try:
            hits = among.retriever("hybrid", fresh=False, for_answer=True).search(query, k=1)
        except QueryError:
            return None
        return hits[0] if hits else None

    def mine(self, question: Question, place: Place, is_allowed: Callable[[Hit], bool]) -> Rivals:
        """Find negatives of a row among the passages that `is_allowed` takes."""
        retriever = self._plain.retriever("hybrid", fresh=False, for_answer=True)
        try:
            hits = retriever.search(question.text, k=LAST_RANK) if self._count else []
        except QueryError:
            return Rivals(refused={"a query that cannot be searched for": 1})
        embedder = retriever.retriever.embedder
        if embedder.reads(question.text) < READS:
            return Rivals(refused={"the embedding model does not read the query": 1})
        vector = embedder.embed_query(question.text)
        chunks = [place.passage.chunk, *(hit.chunk for hit in hits)]
        with self._store.snapshot() as reader:
            similarities = reader.similarities(embedder.space, vector, chunks)
        positive = similarities.get(place.passage.chunk)
        if positive is None:
            return Rivals(refused={"its passage has no vector": 1})
        rivals = [hit for hit in hits if not _answers(hit, question)]
        best = max((similarities.get(hit.chunk, -1.0) for hit in rivals), default=None)
        chosen, refused = self._choose(question, place, hits, similarities, is_allowed)
        return Rivals(tuple(hit.text for hit in chosen), vector, positive, best, refused)

    def _choose(
        self,
        question: Question,
        place: Place,
        hits: Sequence[Hit],
        similarities: Mapping[int, float],
        is_allowed: Callable[[Hit], bool],
    ) -> tuple[list[Hit], Mapping[str, int]]:
        limit = highest(similarities[place.passage.chunk])
        chosen: list[Hit] = []
        refused: dict[str, int] = {}
        ranked = hits[FIRST_RANK - 1 : LAST_RANK]
        for hit in sorted(ranked, key=lambda hit: drawn(self._seed, question.text, hit.text)):
            if len(chosen) == self._count:
                break
            if not is_allowed(hit):
                continue
            fault = self._fault(hit, question, place, similarities.get(hit.chunk, 1.0) > limit)
            if fault:
                refused[fault] = refused.get(fault, 0) + 1
            elif hit.text not in (negative.text for negative in chosen):
                chosen.append(hit)
        return chosen, refused

    def _fault(self, hit: Hit, question: Question, place: Place, is_close: bool) -> str:
        """Return why a passage may answer the question after all; "" if nothing says so."""
        if _answers(hit, question):
            return "it answers too"
        # Pushing other languages away is easily learnt, and spoils searches across languages.
        if {language(hit.text), language(place.passage.text)} == {"en", "zh"}:
            return "in another language"
        if is_close:
            return "as close to the question as the right passage"
        if _holds_answer(hit.text, question, place):
            return "it holds the answer"
        if similarity(self._sign(hit), self._sign(place.passage)) >= SAME:
            return "nearly the text of the right passage"
        return ""

    def _sign(self, hit: Hit) -> bytes:
        if hit.chunk not in self._signatures:
            self._signatures[hit.chunk] = signature(hit.text)
        return self._signatures[hit.chunk]


def highest(positive: float) -> float:
    """Return the highest similarity that a negative may have beside a positive.

    The margin is subtracted: a product would put it above a similarity that is negative.

    >>> round(highest(0.8), 3), round(highest(-0.2), 3)
    (0.76, -0.21)
    """
    return positive - MARGIN * abs(positive)


def _answers(hit: Hit, question: Question) -> bool:
    """Tell whether a hit overlaps a labelled span, or is of a document that is graded whole."""
    passages: list[Hit | Copy] = [hit, *hit.duplicates]
    for place in question.places:
        for passage in passages:
            if passage.uri == place.passage.uri and (
                not place.is_exact
                or (passage.start < place.span.end and place.span.start < passage.end)
                or (passage.start < place.passage.end and place.passage.start < passage.end)
            ):
                return True
    exact = {place.passage.uri for place in question.places if place.is_exact}
    graded = {uri for uri, grade in question.grades.items() if grade > 0} - exact
    return any(passage.uri in graded for passage in passages)


def _holds_answer(text: str, question: Question, place: Place) -> bool:
    """Tell whether a passage holds the short answer, or the labelled span, word for word."""
    candidate = folded(text)
    if any(folded(answer) in candidate for answer in question.answers):
        return True
    span = place.span
    start, end = (offset - place.passage.start for offset in (span.start, span.end))
    sentence = folded(place.passage.text[max(0, start) : max(0, end)])
    return place.is_exact and bool(sentence) and sentence in candidate
