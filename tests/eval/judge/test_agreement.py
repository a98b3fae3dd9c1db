"""Agreement between judge and people, against published tables and scikit-learn."""

import random

import pytest

from ragkit_eval.judge.agreement import agreement, kappa, kappa_interval, spearman

# Cohen 1960, https://doi.org/10.1177/001316446002000104, table of frequencies (his kappa over the
# three categories is .49); here each category against the other two.
COHEN = ((88, 14, 18), (10, 40, 10), (2, 6, 12))


def _pairs(table: tuple[tuple[int, ...], ...]) -> tuple[list[int], list[int]]:
    cells = [
        (i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)
    ]
    return [i for i, _ in cells], [j for _, j in cells]


@pytest.mark.parametrize(
    ("category", "by_hand"),
    [
        # observed .78, by chance .6 * .5 + .4 * .5 = .50
        (0, 0.28 / 0.50),
        # observed .80, by chance .3 * .3 + .7 * .7 = .58
        (1, 0.22 / 0.42),
        # observed .82, by chance .1 * .2 + .9 * .8 = .74
        (2, 0.08 / 0.26),
    ],
)
def test_of_two_values_it_is_cohens_kappa(category: int, by_hand: float) -> None:
    a, b = _pairs(COHEN)
    is_a, is_b = [float(x == category) for x in a], [float(x == category) for x in b]
    assert kappa(is_a, is_b) == pytest.approx(by_hand)


def test_with_more_values_it_is_weighted_quadratically() -> None:
    """sklearn.metrics.cohen_kappa_score(a, b, weights="quadratic") of scikit-learn 1.9.1."""
    a, b = _pairs(COHEN)
    value = kappa([x / 2 for x in a], [x / 2 for x in b])
    assert value == pytest.approx(0.4545454545454546)


def test_it_is_scikit_learns_on_random_grades() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    chance = random.Random(8)
    for _ in range(20):
        a = [chance.randrange(3) for _ in range(30)]
        b = [min(2, max(0, x + chance.choice((-1, 0, 0, 1)))) for x in a]
        expected = metrics.cohen_kappa_score(a, b, labels=[0, 1, 2], weights="quadratic")
        assert kappa([x / 2 for x in a], [x / 2 for x in b]) == pytest.approx(expected)


def test_the_ends_of_kappa() -> None:
    assert kappa([1, 0, 1], [1, 0, 1]) == 1.0
    assert kappa([1, 0], [0, 1]) == -1.0
    assert kappa([1, 1, 1], [1, 1, 1]) is None
    assert kappa([1, 1, 1, 1], [1, 0, 1, 0]) == pytest.approx(0.0)
    assert kappa([], []) is None


def test_the_interval_holds_the_value_and_grows_when_answers_belong_together() -> None:
    a, b = _pairs(COHEN)
    x, y = [float(i == 0) for i in a], [float(j == 0) for j in b]
    alone = kappa_interval(x, y, [""] * 200)
    assert alone is not None
    assert alone.low < 0.56 < alone.high
    # Fleiss, Cohen and Everitt 1969, https://doi.org/10.1037/h0028106: its standard error is
    # 0.0574 here, computed from their formula 13.
    assert alone.high - alone.low == pytest.approx(2 * 1.96 * 0.0574, rel=0.1)
    fours = kappa_interval(x * 4, y * 4, [str(i) for i in range(200)] * 4)
    assert fours is not None
    assert fours.high - fours.low == pytest.approx(alone.high - alone.low, rel=0.05)
    single_cluster = kappa_interval(x, y, ["a"] * 200)
    assert single_cluster is not None
    assert (single_cluster.low, single_cluster.high) == (-1.0, 1.0)


def test_rank_correlation_with_ties() -> None:
    # scipy.stats.spearmanr([1, 2, 2, 4, 5], [3, 1, 4, 4, 5]) of scipy 1.17.1: 0.7631578947368421
    assert spearman([1, 2, 2, 4, 5], [3, 1, 4, 4, 5]) == pytest.approx(0.7631578947368421)
    assert spearman([1, 1], [1, 2]) is None
    assert spearman([1], [1]) is None


def test_a_failure_counts_as_wrong_and_never_as_the_same() -> None:
    measured = agreement(
        [1.0, 0.0, None, 0.5], [1.0, 0.5, None, 0.5], [1, 0, 1, 0], ["", "", "", ""], [9, 9, 9, 9]
    )
    assert measured.accuracy.mean == 0.5
    assert measured.failures.mean == 0.25
    assert measured.consistency.mean == 0.5
    assert (measured.items, measured.right, measured.clusters) == (4, 2, 4)
    # Of the three that got a verdict: 1/0/.5 for labels 1/0/0. Mean square .25/3; by chance
    # 1.25/3 + 1/3 - 2 * .5 * 1/3 = 1.25/3.
    assert measured.kappa is not None
    assert measured.kappa.mean == pytest.approx(1 - 0.25 / 1.25)
    assert measured.auc is not None
    assert measured.auc.mean == 1.0
    assert measured.length_bias is None


def test_without_any_verdict_only_failures_are_told() -> None:
    measured = agreement([None, None], [None, None], [1, 0], ["", ""], [1, 2])
    assert (measured.kappa, measured.auc, measured.spearman) == (None, None, None)
    assert (measured.accuracy.mean, measured.failures.mean) == (0.0, 1.0)


def test_a_taste_for_long_answers_shows() -> None:
    scores = [0.0, 0.5, 1.0, 1.0]
    measured = agreement(scores, scores, [0, 0, 0, 1], ["", "", "", ""], [10, 20, 30, 5])
    # excess 0, .5, 1, 0 and lengths 10, 20, 30, 5: ranks 1.5, 3, 4, 1.5 and 2, 3, 4, 1
    assert measured.length_bias == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
