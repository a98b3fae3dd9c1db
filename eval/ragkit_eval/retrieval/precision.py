"""Precision: how much of what was found is relevant."""

import numpy as np

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked


def precision(judgements: Judgements, run: Run, *, k: int | None = None, level: int = 1) -> float:
    """Return the share of relevant documents among the first k; of all retrieved if None.

    It is divided by k also where fewer were retrieved; where nothing was, it is 0.0. A document
    without a judgement is not relevant. Raises UsageError where nothing is relevant. Source:
    trec_eval's P_k and set_P.

    >>> precision({"a": 1, "b": 1}, {"a": 0.9, "c": 0.8}, k=5)
    0.2
    """
    return float(precision_of(ranked([(judgements, run)], level=level), k)[0])


def precision_of(queries: Ranked, k: int | None) -> Floats:
    """Return it for ranked queries."""
    return queries.found(depth(k)) / (k or np.maximum(queries.retrieved, 1))
