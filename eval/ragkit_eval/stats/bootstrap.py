"""Intervals of a mean and of a paired difference, by resampling whole clusters.

The interval is BCa (bias-corrected and accelerated), its levels widened for few clusters. Both
parts were chosen by coverage: at a nominal 95%, simulated on skewed and on 0/1 data in clusters of
1 to 4, 30 clusters gave 0.93 to 0.95 where the plain percentile interval gave 0.90 to 0.92.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import NormalDist
from typing import TYPE_CHECKING

from ragkit.errors import UsageError
from ragkit_eval.stats.clusters import Clustered, differences, gather

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SAMPLES = 10_000  # the interval's ends then vary by about 1% of its width between seeds
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the interval that holds the true mean at the requested level."""

    mean: float
    low: float
    high: float


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[str],
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Return the mean of values and its interval; items of one cluster are drawn together.

    `bounds` are the lowest and the highest possible value: the interval of a single cluster is
    `bounds`. Where every value is the same bound, a bootstrap would give an interval without
    width; the exact interval of K successes in K trials takes its place, each cluster a trial:
    K-th root of (1-level)/2 (Clopper and Pearson 1934, https://doi.org/10.1093/biomet/26.4.404).
    Raises UsageError for no values, values that are not finite, a level outside 0.5 to 0.999.

    >>> mean_interval([1, 0, 1, 1], ["", "", "", ""]).mean
    0.75
    """
    clustered = gather(values, clusters)
    low, high = bounds
    if len(set(values)) == 1 and values[0] in bounds and high - low < inf:
        return _exact(float(values[0]), len(clustered), level, bounds)
    return _interval(clustered, seed=seed, samples=samples, level=level, bounds=bounds)


def paired_difference(
    a: Sequence[float],
    b: Sequence[float],
    clusters: Sequence[str],
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    level: float = 0.95,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Interval:
    """Return the mean of b - a over the same items and its interval.

    Where all differences are equal, as between identical runs, the interval has no width;
    `detectable` returns what such data could have shown. Where all are the same bound, the
    interval is the exact one, as in `mean_interval`. The interval of a single cluster is `bounds`,
    the lowest and the highest possible difference. Raises UsageError for no values, for unequal
    lengths and for values that are not finite.

    >>> paired_difference([0, 0, 1], [1, 0, 1], ["", "", ""]).mean.__round__(4)
    0.3333
    """
    clustered = differences(a, b, clusters)
    first = float(b[0]) - float(a[0])
    if first in bounds and abs(first) < inf and clustered.mean == first:
        return _exact(first, len(clustered), level, bounds)
    return _interval(clustered, seed=seed, samples=samples, level=level, bounds=bounds)


def _exact(value: float, clusters: int, level: float, bounds: tuple[float, float]) -> Interval:
    """Return the interval of a mean where every value is the same bound."""
    _check_level(level)
    low, high = bounds
    open_end = (high - low) * (1 - ((1 - level) / 2) ** (1 / clusters))
    return Interval(value, max(low, value - open_end), min(high, value + open_end))


def _interval(
    data: Clustered, *, seed: int, samples: int, level: float, bounds: tuple[float, float]
) -> Interval:
    import numpy as np

    from ragkit_eval.stats.resample import resampled_sums

    _check_level(level)
    if len(data) == 1:
        return Interval(data.mean, *bounds)
    rows = np.column_stack([data.sums, data.sizes])
    totals = resampled_sums(rows, seed=seed, samples=samples)
    left_out = (data.sums.sum() - data.sums) / (data.sizes.sum() - data.sizes)
    return bca_interval(data.mean, totals[:, 0] / totals[:, 1], left_out, level, bounds)


def bca_interval(
    value: float, resampled: Floats, left_out: Floats, level: float, bounds: tuple[float, float]
) -> Interval:
    """Return the interval of a value of two clusters or more, from its values over resamples.

    `resampled` has shape (samples,); `left_out` has the value without each cluster, shape
    (clusters,). Raises UsageError for a level outside 0.5 to 0.999.
    """
    import numpy as np

    _check_level(level)
    if float(resampled.max() - resampled.min()) < 1e-12:  # rounding alone
        return Interval(value, value, value)
    ends = np.quantile(resampled, _levels(value, resampled, left_out, level))
    low, high = sorted((float(ends[0]), float(ends[1])))
    return Interval(value, max(bounds[0], low), min(bounds[1], high))


def _levels(value: float, resampled: Floats, left_out: Floats, level: float) -> tuple[float, float]:
    """Return the levels of the quantiles of the resampled values that are the interval's ends.

    With z0 from the share of values under the value (half of the ties), a from the jackknife and z
    of the level: Phi(z0 + (z0 + z) / (1 - a (z0 + z))). Source: Efron 1987,
    https://doi.org/10.1080/01621459.1987.10478410. z is widened to sqrt(K/(K-1)) times the
    quantile of t with K-1 degrees of freedom: Hesterberg 2015,
    https://doi.org/10.1080/00031305.2015.1089789.
    """
    from scipy.special import stdtrit

    count = len(left_out)
    under = float((resampled < value).mean() + (resampled <= value).mean()) / 2
    edge = 1 / len(resampled)
    z0 = _NORMAL.inv_cdf(min(max(under, edge), 1 - edge))
    acceleration = _acceleration(left_out)
    student = float(stdtrit(count - 1, (1 + level) / 2))
    wide: float = (count / (count - 1)) ** 0.5 * student

    def adjusted(z: float) -> float:
        divisor = 1 - acceleration * (z0 + z)
        # Past the pole the formula changes its sign; the end is then the extreme value.
        return _NORMAL.cdf(z0 + (z0 + z) / divisor if divisor > 0 else (inf if z > 0 else -inf))

    return adjusted(-wide), adjusted(wide)


def _acceleration(left_out: Floats) -> float:
    """Return a sixth of the skewness of the jackknife values, each without one cluster."""
    offsets = left_out.mean() - left_out
    spread = float((offsets**2).sum())
    return float((offsets**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0


def _check_level(level: float) -> None:
    if not 0.5 <= level <= 0.999:
        raise UsageError(
            f"the level of confidence is {level}: it must be 0.5 to 0.999, usually 0.95"
        )
