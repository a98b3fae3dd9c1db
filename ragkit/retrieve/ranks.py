"""Exact ranks of chunks for a query: by meaning among all vectors, by words among all hits.

For explaining a search: it compares every chunk and uses no index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.filters.tree import Every
from ragkit.retrieve.words.search import search_words

if TYPE_CHECKING:
    from ragkit.contracts import Reader, Vectors
    from ragkit.filters.tree import Filter
    from ragkit.types import EmbeddingSpace

BATCH = 10_000  # chunks of one statement


@dataclass(frozen=True, slots=True)
class Rank:
    """The best of some chunks: its score, its rank from 1, and the number of chunks with a
    score.
    """

    chunk: int
    score: float
    rank: int
    total: int


def rank_by_meaning(
    reader: Reader,
    collection: str,
    space: EmbeddingSpace,
    vector: Vectors,
    chunks: Sequence[int],
    where: Filter | None = None,
) -> Rank | None:
    """Rank the best of these chunks by cosine; None when none has a vector in the space."""
    scores = reader.similarities(space, vector, chunks)
    if not scores:
        return None
    best = max(scores, key=lambda chunk: (scores[chunk], -chunk))
    matching = reader.matching(collection, Every(()) if where is None else where)
    better = total = 0
    for first in range(0, len(matching), BATCH):
        cosines = reader.similarities(space, vector, matching[first : first + BATCH])
        better += sum(cosine > scores[best] for cosine in cosines.values())
        total += len(cosines)
    return Rank(best, scores[best], better + 1, total)


def rank_by_words(
    reader: Reader,
    collection: str,
    query: str,
    chunks: Sequence[int],
    where: Filter | None = None,
) -> Rank | None:
    """Rank the best of these chunks by BM25; None when none has a word of the query."""
    total = len(reader.matching(collection, Every(()) if where is None else where))
    hits = search_words(reader, collection, query, max(total, 1), where)
    requested = set(chunks)
    for rank, (chunk, score) in enumerate(hits.best, start=1):
        if chunk in requested:
            return Rank(chunk, score, rank, len(hits.best))
    return None
