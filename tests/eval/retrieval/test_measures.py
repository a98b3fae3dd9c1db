"""Measures by name, of one query and of whole runs."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.errors import UsageError
from ragkit_eval.retrieval import (
    MEASURES,
    RunScores,
    average_precision,
    bpref,
    evaluate_run,
    measures,
    ndcg,
    precision,
    r_precision,
    ranking,
    recall,
    reciprocal_rank,
    success,
)

NAMES = ["ndcg@3", "ndcg", "map", "mrr", "recall@2", "precision@2", "success@1", "r_precision"]
NAMES += ["bpref", "precision", "map@2", "mrr@1"]
QUERIES = st.sampled_from(["1", "2", "3", "4", "5"])
DOCUMENTS = st.sampled_from("abcdef")
QRELS = st.dictionaries(QUERIES, st.dictionaries(DOCUMENTS, st.integers(-1, 3)))
RUNS = st.dictionaries(
    QUERIES, st.dictionaries(DOCUMENTS, st.sampled_from([1, 0.5, -1.0, -0.0, 0]))
)


def test_a_query_by_several_measures() -> None:
    run = {"x": 3.0, "a": 2.0, "b": 1.0}
    assert measures(["mrr", "recall@2", "map"], {"a": 1, "b": 2}, run) == {
        "mrr": 0.5,
        "recall@2": 0.5,
        "map": pytest.approx((1 / 2 + 2 / 3) / 2),
    }
    assert measures(["mrr"], {"a": 1, "b": 2}, run, level=2) == {"mrr": pytest.approx(1 / 3)}


def test_a_run_and_the_queries_it_leaves_out() -> None:
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 0}, "4": {"a": 2}}
    run = {"4": {"a": 1.0}, "9": {"a": 1.0}, "3": {"a": 1.0}, "1": {"b": 2.0, "a": 1.0}}
    scores = evaluate_run(qrels, run, ["mrr"])
    assert scores == RunScores(
        per_query={"4": {"mrr": 1.0}, "1": {"mrr": 0.5}},
        mean={"mrr": 0.75},
        left_out=("9", "3", "2"),
    )
    every = evaluate_run(qrels, run, ["mrr"], all_judged=True)
    assert every.per_query == {"1": {"mrr": 0.5}, "2": {"mrr": 0.0}, "4": {"mrr": 1.0}}
    assert every.mean == {"mrr": 0.5}
    assert every.left_out == ("9", "3")


@pytest.mark.parametrize(("qrels", "run"), [({}, {}), ({"1": {"a": 1}}, {"2": {"a": 1.0}})])
def test_no_query_to_score_is_an_error(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> None:
    with pytest.raises(UsageError, match="can be scored: use the same query ids"):
        evaluate_run(qrels, run, ["map"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", "did you mean ndcg@10? "),
        ("ndcg_cut_10", "did you mean ndcg@10? "),
        ("NDCG@10", "did you mean ndcg@10? "),
        ("P_5", "did you mean precision@5? "),
        ("P@5", "did you mean precision@5? "),
        ("recip_rank", "did you mean mrr? "),
        ("Rprec", "did you mean r_precision? "),
        ("hit@1", "did you mean success@1? "),
        ("recall@0x", "there are ndcg, map"),
        ("bpref@10", "bpref takes no depth"),
        ("", "there are ndcg, map"),
        ("@", "there are ndcg, map"),
        ("ndcg@0", "depth of a metric is 0"),
    ],
)
def test_an_unknown_name_suggests_a_known_one(name: str, message: str) -> None:
    with pytest.raises(UsageError) as failed:
        measures(["map", name], {"a": 1}, {"a": 1.0})
    assert message in str(failed.value)


def test_every_known_name_is_computed() -> None:
    run = {"b": 2.0, "a": 1.0}
    assert set(measures(MEASURES, {"a": 1}, run)) == set(MEASURES)


def by_hand(judged: dict[str, int], run: dict[str, float]) -> list[float]:
    """Compute NAMES by the definitions, over the ranking as a list."""
    order = ranking(run)
    total = sum(grade > 0 for grade in judged.values())
    hits = [judged.get(document, -1) > 0 for document in order]
    at = [r for r, hit in enumerate(hits, 1) if hit]

    def dcg(gains: list[int], k: int) -> float:
        return sum(max(g, 0) / math.log2(r + 1) for r, g in enumerate(gains[:k], 1))

    def map_to(k: int) -> float:
        return sum((n + 1) / r for n, r in enumerate(at) if r <= k) / total

    gains, best = [judged.get(d, 0) for d in order], sorted(judged.values(), reverse=True)
    wrong = [d for d in order if judged.get(d) == 0]
    bound = min(total, sum(grade == 0 for grade in judged.values()))
    preferred = 0.0
    for rank in at:
        irrelevant_before = min(total, sum(order.index(d) < rank for d in wrong))
        preferred += 1 - irrelevant_before / bound if irrelevant_before else 1.0
    return [
        dcg(gains, 3) / dcg(best, 3),
        dcg(gains, 99) / dcg(best, 99),
        map_to(99),
        1 / at[0] if at else 0.0,
        sum(hits[:2]) / total,
        sum(hits[:2]) / 2,
        float(any(hits[:1])),
        sum(hits[:total]) / total,
        preferred / total,
        sum(hits) / len(hits) if hits else 0.0,
        map_to(2),
        float(any(hits[:1])),
    ]


@given(qrels=QRELS, run=RUNS, all_judged=st.booleans())
def test_whole_runs_equal_the_definitions_query_by_query(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], all_judged: bool
) -> None:
    qrels["0"] = {"a": 1}
    run["0"] = {"b": 1.0, "a": 1.0}
    scores = evaluate_run(qrels, run, NAMES, all_judged=all_judged)
    expected = {
        query: dict(zip(NAMES, by_hand(qrels[query], run.get(query, {})), strict=True))
        for query in (qrels if all_judged else run)
        if any(grade > 0 for grade in qrels.get(query, {}).values())
    }
    assert list(scores.per_query) == list(expected)
    for query, values in expected.items():
        assert scores.per_query[query] == pytest.approx(values)
    for name in NAMES:
        mean = sum(values[name] for values in expected.values()) / len(expected)
        assert scores.mean[name] == pytest.approx(mean)
    assert {*scores.per_query, *scores.left_out} == {*qrels, *run}


def test_runs_too_long_to_be_ranked_at_once() -> None:
    chance = random.Random(5)
    deep = {f"d{n}": round(chance.random(), 3) for n in range(40_000)}  # with many ties
    run = {"1": deep, "2": {"a": 1.0}, "3": dict.fromkeys(deep, 1.0), "4": {"d7": 2.0, **deep}}
    qrels = {query: {f"d{n}": n % 3 for n in range(0, 40_000, 97)} for query in "134"}
    qrels["2"] = {"a": 1}
    scores = evaluate_run(qrels, run, NAMES)
    assert scores.per_query["2"] == dict.fromkeys(NAMES, 1.0) | {"precision@2": 0.5}
    for query in "134":
        judged, hits = qrels[query], run[query]
        alone = [
            *(ndcg(judged, hits, k=3), ndcg(judged, hits), average_precision(judged, hits)),
            *(reciprocal_rank(judged, hits), recall(judged, hits, k=2)),
            *(precision(judged, hits, k=2), success(judged, hits, k=1)),
            *(r_precision(judged, hits), bpref(judged, hits), precision(judged, hits)),
            *(average_precision(judged, hits, k=2), reciprocal_rank(judged, hits, k=1)),
        ]
        assert list(scores.per_query[query].values()) == alone
        order = ranking(hits)
        first = next(rank for rank, document in enumerate(order, 1) if judged.get(document))
        assert scores.per_query[query]["mrr"] == 1 / first
