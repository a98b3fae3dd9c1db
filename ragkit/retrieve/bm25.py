"""Exact BM25 over postings, in numpy.

It knows nothing of text or of where postings come from: terms in, scores out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log1p
from typing import TYPE_CHECKING

from ragkit.contracts import Postings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1 = 1.2  # Lucene's defaults, within the ranges of Robertson and Zaragoza, section 3.2
B = 0.75


def bm25(
    postings: Postings, query_terms: Sequence[str], *, k1: float = K1, b: float = B
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Score every chunk that has a term of the query: ids ascending, and their scores, all > 0.

    score(q, c) = sum over t in q of idf(t) tf / (tf + k1 (1 - b + b length / mean length)),
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)). A term that stands twice in the query counts
    twice; one that is in no chunk counts nothing. Lucene's variant: idf is positive even for a
    term of most chunks, and the constant factor k1 + 1 is left out. Source: Robertson and
    Zaragoza 2009, https://doi.org/10.1561/1500000019; Kamphuis et al. 2020,
    https://doi.org/10.1007/978-3-030-45442-5_4.
    """
    import numpy as np

    found: list[NDArray[np.int64]] = []
    scores: list[NDArray[np.float64]] = []
    for term, times in Counter(query_terms).items():
        if term in postings.terms:
            chunks, frequencies, lengths = postings.terms[term]
            norm = k1 * (1 - b + b * lengths * (postings.chunks / postings.total_length))
            weight = times * idf(postings.chunks, len(chunks))
            found.append(chunks)
            scores.append(weight * frequencies / (frequencies + norm))
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    ids, places = np.unique(np.concatenate(found), return_inverse=True)
    sums = np.bincount(places, weights=np.concatenate(scores), minlength=len(ids))
    return ids, sums.astype(np.float64, copy=False)


def idf(chunks: int, containing: int) -> float:
    """Weigh a term that `containing` of `chunks` chunks have: ln(1 + (N - df + 0.5) / (df + 0.5)).

    >>> round(idf(10, 1), 4), round(idf(10, 10), 4)
    (1.9924, 0.0465)
    """
    return log1p((chunks - containing + 0.5) / (containing + 0.5))


def idf_mass(postings: Postings, query_terms: Sequence[str]) -> float:
    """Sum the idf of a query's terms, repetitions and terms that are in no chunk included.

    No chunk's score reaches it: it is the score of a chunk that had every term infinitely often.
    """
    found = postings.terms
    return sum(
        times * idf(postings.chunks, len(found[term][0]) if term in found else 0)
        for term, times in Counter(query_terms).items()
    )


def top_k(ids: NDArray[np.int64], scores: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
    """Return the k highest scores with their ids, best first, equal scores by ascending id."""
    import numpy as np

    if k < len(ids):
        least = np.partition(scores, len(ids) - k)[len(ids) - k]
        near = scores >= least  # ties with the k-th included, so that the id decides
        ids, scores = ids[near], scores[near]
    order = np.lexsort((ids, -scores))[:k]
    return [(int(ids[i]), float(scores[i])) for i in order]


def scores_of(
    wanted: Sequence[int], ids: NDArray[np.int64], scores: NDArray[np.float64]
) -> dict[int, float]:
    """Map each wanted chunk to its score; one that has none is absent. `ids` are ascending."""
    import numpy as np

    if not len(ids):
        return {}
    places = np.searchsorted(ids, np.array(wanted, dtype=np.int64)) % len(ids)
    return {
        chunk: float(scores[place])
        for chunk, place in zip(wanted, places, strict=True)
        if ids[place] == chunk
    }
