"""Normalised discounted cumulative gain."""

import numpy as np

from ragkit_eval.retrieval.ranking import (
    Floats,
    Ints,
    Judgements,
    Ranked,
    Run,
    depth,
    owners,
    places,
    ranked,
)


def ndcg(judgements: Judgements, run: Run, *, k: int | None = None) -> float:
    """Return the normalised discounted cumulative gain of the first k documents, all if None.

    DCG = sum over ranks r <= k of grade(r) / log2(r + 1), divided by the DCG of the judged
    documents in the best order; the gain is the grade itself. Raises UsageError if no document is
    relevant. Source: Järvelin and Kekäläinen 2002, https://doi.org/10.1145/582415.582418;
    trec_eval's ndcg and ndcg_cut_k.

    >>> round(ndcg({"a": 1, "b": 2}, {"a": 0.9, "b": 0.8}), 4)
    0.8597
    """
    return float(ndcg_of(ranked([(judgements, run)]), k)[0])


def ndcg_of(queries: Ranked, k: int | None) -> Floats:
    """Return the metric of each ranked query. Every positive grade is a gain."""
    query = owners(queries.judgements)
    best = np.lexsort((-queries.judged, query))
    ideal = _dcg(queries, queries.judged[best], query, places(queries.judgements), k)
    retrieved = queries.retrieved
    return _dcg(queries, queries.grades, owners(retrieved), places(retrieved), k) / ideal


def _dcg(queries: Ranked, grades: Floats, query: Ints, rank: Ints, k: int | None) -> Floats:
    counted = (grades > 0) & (rank <= depth(k))
    return queries.total(query[counted], grades[counted] / np.log2(rank[counted] + 1))
