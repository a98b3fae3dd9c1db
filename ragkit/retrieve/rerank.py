"""Reranking without a model of its own: the embedding model's cosines, passage by passage.

It stands where no cross-encoder is configured. It knows nothing of a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragkit.contracts import Embedder


class CosineReranker:
    """Score passages by the cosine of their embedding with the query's, -1 to 1.

    A passage of more tokens than the model reads gets the score of its best part.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def load(self) -> None:
        self._embedder.load()

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        if not passages:
            return []
        parts = [self._parts(passage) for passage in passages]
        vectors = self._embedder.embed_passages([part for of_one in parts for part in of_one])
        cosines = vectors @ self._embedder.embed_query(query)
        scores: list[float] = []
        first = 0
        for of_one in parts:
            scores.append(float(cosines[first : first + len(of_one)].max()))
            first += len(of_one)
        return scores

    def _parts(self, passage: str) -> list[str]:
        """Cut a passage where the model's limit falls; nothing of it is left out."""
        spans = self._embedder.token_spans(passage)
        limit = self._embedder.max_tokens
        starts = [spans[n].start for n in range(limit, len(spans), limit)]
        bounds = [0, *starts, len(passage)]
        return [passage[a:b] for a, b in pairwise(bounds)]
