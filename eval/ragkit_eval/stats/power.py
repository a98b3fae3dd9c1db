"""The smallest difference that data like these can show.

Knows nothing of which system is better: only of how much the paired differences spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from ragkit_eval.stats.clusters import differences
from ragkit_eval.stats.exact import is_binary
from ragkit_eval.stats.student import student_quantile

_LEAST = 6  # clusters that must differ, all one way, before an exact two-sided p is under 0.05


def detectable(
    a: Sequence[float],
    b: Sequence[float],
    clusters: Sequence[str],
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float:
    """Return the smallest true mean difference that a two-sided test would find with this power.

    (t(1 - alpha/2) + t(power)) times the standard error of the paired difference, robust to
    clusters, with K-1 degrees of freedom; source: Miller 2024,
    https://arxiv.org/abs/2411.00640. Never less, for right and wrong, than 6 of the K clusters,
    because 2 / 2**5 is over 0.05; nor where nothing differs, which shows no spread to go by.
    Infinite with fewer than 6 clusters, which cannot show any difference.
    """
    data = differences(a, b, clusters)
    count = len(data)
    if count < _LEAST:
        return inf
    quantiles = student_quantile(1 - alpha / 2, count - 1) + student_quantile(power, count - 1)
    spread = data.standard_error()
    floor = _LEAST / count if is_binary([*a, *b]) or spread == 0 else 0.0
    return max(quantiles * spread, floor)
