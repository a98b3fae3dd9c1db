"""Retrieval metrics of one query: literals, edge cases, and what must always hold."""

import math
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.errors import UsageError
from ragkit_eval.retrieval import (
    average_precision,
    bpref,
    evaluate_run,
    expected_reciprocal_rank,
    ndcg,
    precision,
    r_precision,
    ranking,
    recall,
    reciprocal_rank,
    success,
)

Metric = Callable[..., float]
TO_DEPTH = (ndcg, recall, precision, success, reciprocal_rank, average_precision)
METRICS = (*TO_DEPTH, r_precision, bpref)
GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3))
RUNS = st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from([0.0, 0.5, 1.0, -2.0]))


def test_ndcg_of_a_small_case_by_hand() -> None:
    # gains 2, 0, 1 at ranks 1, 2, 3; best order 2, 1, 1
    expected = (2 + 1 / math.log2(4)) / (2 + 1 / math.log2(3) + 1 / math.log2(4))
    run = {"a": 3.0, "x": 2.0, "b": 1.0}
    assert ndcg({"a": 2, "b": 1, "c": 1}, run) == pytest.approx(expected)
    assert ndcg({"a": 2, "b": 1, "c": 1}, run, k=1) == 1.0


def test_small_cases_by_hand() -> None:
    judged = {"a": 1, "b": 2, "c": 0, "d": 1, "u": -1}
    run = {"x": 6.0, "a": 5.0, "c": 4.0, "u": 3.0, "b": 2.0}  # ranks 2 and 5 of 5 are relevant
    assert precision(judged, run, k=2) == 1 / 2
    assert precision(judged, run, k=10) == 2 / 10
    assert precision(judged, run) == 2 / 5
    assert recall(judged, run, k=4) == 1 / 3
    assert recall(judged, run) == 2 / 3
    assert success(judged, run, k=1) == 0.0
    assert success(judged, run, k=2) == 1.0
    assert r_precision(judged, run) == 1 / 3
    assert average_precision(judged, run) == pytest.approx((1 / 2 + 2 / 5) / 3)
    # before a stands nothing that was judged, before b the only document judged not relevant
    assert bpref(judged, run) == pytest.approx((1 + 0) / 3)


def test_the_expected_reciprocal_rank_by_hand() -> None:
    """Chapelle et al. 2009: a grade g of 0 to 2 satisfies with (2^g - 1) / 4."""
    judgements, run = {"a": 2, "b": 1, "c": 0, "d": -1}, {"c": 4.0, "a": 3.0, "d": 2.0, "b": 1.0}
    # rank 2 with 3/4; rank 4 with 1/4 of the 1/4 who go on
    expected = 1 / 2 * 3 / 4 + 1 / 4 * 1 / 4 * 1 / 4
    assert expected_reciprocal_rank(judgements, run) == pytest.approx(expected)
    assert expected_reciprocal_rank(judgements, run, k=3) == pytest.approx(3 / 8)
    assert expected_reciprocal_rank({"a": 1}, {"a": 1.0}, highest=4) == 1 / 16
    # of a run the highest grade is that of all its judgements
    both = evaluate_run({"q": {"a": 1}, "r": {"b": 2}}, {"q": {"a": 1}, "r": {"b": 1}}, ["err@10"])
    assert both.per_query == {"q": {"err@10": 1 / 4}, "r": {"err@10": 3 / 4}}


def test_a_level_decides_what_is_relevant() -> None:
    judged = {"a": 1, "b": 2, "c": 0, "d": 2}
    run = {"a": 3.0, "b": 2.0, "c": 1.0}
    assert recall(judged, run, level=2) == 1 / 2
    assert reciprocal_rank(judged, run, level=2) == 1 / 2
    assert precision(judged, run, k=1, level=2) == 0.0
    # a is judged not relevant now: of two such documents one stands before b, none before d
    assert bpref(judged, run, level=2) == pytest.approx((1 - 1 / 2) / 2)
    with pytest.raises(UsageError, match="none of 4 judgements is 3 or more"):
        recall(judged, run, level=3)
    with pytest.raises(UsageError, match="relevance level is 0: it must be 1 or more"):
        recall(judged, run, level=0)


def test_documents_that_nobody_judged_count_for_all_metrics_but_bpref() -> None:
    judged, run = {"a": 1, "b": 0}, {"x": 3.0, "a": 2.0, "b": 1.0}
    assert bpref(judged, run) == 1.0
    assert bpref({**judged, "x": -1}, run) == 1.0
    assert bpref({**judged, "x": 0}, run) == 0.0
    assert reciprocal_rank(judged, run) == 1 / 2


def test_equal_scores_fall_by_document_id() -> None:
    assert ranking({"a": 1.0, "c": 1.0, "b": 1.0, "d": 0.0}) == ["c", "b", "a", "d"]
    assert reciprocal_rank({"a": 1}, {"a": 1.0, "b": 1.0}) == 0.5
    assert reciprocal_rank({"b": 1}, {"a": 1.0, "b": 1.0}) == 1.0
    assert reciprocal_rank({"文": 1}, {"a": 1.0, "文": 1.0}) == 1.0


def test_scores_keep_double_precision() -> None:
    # pytrec_eval-terrier 0.5.11 makes this a tie, and 0.5 of it
    assert reciprocal_rank({"a": 1}, {"a": 1.000000001, "b": 1.0}) == 1.0


@pytest.mark.parametrize("score", [math.inf, -math.inf, 1e308, 0.0, -0.0])
def test_any_number_is_a_score(score: float) -> None:
    assert reciprocal_rank({"a": 1}, {"a": score, "b": score}) == 0.5


@pytest.mark.parametrize("metric", METRICS)
def test_a_score_that_is_no_number_is_refused(metric: Metric) -> None:
    with pytest.raises(UsageError, match="the document 'b' is not a number"):
        metric({"a": 1}, {"a": 1.0, "b": math.nan})


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


@pytest.mark.parametrize("metric", TO_DEPTH)
def test_depth_begins_at_one(metric: Metric) -> None:
    with pytest.raises(UsageError, match="depth of a metric is 0"):
        metric({"a": 1}, {"a": 1.0}, k=0)


@pytest.mark.parametrize("metric", METRICS)
@given(judgements=GRADES, run=RUNS, k=st.none() | st.integers(1, 12))
def test_scores_lie_between_nothing_and_the_best_order(
    metric: Metric, judgements: dict[str, int], run: dict[str, float], k: int | None
) -> None:
    judgements["z"] = 1
    score_of = partial(metric, k=k) if metric in TO_DEPTH else metric
    score = score_of(judgements, run)
    ideal = {d: float(grade) for d, grade in judgements.items() if grade > 0}
    best = score_of(judgements, ideal)
    assert 0.0 <= score <= best + 1e-12
    judged = {document: run[document] for document in run if document in judgements}
    assert score_of(judgements, judged) >= score - 1e-12
