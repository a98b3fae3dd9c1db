"""The measures of shown stretches on small cases, counted by hand."""

import pytest

from benchmarks.excerpts import Stretch, measures
from ragkit_eval.sets import Excerpt, Question

ASKED = Question("q", "?", excerpts=(Excerpt("a", 10, 20), Excerpt("b", 0, 10)))
STRETCHES = [
    Stretch("a", 0, 15, 400),
    Stretch("a", 10, 30, 500),
    Stretch("b", 100, 125, 200),
    Stretch("b", 0, 20, 900),
]


def test_characters_are_counted() -> None:
    found = measures([ASKED], STRETCHES, [[0, 1, 2]])
    assert found.recall == pytest.approx(10 / 20)  # of a's excerpt all, of b's none
    assert found.precision == pytest.approx(10 / 60)  # 15 + 20 + 25 shown, an overlap twice
    assert found.iou == pytest.approx(10 / 70)
    assert found.bound == pytest.approx(20 / 55)  # the three that hold part of an excerpt
    assert found.shown == 1100


def test_the_budget_ends_at_the_first_stretch_that_does_not_fit() -> None:
    assert measures([ASKED], STRETCHES, [[0, 1, 2, 3]]).recall_in_budget == pytest.approx(0.5)
    assert measures([ASKED], STRETCHES, [[2, 3, 0, 1]]).recall_in_budget == 0.0


def test_a_parent_shown_twice_counts_once_and_only_five_are_shown() -> None:
    found = measures([ASKED], STRETCHES, [[3, 3, 3, 3, 3, 3, 0]])
    assert found.recall == pytest.approx(15 / 20)
    assert found.shown == 1300


def test_means_are_taken_over_questions() -> None:
    other = Question("r", "?", excerpts=(Excerpt("b", 0, 10),))
    assert measures([ASKED, other], STRETCHES, [[3], [3]]).recall == pytest.approx(0.75)
