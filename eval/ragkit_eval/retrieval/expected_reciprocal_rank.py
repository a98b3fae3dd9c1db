"""Expected reciprocal rank: of a reader who stops at a document that satisfies, by its grade."""

import numpy as np

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked


def expected_reciprocal_rank(
    judgements: Judgements, run: Run, *, k: int | None = None, highest: int | None = None
) -> float:
    """Return the sum over ranks r <= k of 1/r times the chance that the reader stops there.

    A document of grade g satisfies with R = (2**g - 1) / 2**highest; the reader stops at rank r
    with R(r) times the product of 1 - R over the ranks before. `highest` is the highest grade of
    the scale, by default that of the judgements; `evaluate_run` takes the highest of all queries.
    Raises UsageError if no document is relevant. Source: Chapelle et al. 2009,
    https://doi.org/10.1145/1645953.1646033.

    >>> expected_reciprocal_rank({"a": 1}, {"b": 0.9, "a": 0.8})
    0.25
    """
    queries = ranked([(judgements, run)], highest=highest)
    return float(expected_reciprocal_rank_of(queries, k)[0])


def expected_reciprocal_rank_of(queries: Ranked, k: int | None) -> Floats:
    """Return the metric of each ranked query. Every positive grade may satisfy."""
    values = np.zeros(len(queries.retrieved))
    ends = np.cumsum(queries.retrieved)
    for number, (start, end) in enumerate(zip(ends - queries.retrieved, ends, strict=True)):
        last = int(min(end - start, depth(k)))
        grades = np.maximum(queries.grades[start : start + last], 0)
        satisfied = (2.0**grades - 1) / 2.0**queries.highest
        reached = np.cumprod(np.concatenate([[1.0], 1 - satisfied]))[:-1]
        values[number] = (satisfied * reached / np.arange(1, last + 1)).sum()
    return values
