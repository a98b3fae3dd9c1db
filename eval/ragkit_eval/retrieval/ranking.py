"""Retrieval metrics of one query, with trec_eval's definitions and its rule for ties.

A judgement is a grade per document: positive is relevant, anything else and no judgement at all
is not. A run is a score per document. Nothing retrieved scores 0.0, as nothing relevant was
found; a query without a relevant document has no score, and asking for one is a UsageError, so
that leaving such queries out is the caller's visible choice. Knows nothing of queries' texts.
"""

from collections.abc import Mapping
from math import log2

from ragkit.errors import UsageError

Judgements = Mapping[str, int]
Run = Mapping[str, float]


def ranking(run: Run) -> list[str]:
    """Order documents by falling score, equal scores by falling document id.

    The second rule is trec_eval's, so that a run has one ranking on whatever machine. Source:
    trec_eval 9, form_res_rels.c, comp_sim_docno.

    >>> ranking({"a": 1.0, "b": 2.0, "c": 1.0})
    ['b', 'c', 'a']
    """
    return sorted(run, key=lambda document: (run[document], document), reverse=True)


def ndcg(judgements: Judgements, run: Run, *, k: int | None = None) -> float:
    """Return the normalised discounted cumulative gain of the first k documents, all if None.

    DCG = sum over ranks r <= k of grade(r) / log2(r + 1), divided by the DCG of the judged
    documents in the best order; the gain is the grade itself. Source: Järvelin and Kekäläinen
    2002, https://doi.org/10.1145/582415.582418; trec_eval's ndcg and ndcg_cut_k.

    >>> round(ndcg({"a": 1, "b": 2}, {"a": 0.9, "b": 0.8}), 4)
    0.8597
    """
    grades = _relevant(judgements)
    best = _dcg(sorted(grades.values(), reverse=True)[: _depth(k)])
    return _dcg([grades.get(document, 0) for document in ranking(run)[: _depth(k)]]) / best


def recall(judgements: Judgements, run: Run, *, k: int | None = None) -> float:
    """Return the share of the relevant documents among the first k, all if None.

    Source: trec_eval's recall_k and set_recall.

    >>> recall({"a": 1, "b": 1}, {"a": 0.9, "c": 0.8}, k=2)
    0.5
    """
    grades = _relevant(judgements)
    return sum(document in grades for document in ranking(run)[: _depth(k)]) / len(grades)


def reciprocal_rank(judgements: Judgements, run: Run, *, k: int | None = None) -> float:
    """Return 1 / rank of the first relevant document, 0.0 when the first k have none.

    Its mean over queries is the MRR. Source: trec_eval's recip_rank.

    >>> reciprocal_rank({"a": 1}, {"b": 0.9, "a": 0.8})
    0.5
    """
    grades = _relevant(judgements)
    for rank, document in enumerate(ranking(run)[: _depth(k)], 1):
        if document in grades:
            return 1 / rank
    return 0.0


def average_precision(judgements: Judgements, run: Run, *, k: int | None = None) -> float:
    """Return the mean, over all relevant documents, of the precision at each one's rank.

    AP = 1/R sum over ranks r <= k that are relevant of (relevant up to r) / r, R counting every
    relevant document, retrieved or not. Its mean over queries is the MAP. Source: trec_eval's
    map and map_cut_k.

    >>> round(average_precision({"a": 1, "b": 1}, {"a": 0.9, "c": 0.8, "b": 0.7}), 4)
    0.8333
    """
    grades = _relevant(judgements)
    found, total = 0, 0.0
    for rank, document in enumerate(ranking(run)[: _depth(k)], 1):
        if document in grades:
            found += 1
            total += found / rank
    return total / len(grades)


def _relevant(judgements: Judgements) -> dict[str, int]:
    relevant = {document: grade for document, grade in judgements.items() if grade > 0}
    if not relevant:
        raise UsageError(
            f"none of {len(judgements)} judgements is positive, so the query cannot be scored: "
            "leave it out and say how many were left out"
        )
    return relevant


def _depth(k: int | None) -> int | None:
    if k is not None and k < 1:
        raise UsageError(f"a metric over the first {k} documents makes no sense: k is 1 or more")
    return k


def _dcg(gains: list[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))
