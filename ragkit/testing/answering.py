"""A reranker, a retriever and a generator that compare texts by shared terms."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragkit.errors import QueryError
from ragkit.text.analyse import analyse
from ragkit.text.sentences import sentences
from ragkit.types import Citation, Draft, Hit, Turn


class FakeReranker:
    """Score a passage by the share of its and the query's distinct terms that both have."""

    name = "fake-shared-terms"

    def load(self) -> None:
        pass

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        return [_overlap(query, passage) for passage in passages]


class FakeRetriever:
    """Search in the given hits by shared terms; hits that share none are left out."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._hits = tuple(hits)

    def search(self, query: str, *, k: int) -> Sequence[Hit]:
        if not analyse(query):
            raise QueryError(f"The query {query!r} has no words: ask with at least one.")
        scored = [replace(hit, score=_overlap(query, hit.text)) for hit in self._hits]
        ranked = sorted((hit for hit in scored if hit.score > 0), key=lambda hit: -hit.score)
        return ranked[:k]


class FakeGenerator:
    """Quote the sentence that shares most terms with the question, or refuse."""

    def generate(
        self, question: str, passages: Sequence[Hit], *, history: Sequence[Turn] = ()
    ) -> Iterator[str | Draft]:
        options = [
            (_overlap(question, hit.text[span.start : span.end]), -order, hit, span)
            for order, hit in enumerate(passages)
            for span in sentences(hit.text)
        ]
        score, _, hit, span = max(options, key=lambda o: o[:2], default=(0.0, 0, None, None))
        if score == 0 or hit is None or span is None:
            yield Draft("", refused=True, reason="No passage shares a word with the question.")
            return
        quote = hit.text[span.start : span.end]
        start, end = hit.start + span.start, hit.start + span.end
        cited = Citation(1, hit.document, hit.uri, hit.title, hit.page, start, end, quote)
        yield quote
        yield " [1]"
        yield Draft(f"{quote} [1]", (cited,), used=tuple(passages))


def _overlap(first: str, second: str) -> float:
    """Return the Jaccard index of two texts' terms, 0 when neither has any."""
    a, b = set(analyse(first)), set(analyse(second))
    return len(a & b) / len(a | b) if a | b else 0.0
