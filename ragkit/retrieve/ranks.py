"""Where chunks stand for a query, exactly: by meaning among all vectors, by words among all that
have one. For explaining a search; it costs a look at every chunk, and no index has a say in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.filters import Every
from ragkit.retrieve.words.lexical import lexical

if TYPE_CHECKING:
    from ragkit.contracts import Reader, Vectors
    from ragkit.filters import Filter
    from ragkit.types import EmbeddingSpace

BATCH = 10_000  # chunks of one statement


@dataclass(frozen=True, slots=True)
class Rank:
    """The best of some chunks: its score, its rank from 1, and of how many chunks with a score."""

    chunk: int
    score: float
    rank: int
    among: int


def by_meaning(
    reader: Reader,
    collection: str,
    space: EmbeddingSpace,
    vector: Vectors,
    chunks: Sequence[int],
    where: Filter | None = None,
) -> Rank | None:
    """Rank the best of these chunks by cosine; None when none has a vector in the space."""
    own = reader.similarities(space, vector, chunks)
    if not own:
        return None
    best = max(own, key=lambda chunk: (own[chunk], -chunk))
    every = reader.matching(collection, Every(()) if where is None else where)
    better = among = 0
    for first in range(0, len(every), BATCH):
        cosines = reader.similarities(space, vector, every[first : first + BATCH])
        better += sum(cosine > own[best] for cosine in cosines.values())
        among += len(cosines)
    return Rank(best, own[best], better + 1, among)


def by_words(
    reader: Reader,
    collection: str,
    query: str,
    chunks: Sequence[int],
    where: Filter | None = None,
) -> Rank | None:
    """Rank the best of these chunks by BM25, None when none has a word of the query."""
    every = len(reader.matching(collection, Every(()) if where is None else where))
    found = lexical(reader, collection, query, max(every, 1), where)
    own = set(chunks)
    for rank, (chunk, score) in enumerate(found.best, start=1):
        if chunk in own:
            return Rank(chunk, score, rank, len(found.best))
    return None
