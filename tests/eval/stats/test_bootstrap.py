"""Intervals cover what they say they cover, clusters are drawn whole, and edges have an answer."""

import numpy as np
import pytest
from numpy.random import Generator

from ragkit.errors import UsageError
from ragkit_eval.stats.bootstrap import Interval, mean_interval, paired_difference
from ragkit_eval.stats.clusters import gather
from ragkit_eval.stats.signflip import permutation


def _graded(rng: Generator, clusters: int) -> tuple[list[float], list[str]]:
    """Scores of mean 0.5 in clusters of 1 to 6 items, which share most of their luck."""
    values: list[float] = []
    names: list[str] = []
    for number in range(clusters):
        size = int(rng.integers(1, 7))
        luck = rng.normal(0.5, 0.15)
        values += list(rng.normal(luck, 0.05, size))
        names += [f"passage {number}"] * size
    return values, names


# The share of so many intervals that cover the truth has a standard error of 0.0154 where 95% do.
TRIALS = 200


def _coverage(draw: int, *, clustered: bool, wrap: float | None = None) -> float:
    rng = np.random.default_rng(11)
    covered = 0
    for trial in range(TRIALS):
        values, names = _graded(rng, draw)
        if wrap is not None:  # right or wrong: half are right
            values = [float(value > wrap) for value in values]
        if not clustered:
            names = [""] * len(names)
        interval = mean_interval(values, names, seed=trial, samples=500)
        covered += interval.low <= 0.5 <= interval.high
    return covered / TRIALS


def test_nominal_95_percent_cover_the_true_mean_of_clustered_scores_about_so_often() -> None:
    assert 0.92 <= _coverage(40, clustered=True) <= 0.98


def test_nominal_95_percent_cover_the_true_share_of_right_answers_about_so_often() -> None:
    assert 0.92 <= _coverage(40, clustered=True, wrap=0.5) <= 0.98


def test_without_the_clusters_the_same_intervals_are_too_narrow() -> None:
    assert _coverage(40, clustered=False) < 0.85


def test_intervals_of_few_clusters_are_widened() -> None:
    assert _coverage(8, clustered=True) >= 0.90


def test_a_paired_difference_covers_the_true_one() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for trial in range(TRIALS):
        a, names = _graded(rng, 30)
        b = [value + 0.05 + rng.normal(0, 0.1) for value in a]
        interval = paired_difference(a, b, names, seed=trial, samples=500)
        covered += interval.low <= 0.05 <= interval.high
    assert 0.92 <= covered / TRIALS <= 0.98


def test_pairing_makes_the_interval_narrower_than_two_separate_ones() -> None:
    rng = np.random.default_rng(3)
    a, names = _graded(rng, 100)
    b = [value + rng.normal(0, 0.02) for value in a]
    difference = paired_difference(a, b, names)
    alone = mean_interval(a, names)
    assert difference.high - difference.low < (alone.high - alone.low) / 3


def test_the_interval_of_independent_right_answers_is_that_of_the_binomial() -> None:
    # scipy.stats.binomtest(70, 100).proportion_ci(method="wilson"): 0.6041515 to 0.7810511
    interval = mean_interval([1.0] * 70 + [0.0] * 30, [""] * 100)
    assert interval.mean == pytest.approx(0.7)
    assert interval.low == pytest.approx(0.604, abs=0.015)
    assert interval.high == pytest.approx(0.781, abs=0.015)


def test_the_standard_error_is_the_cluster_robust_one() -> None:
    # By hand: sums 2, 1, 0 of 2, 2, 1 items: mean 3/5, residuals 0.8, -0.2, -0.6;
    # sqrt(3/2 * (0.64 + 0.04 + 0.36)) / 5
    data = gather([1, 1, 1, 0, 0], ["a", "a", "b", "b", "c"])
    assert data.mean == pytest.approx(0.6)
    assert data.standard_error() == pytest.approx((1.5 * 1.04) ** 0.5 / 5)


def test_naive_standard_errors_of_clustered_items_are_too_small() -> None:
    values, names = _graded(np.random.default_rng(2), 200)
    naive = gather(values, [""] * len(values)).standard_error()
    assert gather(values, names).standard_error() > 1.5 * naive


def test_equal_seeds_give_equal_intervals_and_others_nearly_the_same() -> None:
    values, names = _graded(np.random.default_rng(4), 50)
    assert mean_interval(values, names, seed=1) == mean_interval(values, names, seed=1)
    first, second = (mean_interval(values, names, seed=seed) for seed in (1, 2))
    assert first != second
    assert first.low == pytest.approx(second.low, abs=0.004)


def test_the_order_in_which_items_came_changes_nothing() -> None:
    values, names = _graded(np.random.default_rng(4), 20)
    names += [""] * 20
    values += [number / 7 for number in range(20)]
    mixed = np.random.default_rng(1).permutation(len(values)).tolist()
    shuffled, shuffled_names = [values[n] for n in mixed], [names[n] for n in mixed]
    assert mean_interval(shuffled, shuffled_names, samples=500) == mean_interval(
        values, names, samples=500
    )
    zeros = [0.0] * len(values)
    p = permutation(shuffled, zeros, shuffled_names, samples=500)
    assert p == permutation(values, zeros, names, samples=500)


def test_all_right_is_not_certainty() -> None:
    # scipy.stats.binomtest(20, 20).proportion_ci(method="exact").low: 0.8315665
    interval = mean_interval([1.0] * 20, [""] * 20)
    assert (interval.mean, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(0.8315665)
    assert mean_interval([0.0] * 20, [""] * 20).high == pytest.approx(1 - 0.8315665)


def test_the_interval_of_one_cluster_is_the_bounds() -> None:
    assert mean_interval([0.25, 0.75], ["a", "a"]) == Interval(0.5, 0.0, 1.0)
    assert paired_difference([0.25], [0.75], [""]) == Interval(0.5, -1.0, 1.0)


def test_two_items_that_turned_right_are_no_certainty() -> None:
    # binomtest(2, 2).proportion_ci(method="exact").low: 0.1581139; the others turned wrong at worst
    interval = paired_difference([0, 0], [1, 1], ["", ""])
    assert (interval.mean, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(2 * 0.1581139 - 1)
    interval = paired_difference([1, 1], [0, 0], ["", ""])
    assert (interval.mean, interval.low) == (-1.0, -1.0)
    assert interval.high == pytest.approx(1 - 2 * 0.1581139)


def test_identical_runs_differ_by_nothing() -> None:
    values = [0.1, 0.2, 0.7, 1.0]
    assert paired_difference(values, values, [""] * 4) == Interval(0.0, 0.0, 0.0)


def test_the_ends_stay_within_the_bounds() -> None:
    interval = mean_interval([1.0, 1.0, 1.0, 0.0], ["", "", "", ""])
    assert 0.0 <= interval.low <= 0.75 <= interval.high <= 1.0


@pytest.mark.parametrize(
    ("values", "clusters", "message"),
    [
        ([], [], "no values"),
        ([1.0], [], "1 values have 0 clusters"),
        ([float("nan"), 1.0], ["", ""], "not a finite number"),
    ],
)
def test_values_without_a_mean_are_refused(
    values: list[float], clusters: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        mean_interval(values, clusters)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="level of confidence is 95"):
        mean_interval([0.0, 1.0], ["", ""], level=95)
    with pytest.raises(UsageError, match="samples is 10"):
        mean_interval([0.0, 1.0], ["", ""], samples=10)
    with pytest.raises(UsageError, match="2 and 1 values cannot be paired"):
        paired_difference([0.0, 1.0], [1.0], ["", ""])
