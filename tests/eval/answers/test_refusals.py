"""Refusals: shares by hand, the curve, and its area against random orders."""

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.errors import UsageError
from ragkit_eval.answers import CurvePoint, RefusalScores, refusal_curve, refusal_scores


def near(value: float) -> Any:
    """A value that equals its neighbours, as a field of an expected result."""
    return pytest.approx(value)


def test_refusals_by_hand() -> None:
    refused = [True, True, True, False, False, False, False]
    answerable = [False, False, True, True, True, True, False]
    assert refusal_scores(refused, answerable) == RefusalScores(
        precision=near(2 / 3),
        recall=near(2 / 3),
        f1=near(2 / 3),
        false_refusals=1 / 4,
        answerable=4,
        unanswerable=3,
    )


def test_a_share_of_nothing_is_none() -> None:
    assert refusal_scores([False], [True]) == RefusalScores(None, None, None, 0.0, 1, 0)
    assert refusal_scores([False], [False]) == RefusalScores(None, 0.0, 0.0, None, 0, 1)
    assert refusal_scores([True], [True]) == RefusalScores(0.0, None, 0.0, 1.0, 1, 0)


def test_the_curve_by_hand() -> None:
    curve = refusal_curve([0.2, 0.9, 0.5, 0.5], [False, True, False, True])
    assert curve.points == (
        CurvePoint(0.9, 0.25, 0.0),
        CurvePoint(0.5, 0.75, 1 / 3),
        CurvePoint(0.2, 1.0, 0.5),
    )
    # risks of 1 to 4 answers; the two of equal confidence bring half a wrong one each
    assert curve.area == pytest.approx((0 + 0.5 / 2 + 1 / 3 + 2 / 4) / 4)
    assert curve.least_area == pytest.approx((0 + 0 + 1 / 3 + 2 / 4) / 4)


def test_a_perfect_confidence_has_the_least_area_and_a_constant_one_the_base_rate() -> None:
    answerable = [True] * 6 + [False] * 2
    perfect = refusal_curve([0.9] * 6 + [0.1] * 2, answerable)
    assert perfect.area == pytest.approx(perfect.least_area)
    constant = refusal_curve([0.5] * 8, answerable)
    assert constant.area == pytest.approx(1 / 4)
    assert constant.points == (CurvePoint(0.5, 1.0, 1 / 4),)
    assert refusal_curve([0.1, 0.2], [True, True]).area == 0.0
    assert refusal_curve([0.1, 0.2], [False, False]).area == 1.0


@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=1, max_size=12)
)
def test_the_area_of_ties_is_the_mean_over_their_orders(
    questions: list[tuple[float, bool]],
) -> None:
    chance, areas = random.Random(1), []
    for _ in range(300):
        order = sorted(questions, key=lambda pair: (-pair[0], chance.random()))
        wrong = [sum(not can for _, can in order[: n + 1]) / (n + 1) for n in range(len(order))]
        areas.append(sum(wrong) / len(wrong))
    curve = refusal_curve([value for value, _ in questions], [can for _, can in questions])
    assert curve.area == pytest.approx(sum(areas) / len(areas), abs=0.08)
    assert curve.least_area <= curve.area + 1e-12
    assert curve.points[-1].coverage == 1.0


def test_unusable_input() -> None:
    with pytest.raises(UsageError, match="2 outcomes for 1 questions"):
        refusal_scores([True, False], [True])
    with pytest.raises(UsageError, match="the set has no questions"):
        refusal_curve([], [])
    with pytest.raises(UsageError, match="the confidence of question 2 is not a number"):
        refusal_curve([0.5, math.nan], [True, False])
