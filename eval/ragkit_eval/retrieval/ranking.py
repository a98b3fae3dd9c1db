"""Rank the judged documents of queries by a run's scores, with trec_eval's rule for ties.

A judgement is a grade per document; a run is a score per document. Many queries are ranked at once,
as flat arrays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray

from ragkit.errors import UsageError

Judgements = Mapping[str, int]
Run = Mapping[str, float]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_UNJUDGED = -1  # as trec_eval has it: a negative grade is in the pool, but was not judged


def ranking(run: Run) -> list[str]:
    """Order documents by falling score, equal scores by falling document id.

    The second rule is trec_eval's: a run has the same ranking on every machine. Scores are compared
    in double precision, as in newer versions of trec_eval; older ones, and pytrec_eval, round them
    to single precision, which makes ties of different scores. Source: trec_eval,
    form_res_rels.c, comp_sim_docno, and https://github.com/usnistgov/trec_eval/issues/34.

    >>> ranking({"a": 1.0, "b": 2.0, "c": 1.0})
    ['b', 'c', 'a']
    """
    return sorted(run, key=lambda document: (run[document], document), reverse=True)


@dataclass(frozen=True)
class Ranked:
    """The retrieved documents of several queries, best first, and their judgements.

    `grades` has an entry per retrieved document, query after query, negative if it is not judged;
    `judged` has an entry per judgement. `retrieved` and `judgements` count each query's entries.
    A document is relevant from grade `level` on, and every query has a relevant document. `highest`
    is the highest grade of the scale.
    """

    grades: Floats
    retrieved: Ints
    judged: Floats
    judgements: Ints
    level: int
    highest: int

    @cached_property
    def hits(self) -> Ints:
        """The places of the relevant documents in `grades`, rising."""
        return np.flatnonzero(self.grades >= self.level)

    @cached_property
    def hit_query(self) -> Ints:
        """The number of the query for which each hit was retrieved."""
        return owners(self.retrieved)[self.hits]

    @cached_property
    def hit_rank(self) -> Ints:
        """The rank of each hit, from 1."""
        return places(self.retrieved)[self.hits]

    @cached_property
    def hit_count(self) -> Ints:
        """The number of hits of its query down to each hit, included."""
        return places(np.bincount(self.hit_query, minlength=len(self.retrieved)))

    @cached_property
    def relevant(self) -> Ints:
        """The number of relevant documents of each query, retrieved or not."""
        chosen = self.judged >= self.level
        return np.bincount(owners(self.judgements)[chosen], minlength=len(self.judgements))

    def hits_to(self, last: float | Ints) -> Ints:
        """Count each query's hits down to a rank, the same for all queries or one per query."""
        limit = last[self.hit_query] if isinstance(last, np.ndarray) else last
        return np.bincount(self.hit_query[self.hit_rank <= limit], minlength=len(self.retrieved))

    def total(self, query: Ints, values: Floats) -> Floats:
        """Sum values by the number of their query."""
        return np.bincount(query, values, minlength=len(self.retrieved)).astype(float, copy=False)


def ranked(
    queries: Sequence[tuple[Judgements, Run]], *, level: int = 1, highest: int | None = None
) -> Ranked:
    """Rank up to 65,536 queries at once; the highest grade is that of the judgements unless given.

    Raises UsageError for a score that is not a number, and for a query without a relevant document,
    which has no score: the caller has to leave it out explicitly.
    """
    if level < 1:
        raise UsageError(f"the relevance level is {level}: it must be 1 or more")
    runs = [run for _, run in queries]
    size = sum(map(len, runs))
    scores = np.fromiter(chain.from_iterable(run.values() for run in runs), float, size)
    pool_grades = (map(pool.get, run, repeat(_UNJUDGED)) for pool, run in queries)
    grades = np.fromiter(chain.from_iterable(pool_grades), float, size)
    retrieved = np.fromiter(map(len, runs), np.int64, len(runs))
    if np.isnan(scores).any():
        document = next(name for run in runs for name, score in run.items() if isnan(score))
        raise UsageError(f"the score of the document {document!r} is not a number: correct it")
    order = _order(scores, grades, owners(retrieved), runs)
    pools = [judged for judged, _ in queries]
    judged = np.fromiter(chain.from_iterable(pool.values() for pool in pools), float)
    counts = np.fromiter(map(len, pools), np.int64, len(pools))
    if highest is None:
        highest = int(judged.max(initial=1))
    rankings = Ranked(grades[order], retrieved, judged, counts, level, highest)
    for number in np.flatnonzero(rankings.relevant == 0):
        raise UsageError(
            f"none of {counts[number]} judgements is {level} or more, so the query cannot be "
            "scored: leave it out and say how many were left out"
        )
    return rankings


def places(counts: Ints) -> Ints:
    """Number the entries of each of several groups from 1.

    >>> places(np.array([2, 0, 3])).tolist()
    [1, 2, 1, 2, 3]
    """
    starts = np.cumsum(counts) - counts
    return np.arange(1, counts.sum() + 1) - np.repeat(starts, counts)


def owners(counts: Ints) -> Ints:
    """Return the number of each entry's group, from 0.

    >>> owners(np.array([2, 0, 3])).tolist()
    [0, 0, 2, 2, 2]
    """
    return np.repeat(np.arange(len(counts)), counts)


def depth(k: int | None) -> float:
    """Return the last rank that a metric uses, infinity for None. Raises UsageError below 1."""
    if k is None:
        return inf
    if k < 1:
        raise UsageError(f"the depth of a metric is {k}: it must be 1 or more")
    return k


def _order(scores: Floats, grades: Floats, query: Ints, runs: Sequence[Run]) -> Ints:
    """Sort each query's documents; ids are compared only where they can change a metric."""
    order = np.arange(len(scores))
    inner = query[1:] == query[:-1]
    if (inner & (scores[1:] > scores[:-1])).any():
        order = np.argsort(-scores)
        order = order[np.argsort(query[order].astype(np.uint16), kind="stable")]  # a radix sort
    sorted_scores, sorted_grades = scores[order], grades[order]
    tied = inner & (sorted_scores[1:] == sorted_scores[:-1])
    matters = np.flatnonzero(tied & (sorted_grades[1:] != sorted_grades[:-1]))
    if matters.size:
        documents = list(chain.from_iterable(runs))
        group = np.concatenate([[0], np.cumsum(~tied)])
        for number in np.unique(group[matters]):
            start, end = np.searchsorted(group, [number, number + 1])
            order[start:end] = sorted(order[start:end], key=documents.__getitem__, reverse=True)
    return order
