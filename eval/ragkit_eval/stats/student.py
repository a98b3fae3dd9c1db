"""Quantiles of Student's t, without scipy, which nothing else here needs."""

from __future__ import annotations

from math import atan, cos, inf, pi, sin, sqrt
from statistics import NormalDist

_NORMAL_FROM = 2000  # degrees of freedom from which the normal's quantile is within 0.001


def student_quantile(probability: float, degrees: int) -> float:
    """Return the value that t with so many degrees of freedom stays under with a probability.

    The distribution function for whole degrees of freedom is a finite sum; it is inverted by
    bisection. Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.

    >>> round(student_quantile(0.975, 9), 3)
    2.262
    """
    if degrees < 1:
        return inf
    if degrees >= _NORMAL_FROM:
        return NormalDist().inv_cdf(probability)
    if probability < 0.5:
        return -student_quantile(1 - probability, degrees)
    low, high = 0.0, 1e6
    for _ in range(80):  # halves 1e6 down to float precision
        middle = (low + high) / 2
        low, high = (low, middle) if _below(middle, degrees) >= probability else (middle, high)
    return high


def _below(t: float, degrees: int) -> float:
    angle = atan(t / sqrt(degrees))
    odd = degrees % 2 == 1
    # The sums of 26.7.3 and 26.7.4: each term is the one before times cos^2 (k-1)/k, two by two.
    term, total = (cos(angle), 0.0) if odd else (1.0, 0.0)
    for power in range(3 if odd else 2, degrees + 1, 2):
        total += term
        term *= cos(angle) ** 2 * (power - 1) / power
    inside = 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
    return 0.5 + inside / 2
