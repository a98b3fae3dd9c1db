"""Time, cost and padding; the right values of figures that circulate wrongly."""

from __future__ import annotations

import random
from statistics import mean

import pytest

from ragkit_tune.plan.time import cost, expected_longest, ring_bytes, ring_steps, seconds


def test_a_v100_takes_78_milliseconds() -> None:
    # A chapter says 79 s for 9.8e12 operations at 125 TFLOP/s.
    assert seconds(9.8e12, 125e12) == pytest.approx(0.0784)


def test_eight_gpus_for_two_weeks() -> None:
    # A chapter says $10,252, $6,877 and $6,720; 2,688 hours at its prices are these.
    two_weeks = 14 * 86_400
    assert [cost(two_weeks, 8, price=price).price for price in (3.06, 2.05, 2.0)] == [
        8225.28,
        5510.4,
        5376.0,
    ]
    assert cost(3600, 2, watts=350).kilowatt_hours == 0.7
    assert (cost(3600, 2).price, cost(3600, 2).kilowatt_hours) == (None, None)


def test_a_ring_of_eight_takes_14_steps() -> None:
    assert [ring_steps(n) for n in (1, 2, 8)] == [0, 2, 14]
    assert ring_bytes(800, 8) == 1400


def test_the_longest_of_some_rows() -> None:
    chosen = random.Random(3)
    lengths = [chosen.randint(10, 200) for _ in range(50)]
    drawn = mean(max(chosen.choices(lengths, k=8)) for _ in range(20_000))
    assert expected_longest(lengths, 8) == pytest.approx(drawn, rel=0.01)
    assert expected_longest(lengths, 1) == pytest.approx(mean(lengths))
