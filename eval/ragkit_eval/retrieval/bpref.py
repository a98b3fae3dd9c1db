"""Binary preference, for judgements that are known to be incomplete."""

import numpy as np

from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, owners, ranked


def bpref(judgements: Judgements, run: Run, *, level: int = 1) -> float:
    """Return how far relevant documents are ranked before documents judged not relevant.

    bpref = 1/R sum over the retrieved relevant documents of 1 - min(n, R) / min(N, R), where n
    counts the documents judged not relevant that are ranked before the document, N all documents
    judged not relevant and R the relevant ones. A grade from 0 to below `level` is judged not
    relevant; a document without a judgement, or with a negative one (in the pool, but not judged),
    does not count. There is no depth. Raises UsageError if no document is relevant. Source:
    Buckley and Voorhees 2004, https://doi.org/10.1145/1008992.1009000, with trec_eval's bound
    min(N, R).

    >>> bpref({"a": 1, "b": 1, "c": 0}, {"x": 4.0, "a": 3.0, "c": 2.0, "b": 1.0})
    0.5
    """
    return float(bpref_of(ranked([(judgements, run)], level=level))[0])


def bpref_of(queries: Ranked) -> Floats:
    """Return the metric of each ranked query."""
    query, relevant = queries.hit_query, queries.relevant
    irrelevant = _below(queries.judged, queries.level)
    irrelevant_counts = np.bincount(owners(queries.judgements)[irrelevant], minlength=len(relevant))
    bounds = np.maximum(np.minimum(irrelevant_counts, relevant), 1)
    cumulated = np.concatenate([[0], np.cumsum(_below(queries.grades, queries.level))])
    starts = np.cumsum(queries.retrieved) - queries.retrieved
    irrelevant_before = np.minimum(
        cumulated[queries.hits] - cumulated[starts[query]], relevant[query]
    )
    return queries.total(query, 1 - irrelevant_before / bounds[query]) / relevant


def _below(grades: Floats, level: int) -> np.typing.NDArray[np.bool_]:
    return (grades >= 0) & (grades < level)
