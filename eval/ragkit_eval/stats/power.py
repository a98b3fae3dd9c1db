"""The smallest difference that a comparison of this data can show."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from ragkit_eval.stats.clusters import differences
from ragkit_eval.stats.mcnemar_exact import is_binary

MIN_CLUSTERS = 6  # that differ, all in one direction: with 5 the exact p is over 0.05


def detectable(
    a: Sequence[float],
    b: Sequence[float],
    clusters: Sequence[str],
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float:
    """Return the smallest true mean difference that a two-sided test finds with this power.

    (t(1 - alpha/2) + t(power)) times the standard error of the paired difference, robust to
    clusters, with K-1 degrees of freedom; source: Miller 2024,
    https://arxiv.org/abs/2411.00640. For right and wrong, and where no item differs, it is at
    least 6 of the K clusters, because 2 / 2**5 is over 0.05. Infinite with fewer than 6 clusters,
    which cannot show any difference.
    """
    data = differences(a, b, clusters)
    count = len(data)
    if count < MIN_CLUSTERS:
        return inf
    spread = data.standard_error()
    floor = MIN_CLUSTERS / count if is_binary([*a, *b]) or spread == 0 else 0.0
    return max(quantiles(count, power, alpha) * spread, floor)


def quantiles(clusters: int, power: float, alpha: float) -> float:
    """Return t(1 - alpha/2) + t(power), with one degree of freedom less than there are clusters."""
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, 1 - alpha / 2) + stdtrit(clusters - 1, power))
