"""Reciprocal rank fusion: by hand from the paper's formula, and its laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.retrieve.fusion.reciprocal import reciprocal_rank

RANKINGS = st.lists(st.lists(st.integers(1, 9), unique=True), max_size=4)


def test_scores_by_hand() -> None:
    fused = reciprocal_rank([[1, 2, 3], [3, 1, 4]])
    assert [chunk for chunk, _ in fused] == [1, 3, 2, 4]
    expected = [1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62, 1 / 63]
    assert [score for _, score in fused] == pytest.approx(expected)


def test_another_constant() -> None:
    assert reciprocal_rank([[5]], k=0) == [(5, 1.0)]


def test_equal_scores_stand_as_the_first_ranking_has_them() -> None:
    assert [chunk for chunk, _ in reciprocal_rank([[8, 2], [2, 8]])] == [8, 2]


def test_nothing_is_fused_to_nothing() -> None:
    assert reciprocal_rank([]) == []
    assert reciprocal_rank([[], []]) == []


@given(RANKINGS)
def test_each_comes_once_and_the_order_of_rankings_changes_no_score(
    rankings: list[list[int]],
) -> None:
    fused = reciprocal_rank(rankings)
    assert sorted(chunk for chunk, _ in fused) == sorted({c for one in rankings for c in one})
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)
    assert dict(reciprocal_rank(rankings[::-1])) == pytest.approx(dict(fused))
