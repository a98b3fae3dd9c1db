"""McNemar, sign flips, Holm and the detectable difference: by hand, by scipy, by simulation."""

from math import inf

import numpy as np
import pytest

from ragkit.errors import UsageError
from ragkit_eval.stats import detectable, holm, mcnemar, permutation
from ragkit_eval.stats.mcnemar_exact import two_sided


@pytest.mark.parametrize(("rarer", "trials"), [(0, 0), (0, 5), (3, 20), (10, 20), (480, 1000)])
def test_mcnemar_is_the_two_sided_binomial_test(rarer: int, trials: int) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    expected = scipy_stats.binomtest(rarer, trials).pvalue if trials else 1.0
    assert two_sided(rarer, trials) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_by_hand() -> None:
    # 8 differ, 1 of them one way: 2 * (1 + 8) / 256
    a = [1, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    b = [0, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    assert mcnemar(a, b) == pytest.approx(18 / 256)
    assert mcnemar(b, a) == mcnemar(a, b)
    assert mcnemar(a, a) == 1.0


def test_mcnemar_takes_right_and_wrong_alone() -> None:
    with pytest.raises(UsageError, match="only 0 and 1"):
        mcnemar([0.5, 1], [1, 1])
    with pytest.raises(UsageError, match="cannot be paired"):
        mcnemar([], [])


def test_sign_flips_of_independent_right_and_wrong_are_mcnemars_test() -> None:
    a = [0.0] * 9 + [1.0] * 3 + [1.0] * 20
    b = [1.0] * 9 + [0.0] * 3 + [1.0] * 20
    assert permutation(a, b, [""] * 32) == pytest.approx(mcnemar(a, b))


def test_few_clusters_are_counted_out() -> None:
    # Differences 3, 2, 1: |sum| reaches 6 in 2 of 8 flips; -3, 2, 2 reaches 1 in all 8.
    assert permutation([0, 0, 0], [3, 2, 1], [""] * 3) == 0.25
    assert permutation([0, 0, 0], [-3, 2, 2], [""] * 3) == 1.0


def test_many_clusters_are_drawn_and_the_p_value_is_never_zero() -> None:
    a, b = [0.0] * 200, [1.0] * 200
    assert permutation(a, b, [""] * 200, samples=999) == 1 / 1000


def test_drawn_flips_agree_with_all_of_them() -> None:
    rng = np.random.default_rng(8)
    b = [float(value) for value in rng.normal(0.25, 0.5, 18)]
    sums = abs(((np.arange(2**18)[:, None] >> np.arange(18)) & 1) @ np.array(b) * 2 - sum(b))
    exact = float((sums >= abs(sum(b)) - 1e-9).mean())
    drawn = permutation([0.0] * 18, b, [""] * 18, samples=20_000)
    assert drawn == pytest.approx(exact, abs=0.008)


def _rejected(*, clustered: bool, binary: bool) -> float:
    """Return how often 5% rejects where nothing differs, items sharing their cluster's luck."""
    rng = np.random.default_rng(21)
    trials, rejected = 400, 0
    for trial in range(trials):
        names = [f"{number}" for number in range(30) for _ in range(4)]
        luck = np.repeat(rng.normal(0, 1, 30), 4) + rng.normal(0, 0.3, 120)
        a, b = np.zeros(120), luck
        if binary:
            a, b = (luck < -0.5).astype(float), (luck > 0.5).astype(float)
        p = permutation(
            list(a), list(b), names if clustered else [""] * 120, seed=trial, samples=400
        )
        rejected += p < 0.05
    return rejected / trials


@pytest.mark.parametrize("binary", [False, True])
def test_where_nothing_differs_one_test_in_twenty_rejects(binary: bool) -> None:
    assert 0.02 <= _rejected(clustered=True, binary=binary) <= 0.08


def test_without_the_clusters_it_rejects_far_too_often() -> None:
    assert _rejected(clustered=False, binary=False) > 0.2


def test_holm_by_hand() -> None:
    # 0.005 * 4, max(0.02, 0.01 * 3), max(0.03, 0.03 * 2), max(0.06, 0.04 * 1)
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(UsageError, match=r"1\.2 is not a p-value"):
        holm([1.2])


# scipy 1.17.1: scipy.stats.t.ppf([0.975, 0.8], items - 1)
@pytest.mark.parametrize(
    ("items", "upper", "power"), [(6, 2.570582, 0.919544), (10, 2.262157, 0.883404)]
)
def test_the_detectable_difference_is_made_of_students_quantiles(
    items: int, upper: float, power: float
) -> None:
    b = [0.1 * n**2 for n in range(items)]
    error = np.std(b, ddof=1) / items**0.5
    expected = (upper + power) * error
    assert detectable([0.0] * items, b, [""] * items) == pytest.approx(expected, rel=1e-6)


def test_a_difference_of_the_detectable_size_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(9)
    trials, rejected = 300, 0
    spread, count = 0.3, 60
    size = (2.0009954 + 0.8477559) * spread / count**0.5  # t of 59 degrees of freedom
    sizes = []
    for trial in range(trials):
        b = [float(value) for value in rng.normal(size, spread, count)]
        a = [0.0] * count
        sizes.append(detectable(a, b, [""] * count))
        rejected += permutation(a, b, [""] * count, seed=trial, samples=400) < 0.05
    assert np.mean(sizes) == pytest.approx(size, rel=0.03)
    assert 0.74 <= rejected / trials <= 0.86


def test_what_cannot_be_shown_is_said() -> None:
    assert detectable([0.0] * 5, [1.0] * 5, [""] * 5) == inf
    assert detectable([0.0] * 6, [1.0] * 6, ["a"] * 6) == inf
    # Two runs that agree on each of 100 items: six of them must differ to show anything.
    assert detectable([1.0] * 100, [1.0] * 100, [""] * 100) == 0.06
