"""The fusion: by hand, with legs that are blind, mute or alone, and its laws."""

from collections.abc import Mapping
from math import isfinite
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.retrieve.fusion.calibrated import (
    Background,
    Candidates,
    Fused,
    dense_trust,
    estimate_background,
)

WIDE = Background(0.2, 0.1)
LEGS = st.dictionaries(st.integers(1, 20), st.floats(0.01, 30))
COSINES = st.dictionaries(st.integers(1, 20), st.floats(-1, 1))


def fuse(dense: Mapping[int, float], lexical: Mapping[int, float], **of_query: Any) -> list[Fused]:
    return Candidates(dense, lexical, **of_query).fuse()


def order(fused: list[Fused]) -> list[int]:
    return [found.chunk for found in fused]


def test_score_by_hand() -> None:
    # Cosines 0.5 and 0.4 are 3 and 2 deviations up. The one witness, chunk 1, agrees fully.
    fused = fuse({1: 0.5, 2: 0.4}, {1: 7.0}, background=WIDE, coverage=0.4)
    assert order(fused) == [1, 2]
    assert [found.score for found in fused] == pytest.approx([7 + 9, 6])
    assert [(found.dense, found.lexical) for found in fused] == [(0.5, 7.0), (0.4, None)]


def test_a_leg_half_trusted() -> None:
    # The witness lies 1.25 deviations up, half of what is full agreement.
    fused = fuse({1: 0.325, 2: 0.5}, {1: 3.0}, background=WIDE, coverage=0.4)
    scores = {found.chunk: found.score for found in fused}
    assert scores == pytest.approx({1: 3 + 3 * 0.5 * 1.25, 2: 3 * 0.5 * 3})


def test_witnesses_weigh_by_their_score() -> None:
    # Deviations 3 and 0 weigh 9 to 1: agreement is 2.7, more than full.
    fused = fuse({1: 0.5, 2: 0.2}, {1: 9.0, 2: 1.0}, background=WIDE, coverage=1.0)
    assert fused[0].score == pytest.approx(9 + 9)


def test_a_blind_dense_leg_is_not_heard_where_words_are_found() -> None:
    blind = {1: 0.2, 2: 0.15, 3: 0.6, 4: 0.55}
    fused = fuse(blind, {1: 20.0, 2: 9.0}, background=WIDE, coverage=0.3)
    assert order(fused) == [1, 2, 3, 4]  # what only it found comes after, in its order
    assert fused[0].score == 20.0


def test_the_dense_leg_wins_where_words_find_little() -> None:
    # A Chinese question, an English document, one number in common with another.
    fused = fuse({1: 0.7, 2: 0.2}, {2: 4.0}, background=WIDE, coverage=0.03)
    assert order(fused) == [1, 2]


def test_a_query_the_model_cannot_read_leaves_the_words_order() -> None:
    fused = fuse(
        {1: 0.1, 2: 0.9, 3: 0.5}, {1: 5.0, 2: 4.0}, background=WIDE, coverage=0.1, readable=0.0
    )
    assert order(fused) == [1, 2, 3]
    assert [found.score for found in fused] == [5.0, 4.0, 0.0]


def test_one_leg_alone_keeps_its_order() -> None:
    dense = fuse({1: 0.3, 2: 0.5, 3: 0.1}, {}, background=WIDE, coverage=0.0, readable=0.0)
    assert order(dense) == [2, 1, 3]
    assert [found.score for found in dense] == pytest.approx([9, 3, -3])
    lexical = fuse({}, {1: 3.0, 2: 5.0}, background=Background(0, 0), coverage=0.4)
    assert [(found.chunk, found.score) for found in lexical] == [(2, 5.0), (1, 3.0)]
    assert fuse({}, {}, background=Background(0, 0), coverage=0.0) == []


def test_equal_scores_fall_by_cosine_then_rise_by_chunk() -> None:
    fused = fuse(
        {9: 0.4, 8: 0.3, 7: 0.3}, {5: 2.0, 6: 2.0}, background=WIDE, coverage=1.0, readable=0.0
    )
    assert order(fused) == [5, 6, 9, 7, 8]


@pytest.mark.parametrize(
    ("agreement", "coverage", "trust"),
    [
        (2.5, 0.4, 1.0),
        (0.0, 0.4, 0.0),
        (-3.0, 0.4, 0.0),
        (1.25, 0.4, 0.5),
        (0.0, 0.1, 0.5),
        (9.0, 0.0, 1.0),
    ],
)
def test_trust_in_the_dense_leg(agreement: float, coverage: float, trust: float) -> None:
    assert dense_trust(agreement, coverage) == pytest.approx(trust)


def test_background_of_a_whole_collection_is_exact() -> None:
    found = estimate_background([0.4, 0.2, 0.0], 3)
    assert [found.mean, found.deviation] == pytest.approx([0.2, 0.1632993])


def test_background_of_the_best_of_many_is_the_normal_through_them() -> None:
    quantiles = [NormalDist(0.1, 0.05).inv_cdf(1 - (rank - 0.5) / 5000) for rank in range(1, 301)]
    found = estimate_background(quantiles, 5000)
    assert [found.mean, found.deviation] == pytest.approx([0.1, 0.05])


@pytest.mark.parametrize("cosines", [[], [0.3], [0.3, 0.3, 0.3]])
@pytest.mark.parametrize("chunks", [3, 100])
def test_cosines_that_tell_nothing_apart_say_nothing(cosines: list[float], chunks: int) -> None:
    assert estimate_background(cosines, chunks).deviations(0.3) == 0.0


@given(dense=COSINES, lexical=LEGS, coverage=st.floats(0, 1), readable=st.floats(0, 1))
def test_every_candidate_comes_once_best_first(
    dense: dict[int, float], lexical: dict[int, float], coverage: float, readable: float
) -> None:
    fused = fuse(dense, lexical, background=WIDE, coverage=coverage, readable=readable)
    assert sorted(order(fused)) == sorted(dense.keys() | lexical.keys())
    scores = [found.score for found in fused]
    assert all(isfinite(score) for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(dense=COSINES, lexical=LEGS, coverage=st.floats(0, 1))
def test_a_chunk_that_both_legs_put_higher_is_higher(
    dense: dict[int, float], lexical: dict[int, float], coverage: float
) -> None:
    fused = fuse(dense, lexical, background=WIDE, coverage=coverage)
    place = {chunk: n for n, chunk in enumerate(order(fused))}
    both = sorted(dense.keys() & lexical.keys())
    for one in both:
        for other in both:
            # By more than a sum's rounding.
            if dense[one] > dense[other] + 1e-9 and lexical[one] > lexical[other] + 1e-9:
                assert place[one] < place[other]


@given(
    dense=COSINES,
    lexical=LEGS,
    shift=st.floats(-0.5, 0.5),
    scale=st.floats(0.1, 3),
)
def test_a_model_with_other_cosines_of_the_same_meaning_fuses_the_same(
    dense: dict[int, float], lexical: dict[int, float], shift: float, scale: float
) -> None:
    moved = {chunk: shift + scale * cosine for chunk, cosine in dense.items()}
    other = Background(shift + scale * WIDE.mean, scale * WIDE.deviation)
    one = fuse(dense, lexical, background=WIDE, coverage=0.15)
    two = fuse(moved, lexical, background=other, coverage=0.15)
    assert {f.chunk: f.score for f in one} == pytest.approx(
        {f.chunk: f.score for f in two}, abs=1e-6
    )
