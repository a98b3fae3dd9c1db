"""Retrieval metrics by name, for one query and for a whole run; each query is ranked once.

A name is a metric and, after an @, a depth: "ndcg@10", "map", "recall@5". Knows nothing of where
runs come from.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import fsum

from ragkit.errors import UsageError
from ragkit_eval.retrieval.average_precision import average_precision_of
from ragkit_eval.retrieval.bpref import bpref_of
from ragkit_eval.retrieval.ndcg import ndcg_of
from ragkit_eval.retrieval.precision import precision_of
from ragkit_eval.retrieval.r_precision import r_precision_of
from ragkit_eval.retrieval.ranking import Floats, Judgements, Ranked, Run, depth, ranked
from ragkit_eval.retrieval.recall import recall_of
from ragkit_eval.retrieval.reciprocal_rank import reciprocal_rank_of
from ragkit_eval.retrieval.success import success_of

_Metric = Callable[[Ranked, int | None], Floats]
_Pair = tuple[Judgements, Run]
_Plan = list[tuple[str, _Metric, int | None]]

_TO_DEPTH: dict[str, _Metric] = {
    "ndcg": ndcg_of,
    "map": average_precision_of,
    "mrr": reciprocal_rank_of,
    "recall": recall_of,
    "precision": precision_of,
    "success": success_of,
}
_WHOLE: dict[str, _Metric] = {
    "r_precision": lambda queries, _: r_precision_of(queries),
    "bpref": lambda queries, _: bpref_of(queries),
}
MEASURES = (*_TO_DEPTH, *_WHOLE)
_DOCUMENTS = 32_768  # ranked at once: small enough for a processor's cache, large enough for numpy
_NAME = re.compile(r"(.+?)(?:@([0-9]{1,9}))?")
# What others call them, to suggest the name that is meant.
_ELSEWHERE = {"p": "precision", "recip_rank": "mrr", "rprec": "r_precision", "ap": "map"}
_ELSEWHERE |= dict.fromkeys(("hit", "hits", "hit_rate", "hitrate"), "success")
_ELSEWHERE |= {"set_recall": "recall", "set_p": "precision", "reciprocal_rank": "mrr"}


@dataclass(frozen=True, slots=True)
class RunScores:
    """Each measure per query and on average; `left_out` are the queries that have no scores."""

    per_query: Mapping[str, Mapping[str, float]]
    mean: Mapping[str, float]
    left_out: tuple[str, ...]


def measures(
    names: Sequence[str], judgements: Judgements, run: Run, *, level: int = 1
) -> Mapping[str, float]:
    """Score one query by several measures. A document is relevant from grade `level` on.

    Raises UsageError for an unknown name, suggesting close ones, and where nothing is relevant.

    >>> measures(["mrr", "recall@1"], {"a": 1}, {"b": 0.9, "a": 0.8})
    {'mrr': 0.5, 'recall@1': 0.0}
    """
    columns = _columns(_plan(names), [(judgements, run)], level)
    return {name: values[0] for name, values in columns.items()}


def evaluate_run(
    qrels: Mapping[str, Judgements],
    run: Mapping[str, Run],
    names: Sequence[str],
    *,
    all_judged: bool = False,
    level: int = 1,
) -> RunScores:
    """Score every query of a run, and their mean.

    Scored are the queries that are both judged and in the run; with `all_judged` every judged one,
    0 where the run lacks it (trec_eval's -c). Left out are the others, and those without a relevant
    document, which trec_eval counts as 0. Raises UsageError for an unknown name, suggesting close
    ones, and when no query can be scored.
    """
    plan = _plan(names)
    relevant = level.__le__  # called for every judgement
    pairs = {
        query: (judgements, run.get(query, {}))
        for query in (qrels if all_judged else run)
        if (judgements := qrels.get(query)) and any(map(relevant, judgements.values()))
    }
    columns: dict[str, list[float]] = {name: [] for name in names}
    for batch in _batches(pairs.values()):
        for name, values in _columns(plan, batch, level).items():
            columns[name] += values
    if not pairs:
        raise UsageError(
            f"none of {len(qrels)} judged and {len(run)} retrieved queries can be scored: "
            "use the same query ids in both, and judge a document as relevant"
        )
    rows = zip(*columns.values(), strict=True)
    per_query = {
        query: dict(zip(columns, row, strict=True)) for query, row in zip(pairs, rows, strict=True)
    }
    mean = {name: fsum(values) / len(values) for name, values in columns.items()}
    left_out = tuple(query for query in {**run, **qrels} if query not in pairs)
    return RunScores(per_query, mean, left_out)


def _batches(pairs: Iterable[_Pair]) -> Iterator[list[_Pair]]:
    batch: list[_Pair] = []
    documents = 0
    for pair in pairs:
        batch.append(pair)
        documents += len(pair[1])
        if documents >= _DOCUMENTS or len(batch) >= _DOCUMENTS:
            yield batch
            batch, documents = [], 0
    if batch:
        yield batch


def _columns(plan: _Plan, pairs: Sequence[_Pair], level: int) -> dict[str, list[float]]:
    queries = ranked(pairs, level=level)
    return {name: metric(queries, k).tolist() for name, metric, k in plan}


def _plan(names: Sequence[str]) -> _Plan:
    return [(name, *_metric(name)) for name in names]


def _metric(name: str) -> tuple[_Metric, int | None]:
    match = _NAME.fullmatch(name)
    metric, k = (match[1], match[2]) if match else (name, None)
    if metric in _TO_DEPTH:
        cut = int(k) if k else None
        depth(cut)
        return _TO_DEPTH[metric], cut
    if metric in _WHOLE and k is None:
        return _WHOLE[metric], None
    if metric in _WHOLE:
        raise UsageError(f"the measure {name!r} is not known: {metric} takes no depth")
    raise UsageError(
        f"the measure {name!r} is not known: {_meant(name)}known are {', '.join(MEASURES)}, "
        "most with a depth, as in ndcg@10"
    )


def _meant(name: str) -> str:
    """Suggest a name, also for the spelling of another program."""
    match = re.fullmatch(r"(.*?)(?:_cut)?(?:[@_.-]?(?<![0-9])([1-9][0-9]*+))?", name.casefold())
    base, k = (match[1], match[2]) if match else (name, None)
    close = [_ELSEWHERE[base]] if base in _ELSEWHERE else []
    close = close or [base] * (base in MEASURES) or get_close_matches(base, MEASURES, n=1)
    if not close:
        return ""
    cut = f"@{k}" if k and close[0] in _TO_DEPTH else ""
    return f"did you mean {close[0]}{cut}? "
