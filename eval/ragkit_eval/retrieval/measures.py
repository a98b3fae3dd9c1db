"""Retrieval metrics by name, for one query and for a whole run; each query is ranked once.

A name is a metric and, after an @, a depth: "ndcg@10", "map", "recall@5".
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import fsum
from typing import Final

from ragkit.errors import UsageError
from ragkit_eval.retrieval.average_precision import average_precision_of
from ragkit_eval.retrieval.bpref import bpref_of
from ragkit_eval.retrieval.expected_reciprocal_rank import expected_reciprocal_rank_of
from ragkit_eval.retrieval.geometric_mean import geometric_rows, geometric_score
from ragkit_eval.retrieval.ndcg import ndcg_of
from ragkit_eval.retrieval.precision import precision_of
from ragkit_eval.retrieval.r_precision import r_precision_of
from ragkit_eval.retrieval.rank_biased_precision import rank_biased_precision_of
from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked
from ragkit_eval.retrieval.recall import recall_of
from ragkit_eval.retrieval.reciprocal_rank import reciprocal_rank_of
from ragkit_eval.retrieval.success import success_of

_Metric = Callable[[Ranked, int | None], Floats]
_Pair = tuple[Judgements, Run]
_Plan = list[tuple[str, _Metric, int | None]]

GEOMETRIC: Final = "gm_map"  # whose value of a set is the geometric mean of its queries'
_WITH_DEPTH: dict[str, _Metric] = {
    "ndcg": ndcg_of,
    "map": average_precision_of,
    "mrr": reciprocal_rank_of,
    "recall": recall_of,
    "precision": precision_of,
    "success": success_of,
    "err": expected_reciprocal_rank_of,
    "rbp": rank_biased_precision_of,
}
_WITHOUT_DEPTH: dict[str, _Metric] = {
    "r_precision": lambda queries, _: r_precision_of(queries),
    "bpref": lambda queries, _: bpref_of(queries),
    GEOMETRIC: lambda queries, _: average_precision_of(queries, None),
}
MEASURES = (*_WITH_DEPTH, *_WITHOUT_DEPTH)
_BATCH_DOCUMENTS = (
    32_768  # ranked at once: small enough for a processor's cache, large enough for numpy
)
_NAME = re.compile(r"(.+?)(?:@([0-9]{1,9}))?")
# Names of other programs, for which a suggestion is made.
_ALIASES = {"p": "precision", "recip_rank": "mrr", "rprec": "r_precision", "ap": "map"}
_ALIASES |= dict.fromkeys(("hit", "hits", "hit_rate", "hitrate"), "success")
_ALIASES |= {"set_recall": "recall", "set_p": "precision", "reciprocal_rank": "mrr"}
_ALIASES |= {"gmap": "gm_map", "expected_reciprocal_rank": "err"}


@dataclass(frozen=True, slots=True)
class RunScores:
    """Each measure per query, and its mean; `left_out` are the queries without scores."""

    per_query: Mapping[str, Mapping[str, float]]
    mean: Mapping[str, float]
    left_out: tuple[str, ...]


def measures(
    names: Sequence[str], judgements: Judgements, run: Run, *, level: int = 1
) -> Mapping[str, float]:
    """Score a query by several measures. A document is relevant from grade `level` on.

    Raises UsageError for an unknown name, suggesting close ones, and if no document is relevant.

    >>> measures(["mrr", "recall@1"], {"a": 1}, {"b": 0.9, "a": 0.8})
    {'mrr': 0.5, 'recall@1': 0.0}
    """
    columns = _columns(_plan(names), [(judgements, run)], level, None)
    return {name: values[0] for name, values in columns.items()}


def evaluate_run(
    qrels: Mapping[str, Judgements],
    run: Mapping[str, Run],
    names: Sequence[str],
    *,
    all_judged: bool = False,
    count_empty: bool = False,
    level: int = 1,
) -> RunScores:
    """Score every query of a run, and their mean.

    The scored queries are both judged and in the run; with `all_judged`, all judged queries, with
    0 for a query that the run lacks (trec_eval's -c). The other queries are left out, as are
    queries without a relevant document; with `count_empty` these count as 0, as in trec_eval's row
    "all". The mean of "gm_map" is geometric. Raises UsageError for an unknown name, suggesting
    close ones, and if no query can be scored.
    """
    plan = _plan(names)
    relevant = level.__le__  # called for every judgement
    judged = {query: qrels[query] for query in (qrels if all_judged else run) if qrels.get(query)}
    pairs = {
        query: (judgements, run.get(query, {}))
        for query, judgements in judged.items()
        if any(map(relevant, judgements.values()))
    }
    highest = max((grade for pool in qrels.values() for grade in pool.values()), default=1)
    columns: dict[str, list[float]] = {name: [] for name in names}
    for batch in _batches(pairs.values()):
        for name, values in _columns(plan, batch, level, highest).items():
            columns[name] += values
    if not pairs:
        raise UsageError(
            f"none of {len(qrels)} judged and {len(run)} retrieved queries can be scored: "
            "use the same query ids in both, and judge at least one document as relevant"
        )
    rows = zip(*columns.values(), strict=True)
    per_query = {
        query: dict(zip(columns, row, strict=True)) for query, row in zip(pairs, rows, strict=True)
    }
    if count_empty:
        empty = dict.fromkeys(names, 0.0)
        per_query = {query: per_query.get(query, empty) for query in judged}
    mean = {name: _mean(name, [values[name] for values in per_query.values()]) for name in names}
    left_out = tuple(query for query in {**run, **qrels} if query not in per_query)
    return RunScores(per_query, mean, left_out)


def _mean(name: str, values: Sequence[float]) -> float:
    if name == GEOMETRIC:
        return float(geometric_score(geometric_rows(values).sum(0)[None])[0])
    return fsum(values) / len(values)


def _batches(pairs: Iterable[_Pair]) -> Iterator[list[_Pair]]:
    batch: list[_Pair] = []
    documents = 0
    for pair in pairs:
        batch.append(pair)
        documents += len(pair[1])
        if documents >= _BATCH_DOCUMENTS or len(batch) >= _BATCH_DOCUMENTS:
            yield batch
            batch, documents = [], 0
    if batch:
        yield batch


def _columns(
    plan: _Plan, pairs: Sequence[_Pair], level: int, highest: int | None
) -> dict[str, list[float]]:
    queries = ranked(pairs, level=level, highest=highest)
    return {name: metric(queries, k).tolist() for name, metric, k in plan}


def _plan(names: Sequence[str]) -> _Plan:
    return [(name, *_metric(name)) for name in names]


def _metric(name: str) -> tuple[_Metric, int | None]:
    match = _NAME.fullmatch(name)
    metric, k = (match[1], match[2]) if match else (name, None)
    if metric in _WITH_DEPTH:
        cut = int(k) if k else None
        depth(cut)
        return _WITH_DEPTH[metric], cut
    if metric in _WITHOUT_DEPTH and k is None:
        return _WITHOUT_DEPTH[metric], None
    if metric in _WITHOUT_DEPTH:
        raise UsageError(f"unknown measure {name!r}: {metric} takes no depth")
    raise UsageError(
        f"unknown measure {name!r}: {_suggestion(name)}there are {', '.join(MEASURES)}, "
        "most with a depth, as in ndcg@10"
    )


def _suggestion(name: str) -> str:
    """Suggest a name, also for the spelling of other programs."""
    match = re.fullmatch(r"(.*?)(?:_cut)?(?:[@_.-]?(?<![0-9])([1-9][0-9]*+))?", name.casefold())
    base, k = (match[1], match[2]) if match else (name, None)
    close = [_ALIASES[base]] if base in _ALIASES else []
    close = close or [base] * (base in MEASURES) or get_close_matches(base, MEASURES, n=1)
    if not close:
        return ""
    cut = f"@{k}" if k and close[0] in _WITH_DEPTH else ""
    return f"did you mean {close[0]}{cut}? "
