"""Reranking without a model of its own: the embedding model's cosines, passage by passage.

It stands where no cross-encoder is configured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragkit.rerank.parts import best, parts

if TYPE_CHECKING:
    from ragkit.contracts import Embedder


class CosineReranker:
    """Score passages by the cosine of their embedding with the query's, -1 to 1.

    A passage of more tokens than the model reads gets the score of its best part.
    """

    name = "cosine"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def load(self) -> None:
        """Load the embedding model; a second call does nothing."""
        self._embedder.load()

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Score each passage, in the given order."""
        if not passages:
            return []
        from ragkit.embed.current import current

        model = current(self._embedder)  # the same for passages and query
        cut = [parts(text, model.token_spans(text), model.max_tokens) for text in passages]
        vectors = model.embed_passages([part for of_one in cut for part in of_one])
        cosines: list[float] = (vectors @ model.embed_query(query)).tolist()
        return best(cosines, [len(of_one) for of_one in cut])
