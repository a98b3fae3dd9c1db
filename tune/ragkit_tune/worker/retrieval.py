"""Measure a model on the dev set as a search: the passage of each query among all the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import Any, Final

MAX_QUERIES: Final = 300  # arbitrary: a measurement takes seconds, not minutes
MAX_PASSAGES: Final = 2000
DEPTH: Final = 10

Embed = Callable[[list[str], str], Any]  # texts and "query" or "passage" to unit vectors (n, d)


def corpus_of(dev: Sequence[dict[str, Any]], train: Sequence[dict[str, Any]]) -> list[str]:
    """Collect the passages that are searched: those of the dev set, and others as distractors."""
    texts = [text for row in dev for text in (row["positive"], *row["negatives"])]
    texts += [row["positive"] for row in train]
    return list(dict.fromkeys(texts))[:MAX_PASSAGES]


def measure_embedder(
    embed: Embed, dev: Sequence[dict[str, Any]], corpus: Sequence[str]
) -> dict[str, float]:
    """Return ndcg@10 and the mean reciprocal rank at 10 of the dev set's queries.

    A query's passages are those of all its rows; with binary grades, as Jarvelin and Kekalainen
    2002 (doi:10.1145/582415.582418).
    """
    wanted: dict[str, set[str]] = {}
    for row in dev:
        wanted.setdefault(row["query"], set()).add(row["positive"])
    queries = list(wanted)[:MAX_QUERIES]
    scores = embed(queries, "query") @ embed(list(corpus), "passage").T
    top = scores.argsort(axis=1)[:, ::-1][:, :DEPTH]
    ranked = [[corpus[index] for index in row] for row in top]
    return _average(
        [_score(ranking, wanted[query]) for ranking, query in zip(ranked, queries, strict=True)]
    )


def measure_reranker(
    predict: Callable[[list[tuple[str, str]]], Any], dev: Sequence[dict[str, Any]]
) -> dict[str, float]:
    """Return the same measures of the order that a reranker gives to each row's passages."""
    values = []
    for row in [row for row in dev if row["negatives"]][:MAX_QUERIES]:
        passages = [row["positive"], *row["negatives"]]
        scores = list(predict([(row["query"], passage) for passage in passages]))
        # Ties count against the positive: a model that scores all alike ranks nothing.
        order = sorted(range(len(passages)), key=lambda n: (-float(scores[n]), n == 0))
        values.append(_score([passages[n] for n in order], {row["positive"]}))
    return _average(values)


def _score(ranking: Sequence[str], wanted: set[str]) -> tuple[float, float]:
    gains = [1 / log2(rank + 1) for rank, text in enumerate(ranking, 1) if text in wanted]
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(len(wanted), DEPTH) + 1))
    first = next((1 / rank for rank, text in enumerate(ranking, 1) if text in wanted), 0.0)
    return sum(gains) / ideal, first


def _average(values: Sequence[tuple[float, float]]) -> dict[str, float]:
    count = max(len(values), 1)
    return {
        "ndcg@10": sum(value for value, _ in values) / count,
        "mrr@10": sum(first for _, first in values) / count,
    }
