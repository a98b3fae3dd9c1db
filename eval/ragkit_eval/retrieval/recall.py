"""Recall: the retrieved share of the relevant documents."""

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked


def recall(judgements: Judgements, run: Run, *, k: int | None = None, level: int = 1) -> float:
    """Return the share of the relevant documents among the first k, all if None.

    Raises UsageError if no document is relevant. Source: trec_eval's recall_k and set_recall.

    >>> recall({"a": 1, "b": 1}, {"a": 0.9, "c": 0.8}, k=2)
    0.5
    """
    return float(recall_of(ranked([(judgements, run)], level=level), k)[0])


def recall_of(queries: Ranked, k: int | None) -> Floats:
    """Return the metric of each ranked query."""
    return queries.hits_to(depth(k)) / queries.relevant
