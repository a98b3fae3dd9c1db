"""The lexical leg: what the words of a query find in one snapshot, by exact BM25.

It knows nothing of vectors, of fusion or of how postings are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.retrieve.bm25 import bm25, idf_mass, scores_of, top_k
from ragkit.text.analyse import analyse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Reader
    from ragkit.filters import Filter


@dataclass(frozen=True, slots=True)
class LexicalFound:
    """The best chunks by BM25, best first; chunks in the collection; and how well words matched.

    `coverage` is the best score's share of the query's idf mass, 0 to 1.
    """

    best: Sequence[tuple[int, float]]
    chunks: int
    coverage: float
    _ids: NDArray[np.int64]
    _scores: NDArray[np.float64]

    def scores(self, chunks: Sequence[int]) -> Mapping[int, float]:
        """Score any chunks exactly; one that has no word of the query is absent."""
        return scores_of(chunks, self._ids, self._scores)


def lexical(
    reader: Reader, collection: str, query: str, k: int, where: Filter | None = None
) -> LexicalFound:
    """Find the k best chunks by BM25, of documents that the filter is true of."""
    terms = analyse(query)
    postings = reader.postings(collection, list(dict.fromkeys(terms)))
    ids, scores = bm25(postings, terms)
    if where is not None:
        import numpy as np

        kept = np.isin(ids, np.asarray(reader.matching(collection, where), np.int64))
        ids, scores = ids[kept], scores[kept]
    best = top_k(ids, scores, k)
    coverage = best[0][1] / idf_mass(postings, terms) if best else 0.0
    return LexicalFound(best, postings.chunks, coverage, ids, scores)
