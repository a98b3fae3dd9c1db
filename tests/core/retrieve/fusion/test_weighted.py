"""The weighted sum of both legs: by hand, its two ends, and its laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.retrieve.fusion.weighted import weighted

LEGS = st.dictionaries(st.integers(1, 20), st.floats(0.01, 30))
COSINES = st.dictionaries(st.integers(1, 20), st.floats(-1, 1))


def test_score_by_hand() -> None:
    # Cosines 0.1, 0.2, 0.6 have mean 0.3 and deviation sqrt(0.14 / 3); BM25 0, 3, 3 2 and sqrt(2).
    fused = weighted({1: 0.1, 2: 0.2, 3: 0.6}, {2: 3.0, 3: 3.0}, dense_weight=0.25)
    assert [found.chunk for found in fused] == [3, 2, 1]
    dense, lexical = (0.14 / 3) ** 0.5, 2**0.5
    expected = [
        0.25 * 0.3 / dense + 0.75 * 1 / lexical,
        0.25 * -0.1 / dense + 0.75 * 1 / lexical,
        0.25 * -0.2 / dense + 0.75 * -2 / lexical,
    ]
    assert [found.score for found in fused] == pytest.approx(expected)
    assert [(found.dense, found.lexical) for found in fused] == [
        (0.6, 3.0),
        (0.2, 3.0),
        (0.1, None),
    ]


def test_without_a_vector_a_chunk_counts_as_the_lowest() -> None:
    fused = weighted({1: 0.1, 2: 0.5}, {3: 1.0}, dense_weight=1.0)
    assert [found.chunk for found in fused] == [2, 1, 3]
    assert fused[1].score == fused[2].score
    assert fused[2].dense is None


def test_one_leg_alone_keeps_its_order() -> None:
    assert [f.chunk for f in weighted({1: 0.3, 2: 0.5}, {}, dense_weight=0.5)] == [2, 1]
    assert [f.chunk for f in weighted({}, {1: 3.0, 2: 5.0}, dense_weight=0.5)] == [2, 1]
    assert weighted({}, {}, dense_weight=0.5) == []


@given(dense=COSINES, lexical=LEGS, weight=st.floats(0, 1))
def test_every_candidate_comes_once_best_first(
    dense: dict[int, float], lexical: dict[int, float], weight: float
) -> None:
    fused = weighted(dense, lexical, dense_weight=weight)
    assert sorted(f.chunk for f in fused) == sorted(dense.keys() | lexical.keys())
    scores = [found.score for found in fused]
    assert scores == sorted(scores, reverse=True)


@given(dense=COSINES, lexical=LEGS, scale=st.floats(0.5, 2), shift=st.floats(-1, 1))
def test_a_model_whose_cosines_are_scaled_and_moved_fuses_the_same(
    dense: dict[int, float], lexical: dict[int, float], scale: float, shift: float
) -> None:
    moved = {chunk: shift + scale * cosine for chunk, cosine in dense.items()}
    scores = [
        {f.chunk: f.score for f in weighted(leg, lexical, dense_weight=0.5)}
        for leg in (dense, moved)
    ]
    spread = max(dense.values(), default=0) - min(dense.values(), default=0)
    if spread > 1e-3 and dense.keys() >= lexical.keys():
        assert scores[1] == pytest.approx(scores[0], abs=1e-6)
