"""Compute how long a run takes, and what it costs where watts and a price are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Energy and money of a run; None where the watts or the price are not given."""

    kilowatt_hours: float | None
    price: float | None


def seconds(operations: float, flop_per_s: float) -> float:
    """Return the seconds of so many operations at a speed that was given or measured.

    >>> round(seconds(9.8e12, 125e12), 4)
    0.0784
    """
    return operations / flop_per_s


def cost(
    duration_s: float, gpus: int, *, watts: float | None = None, price: float | None = None
) -> Cost:
    """Return the cost of a run; `watts` are those of one device, `price` that of its hour.

    >>> cost(14 * 86_400, 8, price=3.06).price
    8225.28
    """
    hours = gpus * duration_s / 3600
    return Cost(
        None if watts is None else hours * watts / 1000,
        None if price is None else round(hours * price, 2),
    )


def ring_steps(gpus: int) -> int:
    """Return the steps of a ring all-reduce: N - 1 to add up and N - 1 to hand out.

    Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.

    >>> ring_steps(8)
    14
    """
    return 2 * (gpus - 1)


def ring_bytes(gradients: int, gpus: int) -> int:
    """Return the bytes that each device sends in a ring all-reduce: 2 (N - 1) / N of them."""
    return round(gradients * ring_steps(gpus) / gpus)


def expected_longest(lengths: Sequence[int], rows: int) -> float:
    """Return the mean of the longest of so many rows, drawn at random: what padding makes of them.

    >>> expected_longest([10, 20], 1), expected_longest([10, 20], 2)
    (15.0, 17.5)
    """
    ordered = sorted(lengths)
    count = len(ordered)
    return sum(
        length * ((n / count) ** rows - ((n - 1) / count) ** rows)
        for n, length in enumerate(ordered, 1)
    )
