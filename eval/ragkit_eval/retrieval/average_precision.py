"""Average precision; its mean over queries is the MAP."""

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked


def average_precision(
    judgements: Judgements, run: Run, *, k: int | None = None, level: int = 1
) -> float:
    """Return the mean, over all relevant documents, of the precision at the document's rank.

    AP = 1/R sum over the relevant ranks r <= k of (relevant up to r) / r, where R counts all
    relevant documents, retrieved or not. Raises UsageError if no document is relevant. Source:
    trec_eval's map and map_cut_k.

    >>> round(average_precision({"a": 1, "b": 1}, {"a": 0.9, "c": 0.8, "b": 0.7}), 4)
    0.8333
    """
    return float(average_precision_of(ranked([(judgements, run)], level=level), k)[0])


def average_precision_of(queries: Ranked, k: int | None) -> Floats:
    """Return the metric of each ranked query."""
    counted = queries.hit_rank <= depth(k)
    precision = queries.hit_count[counted] / queries.hit_rank[counted]
    return queries.total(queries.hit_query[counted], precision) / queries.relevant
