"""Success: whether a relevant document was retrieved."""

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked


def success(judgements: Judgements, run: Run, *, k: int | None = None, level: int = 1) -> float:
    """Return 1.0 if a relevant document is among the first k (all if None), else 0.0.

    Raises UsageError if no document is relevant. Source: trec_eval's success_k; also called
    hit rate.

    >>> success({"a": 1}, {"b": 0.9, "a": 0.8}, k=1)
    0.0
    """
    return float(success_of(ranked([(judgements, run)], level=level), k)[0])


def success_of(queries: Ranked, k: int | None) -> Floats:
    """Return the metric of each ranked query."""
    return (queries.hits_to(depth(k)) > 0).astype(float)
