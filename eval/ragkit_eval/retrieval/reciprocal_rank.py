"""Reciprocal rank; its mean over queries is the MRR."""

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked


def reciprocal_rank(
    judgements: Judgements, run: Run, *, k: int | None = None, level: int = 1
) -> float:
    """Return 1 / rank of the first relevant document, 0.0 if none is among the first k.

    Raises UsageError if no document is relevant. Source: trec_eval's recip_rank.

    >>> reciprocal_rank({"a": 1}, {"b": 0.9, "a": 0.8})
    0.5
    """
    return float(reciprocal_rank_of(ranked([(judgements, run)], level=level), k)[0])


def reciprocal_rank_of(queries: Ranked, k: int | None) -> Floats:
    """Return the metric of each ranked query."""
    counted = (queries.hit_count == 1) & (queries.hit_rank <= depth(k))
    return queries.total(queries.hit_query[counted], 1 / queries.hit_rank[counted])
