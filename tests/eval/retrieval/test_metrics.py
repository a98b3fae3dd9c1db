"""Retrieval metrics: literals, edge cases, and what trec_eval itself printed."""

import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.errors import UsageError
from ragkit_eval.retrieval import average_precision, ndcg, ranking, recall, reciprocal_rank

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RAGKIT_TEST_DATA", ROOT.parent / "shared" / "data"))
ORACLE = DATA / "oracles" / "trec_eval"

Metric = Callable[..., float]
METRICS = (ndcg, recall, reciprocal_rank, average_precision)
GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3))
RUNS = st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from([0.0, 0.5, 1.0, -2.0]))


def test_ndcg_of_a_small_case_by_hand() -> None:
    # gains 2, 0, 1 at ranks 1, 2, 3; best order 2, 1, 1
    expected = (2 + 1 / math.log2(4)) / (2 + 1 / math.log2(3) + 1 / math.log2(4))
    run = {"a": 3.0, "x": 2.0, "b": 1.0}
    assert ndcg({"a": 2, "b": 1, "c": 1}, run) == pytest.approx(expected)
    assert ndcg({"a": 2, "b": 1, "c": 1}, run, k=1) == 1.0


def test_equal_scores_fall_by_document_id() -> None:
    assert ranking({"a": 1.0, "c": 1.0, "b": 1.0, "d": 0.0}) == ["c", "b", "a", "d"]
    assert reciprocal_rank({"a": 1}, {"a": 1.0, "b": 1.0}) == 0.5


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_retrieved_scores_nothing(metric: Metric) -> None:
    assert metric({"a": 1}, {}) == 0.0
    assert metric({"a": 1}, {"a": 0.0}) == 1.0  # a score of zero is still a place in the ranking


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("judgements", [{}, {"a": 0}, {"a": -1, "b": 0}])
def test_a_query_without_relevant_documents_has_no_score(
    metric: Metric, judgements: dict[str, int]
) -> None:
    with pytest.raises(UsageError, match="cannot be scored"):
        metric(judgements, {"a": 1.0})


@pytest.mark.parametrize("metric", METRICS)
def test_depth_begins_at_one(metric: Metric) -> None:
    with pytest.raises(UsageError, match="first 0 documents"):
        metric({"a": 1}, {"a": 1.0}, k=0)


@pytest.mark.parametrize("metric", METRICS)
@given(judgements=GRADES, run=RUNS, k=st.none() | st.integers(1, 12))
def test_scores_lie_between_nothing_and_the_best_order(
    metric: Metric, judgements: dict[str, int], run: dict[str, float], k: int | None
) -> None:
    judgements["z"] = 1
    score = metric(judgements, run, k=k)
    best = metric(judgements, {d: float(grade) for d, grade in judgements.items()}, k=k)
    assert 0.0 <= score <= best + 1e-12
    unjudged = {document: run[document] for document in run if document in judgements}
    assert metric(judgements, unjudged, k=k) >= score - 1e-12


@pytest.mark.skipif(not ORACLE.is_dir(), reason=f"no trec_eval oracle at {ORACLE}")
def test_metrics_equal_trec_eval() -> None:
    # trec_eval -m all_trec -q qrels.test results.test > out.test.aq (its own test suite)
    qrels: dict[str, dict[str, int]] = {}
    for line in (ORACLE / "qrels.test").read_text("utf-8").splitlines():
        query, _, document, grade = line.split()
        qrels.setdefault(query, {})[document] = int(grade)
    runs: dict[str, dict[str, float]] = {}
    for line in (ORACLE / "results.test").read_text("utf-8").splitlines():
        query, _, document, _, score, _ = line.split()
        runs.setdefault(query, {})[document] = float(score)
    printed = [line.split() for line in (ORACLE / "out.test.aq").read_text("utf-8").splitlines()]
    checked = 0
    for name, query, value in printed:
        found = _metric(name)
        if found is None:
            continue
        metric, k = found
        queries = list(runs) if query == "all" else [query]
        scores = [metric(qrels[q], runs[q], k=k) for q in queries]
        assert sum(scores) / len(scores) == pytest.approx(float(value), abs=5.01e-5), (name, query)
        checked += 1
    print(f"\ntrec_eval: {checked} values of {len(runs)} queries and their means agree")
    assert len(runs) == 3
    assert checked == 124


def _metric(printed: str) -> tuple[Metric, int | None] | None:
    """Name the function and depth of one of trec_eval's measures; None for those not built."""
    whole = {"ndcg": ndcg, "map": average_precision, "recip_rank": reciprocal_rank}
    whole["set_recall"] = recall
    if printed in whole:
        return whole[printed], None
    name, _, k = printed.rpartition("_")
    cut = {"ndcg_cut": ndcg, "map_cut": average_precision, "recall": recall}
    return (cut[name], int(k)) if name in cut and k.isdigit() else None
