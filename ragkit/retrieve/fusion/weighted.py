"""A weighted sum of both legs' standardised scores. Scores in, scores out; it weighs every query
alike.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from statistics import fmean, pstdev

from ragkit.retrieve.fusion.calibrated import Fused


def weighted(
    dense: Mapping[int, float], lexical: Mapping[int, float], *, dense_weight: float
) -> list[Fused]:
    """Fuse the legs' scores, best first: by score, then by cosine, then by chunk id.

    score = w z(cosine) + (1 - w) z(BM25), where z says how many standard deviations a score lies
    above the mean of the query's candidates. A chunk that has no word of the query has BM25 0, one
    without a vector the lowest cosine. One outlier moves the mean and deviation less than the
    minimum and maximum of the usual sum, and nothing is lost by it (docs/decisions/0006-fusion.md).
    A sum of normalised scores against ranks: Bruch, Gai and Ingber 2023,
    https://doi.org/10.1145/3596512.

    >>> fused = weighted({1: 0.5, 2: 0.3}, {2: 4.0}, dense_weight=0.75)
    >>> [(f.chunk, round(f.score, 2)) for f in fused]
    [(1, 0.5), (2, -0.5)]
    """
    chunks = dense.keys() | lexical.keys()
    floor = min(dense.values(), default=0.0)
    by_meaning = _standardised({chunk: dense.get(chunk, floor) for chunk in chunks})
    by_words = _standardised({chunk: lexical.get(chunk, 0.0) for chunk in chunks})
    fused = [
        Fused(
            chunk,
            dense_weight * by_meaning[chunk] + (1 - dense_weight) * by_words[chunk],
            dense.get(chunk),
            lexical.get(chunk),
        )
        for chunk in chunks
    ]
    return sorted(fused, key=lambda f: (-f.score, -by_meaning[f.chunk], f.chunk))


def _standardised(scores: Mapping[int, float]) -> dict[int, float]:
    """Say how many deviations each score lies above the mean; 0 where all are the same."""
    values: Collection[float] = scores.values()
    if not values:
        return {}
    mean, deviation = fmean(values), pstdev(values)
    return {c: (s - mean) / deviation if deviation > 1e-9 else 0.0 for c, s in scores.items()}
