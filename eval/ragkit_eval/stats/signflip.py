"""The sign-flip permutation test of a paired difference; a cluster is flipped as a unit.

It takes any scores, also 0 and 1 of questions that share a passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragkit_eval.stats.clusters import differences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_EXACT = 14  # clusters that differ: up to here every flip is tried, 16,384 at most
_BLOCK = 4_000_000  # signs held at once
_SLACK = 1e-9  # two sums within it are equal but for rounding


def permutation(
    a: Sequence[float],
    b: Sequence[float],
    clusters: Sequence[str],
    *,
    seed: int = 0,
    samples: int = 10_000,
) -> float:
    """Return the two-sided p-value of "exchanging a and b in a cluster changes nothing".

    The statistic is the absolute sum of the clusters' differences. With up to 14 clusters that
    differ every flip is counted and p is exact; else p = (b + 1) / (n + 1) for b of n drawn flips
    whose statistic reaches the observed one, which is never 0 (Phipson and Smyth 2010,
    https://doi.org/10.2202/1544-6115.1585). 1.0 where no item differs. Raises UsageError for no
    values and unequal lengths.

    >>> permutation([0.0, 0.1, 0.0], [0.5, 0.4, 0.9], ["", "", ""])
    0.25
    """
    from ragkit_eval.stats.resample import check_samples

    check_samples(samples)
    sums = differences(a, b, clusters).sums
    sums = sums[abs(sums) > _SLACK]
    if not len(sums):
        return 1.0
    observed = abs(float(sums.sum())) - _SLACK * float(abs(sums).sum())
    if len(sums) <= _MAX_EXACT:
        return float((abs(_signs(len(sums)) @ sums) >= observed).mean())
    reached = _count_reaching(sums, observed, seed=seed, samples=samples)
    return (reached + 1) / (samples + 1)


def _signs(count: int) -> NDArray[np.float64]:
    """Return every assignment of signs; shape (2**count, count)."""
    import numpy as np

    bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    return (2 * bits - 1).astype(np.float64)


def _count_reaching(sums: NDArray[np.float64], observed: float, *, seed: int, samples: int) -> int:
    """Count the drawn flips whose statistic reaches the observed one."""
    import numpy as np

    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // len(sums))
    reached = 0
    for start in range(0, samples, block):
        size = min(block, samples - start)
        flips = rng.integers(0, 2, (size, len(sums)), dtype=np.int8)
        # the sum of +-D is twice the sum of the positive terms, less the sum of D
        flipped = abs(2.0 * (flips @ sums) - sums.sum())
        reached += int((flipped >= observed).sum())
    return reached
