"""Windows over long passages: where they lie, what they weigh, how they are pooled."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.embed.windows import pool, weigh, windows

ROWS = np.array([[1, 0, 0], [0, 1, 0], [0, 0.6, 0.8]], np.float32)


@pytest.mark.parametrize(
    ("tokens", "size", "expected"),
    [
        (0, 8, [(0, 0)]),
        (8, 8, [(0, 8)]),
        (9, 8, [(0, 8), (1, 9)]),
        (15, 8, [(0, 8), (7, 15)]),  # an eighth is shared
        (16, 8, [(0, 8), (4, 12), (8, 16)]),
        (3, 1, [(0, 1), (1, 2), (2, 3)]),
        (600, 254, [(0, 254), (173, 427), (346, 600)]),
    ],
)
def test_windows_lie_evenly(tokens: int, size: int, expected: list[tuple[int, int]]) -> None:
    assert windows(tokens, size) == expected


@given(st.integers(1, 5000), st.integers(1, 600))
def test_every_token_is_in_a_window_and_none_is_too_long(tokens: int, size: int) -> None:
    lain = windows(tokens, size)
    assert lain[0][0] == 0
    assert lain[-1][1] == tokens
    assert all(end - start == min(size, tokens) for start, end in lain)
    shared = [before[1] - after[0] for before, after in pairwise(lain)]
    assert all(overlap >= size // 8 for overlap in shared)
    assert len(lain) <= 1 + -(-(tokens - 1) // max(1, size - size // 8))


def test_the_mean_and_the_largest_are_of_length_one_again() -> None:
    assert pool(ROWS[:2], "mean").tolist() == pytest.approx([0.5**0.5, 0.5**0.5, 0])
    assert pool(ROWS[1:], "max").tolist() == pytest.approx([0, 1 / 1.64**0.5, 0.8 / 1.64**0.5])
    assert pool(ROWS[:2], "weighted", np.array([3.0, 4.0])).tolist() == pytest.approx([0.6, 0.8, 0])


def test_windows_that_cancel_out_leave_the_first() -> None:
    assert pool(np.array([[1, 0], [-1, 0]], np.float32), "mean").tolist() == [1, 0]


def test_weights_are_place_times_share_of_the_top_terms() -> None:
    # 1 is in all three windows, so it is no term; the top ones are 5, 6, 7 and 8.
    terms = [np.array(ids, np.int32) for ids in ([1, 1, 5, 6, 7], [1, 5], [1, 8])]
    assert weigh(terms).tolist() == pytest.approx([1.75 * 1, 1.25 * 0.75, 1.25 * 0.5])


def test_only_the_best_terms_count() -> None:
    rare = np.arange(100, 140, dtype=np.int32)  # once each: the first 31 of them are among the 32
    terms = [np.array([7, 7, 7], np.int32), rare]
    assert weigh(terms).tolist() == pytest.approx([1 + 1 / 32, (1 + 31 / 32) * 0.5])


def test_windows_without_a_term_of_their_own_weigh_by_place() -> None:
    assert weigh([np.array([1], np.int32)] * 3).tolist() == [1, 0.75, 0.5]
    assert weigh([np.array([], np.int32)] * 2).tolist() == [1, 0.5]
