"""R-precision: precision at the number of relevant documents."""

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, ranked


def r_precision(judgements: Judgements, run: Run, *, level: int = 1) -> float:
    """Return the share of relevant documents among the first R, where R is their total number.

    There is no depth. Raises UsageError if no document is relevant. Source: trec_eval's
    Rprec.

    >>> r_precision({"a": 1, "b": 1}, {"a": 0.9, "c": 0.8, "b": 0.7})
    0.5
    """
    return float(r_precision_of(ranked([(judgements, run)], level=level))[0])


def r_precision_of(queries: Ranked) -> Floats:
    """Return the metric of each ranked query."""
    return queries.hits_to(queries.relevant) / queries.relevant
