"""Rank-biased precision: the gain of a reader who goes on to the next document by chance."""

from typing import Final

import numpy as np

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked

PERSISTENCE: Final = 0.9  # trec_eval's


def rank_biased_precision(
    judgements: Judgements, run: Run, *, k: int | None = None, level: int = 1
) -> float:
    """Return (1 - p) times the sum of p ** (r - 1) over the relevant ranks r <= k, with p = 0.9.

    Raises UsageError if no document is relevant. Source: Moffat and Zobel 2008,
    https://doi.org/10.1145/1416950.1416952; trec_eval's rbp.

    >>> round(rank_biased_precision({"a": 1}, {"b": 0.9, "a": 0.8}), 4)
    0.09
    """
    return float(rank_biased_precision_of(ranked([(judgements, run)], level=level), k)[0])


def rank_biased_precision_of(queries: Ranked, k: int | None) -> Floats:
    """Return the metric of each ranked query."""
    counted = queries.hit_rank <= depth(k)
    ranks = queries.hit_rank[counted].astype(np.float64)
    gains: Floats = (1 - PERSISTENCE) * np.power(PERSISTENCE, ranks - 1)
    return queries.total(queries.hit_query[counted], gains)
