"""Logistic regression with a ridge: weighted examples, and labels that are all equal."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ragkit.stats.logistic import fit_logistic


def _examples() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    generator = np.random.default_rng(3)
    y = (generator.random(60) < 0.3).astype(np.float64)
    return generator.normal(size=(60, 2)) + y[:, None] * [2.0, 0.5], y


@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0])
def test_the_gradient_of_the_fit_is_zero(ridge: float) -> None:
    x, y = _examples()
    share = np.linspace(0.1, 3.0, len(y))
    bias, weights = fit_logistic(x, y, ridge=ridge, weights=share)
    residuals = share * (1 / (1 + np.exp(-(bias + x @ weights))) - y)
    assert residuals.sum() == pytest.approx(0.0, abs=1e-7)
    assert x.T @ residuals + ridge * weights == pytest.approx(np.zeros(2), abs=1e-7)


def test_an_example_of_weight_two_counts_as_two() -> None:
    x, y = _examples()
    bias, weights = fit_logistic(x, y, weights=np.full(len(y), 2.0))
    twice_bias, twice_weights = fit_logistic(np.vstack([x, x]), np.hstack([y, y]))
    assert bias == pytest.approx(twice_bias)
    assert weights == pytest.approx(twice_weights)


def test_equal_labels_are_nearly_certain_and_no_example_says_nothing() -> None:
    x = np.ones((3, 2))
    for label, probability in ((1.0, 1 - 1e-12), (0.0, 1e-12)):
        bias, weights = fit_logistic(x, np.full(3, label))
        assert 1 / (1 + np.exp(-bias)) == pytest.approx(probability)
        assert weights.tolist() == [0.0, 0.0]
    bias, weights = fit_logistic(np.zeros((0, 2)), np.zeros(0))
    assert (bias, weights.tolist()) == (0.0, [0.0, 0.0])
