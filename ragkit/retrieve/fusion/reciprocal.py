"""Reciprocal rank fusion of the rankings of several wordings.

Both legs of one wording are fused by `ragkit.retrieve.fusion.calibrated`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragkit.retrieve.fusion.calibrated import Fused

K = 60  # the paper's, which reports that it is not critical


def reciprocal_rank(rankings: Sequence[Sequence[int]], *, k: int = K) -> list[tuple[int, float]]:
    """Fuse rankings, best first: score(c) = sum over the rankings that have c of 1 / (k + rank).

    Ranks count from 1; equal scores are put by the rank in the earlier ranking. Source: Cormack,
    Clarke and Büttcher 2009, https://doi.org/10.1145/1571941.1572114.

    >>> [(chunk, round(score, 4)) for chunk, score in reciprocal_rank([[7, 8], [8, 9]])]
    [(8, 0.0325), (7, 0.0164), (9, 0.0161)]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, chunk in enumerate(ranking, start=1):
            scores[chunk] = scores.get(chunk, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])  # stable: equals keep their order


def fuse_wordings(rankings: Sequence[Sequence[Fused]]) -> list[Fused]:
    """Fuse several wordings' rankings; a chunk has the legs' scores of the first that lists it."""
    first = {fused.chunk: fused for ranking in reversed(rankings) for fused in ranking}
    ranks = [[fused.chunk for fused in ranking] for ranking in rankings]
    return [
        Fused(chunk, score, first[chunk].dense, first[chunk].lexical)
        for chunk, score in reciprocal_rank(ranks)
    ]
