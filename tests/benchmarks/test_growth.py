"""The exponents of growth, and the targets said beside what was measured."""

import doctest
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from benchmarks import growth, targets

COSTS = {10_000: 1.3, 30_000: 2.1, 100_000: 5.9, 1_000_000: 21.0}


def test_the_fit_is_that_of_scipy() -> None:
    expected = stats.linregress(np.log(list(COSTS)), np.log(list(COSTS.values())))
    found = growth.fit(COSTS)
    assert found.exponent == pytest.approx(expected.slope)
    assert found.error == pytest.approx(expected.stderr)
    assert found.r2 == pytest.approx(expected.rvalue**2)


def test_two_sizes_have_an_exponent_without_an_error() -> None:
    table = growth.growth({"words": {10: 1.0, 1000: 10.0}, "once": {10: 1.0}})
    assert "| words | 0.50 | two sizes | 10, 1,000 |" in table
    assert "once" not in table


def test_one_size_has_no_growth() -> None:
    assert growth.growth({"words": {10: 1.0}}) == ""


def test_a_missed_target_is_said() -> None:
    said = targets.at_least("peer / ragkit", 3, {"10,000": 2.5, "100,000": 3.5})
    assert said.endswith("Measured: 2.5 at 10,000 (missed), 3.5 at 100,000 (met).")


@pytest.mark.parametrize("module", [growth, targets])
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
