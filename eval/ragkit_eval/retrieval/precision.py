"""Precision: the relevant share of the retrieved documents."""

import numpy as np

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked


def precision(judgements: Judgements, run: Run, *, k: int | None = None, level: int = 1) -> float:
    """Return the share of relevant documents among the first k; of all retrieved if None.

    The divisor is k even if fewer documents were retrieved; without a retrieved document the value
    is 0.0. A document without a judgement is not relevant. Raises UsageError if no document is
    relevant. Source: trec_eval's P_k and set_P.

    >>> precision({"a": 1, "b": 1}, {"a": 0.9, "c": 0.8}, k=5)
    0.2
    """
    return float(precision_of(ranked([(judgements, run)], level=level), k)[0])


def precision_of(queries: Ranked, k: int | None) -> Floats:
    """Return the metric of each ranked query."""
    return queries.hits_to(depth(k)) / (k or np.maximum(queries.retrieved, 1))
