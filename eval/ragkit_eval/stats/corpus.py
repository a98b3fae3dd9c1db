"""Tests of a metric that is a function of summed statistics, as BLEU is, and not a mean of items.

A system is a matrix of statistics, a row per segment; the score is a function of their sum.
`ragkit_eval.metrics` has the statistics and the scores of BLEU, chrF and TER.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

from ragkit.errors import UsageError
from ragkit_eval.stats.bootstrap import SAMPLES, Interval, bca_interval
from ragkit_eval.stats.clusters import sum_rows
from ragkit_eval.stats.power import MIN_CLUSTERS, quantiles
from ragkit_eval.stats.resample import check_samples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Centring = Literal["two-sided", "moses"]
_BLOCK = 4_000_000
_EXACT_SINGLE = 2**24  # up to here a float of 32 bits holds every integer


@dataclass(frozen=True, slots=True)
class CorpusDifference:
    """The scores of a baseline and a candidate over the same items, and their difference.

    `p` is the two-sided p-value of approximate randomisation; `detectable` the smallest true
    difference that this data shows with a power of 80%, infinite for fewer than 6 clusters.
    """

    a: Interval
    b: Interval
    difference: Interval
    p: float
    detectable: float


def corpus_interval(
    rows: Floats,
    clusters: Sequence[str],
    score: Callable[[Floats], Floats],
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Return the score of a set and its interval, by resampling whole clusters.

    `rows` has shape (items, statistics); `score` maps sums of shape (samples, statistics) to
    (samples,). The interval of a single cluster is `bounds`. The method is that of `mean_interval`.
    Raises UsageError for no items and unequal lengths.
    """
    from ragkit_eval.stats.resample import resampled_sums

    summed = sum_rows(rows, clusters)
    value = float(score(summed.sum(0)[None])[0])
    if len(summed) == 1:
        return Interval(value, *bounds)
    resampled = score(resampled_sums(summed, seed=seed, samples=samples))
    return bca_interval(value, resampled, score(summed.sum(0) - summed), level, bounds)


def corpus_difference(
    a: Floats,
    b: Floats,
    clusters: Sequence[str],
    score: Callable[[Floats], Floats],
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> CorpusDifference:
    """Compare the scores of two systems over the same items; shapes as for `corpus_interval`.

    Intervals are bootstraps of the same clusters for both systems, and the p-value is that of
    approximate randomisation, which exchanges whole clusters. The smallest detectable difference is
    that of `detectable`, with the standard deviation of the resampled differences as standard
    error. Raises UsageError for shapes that differ and no items.
    """
    import numpy as np

    width = a.shape[1]
    _check(a, [b])

    def change(sums: Floats) -> Floats:
        return score(sums[:, width:]) - score(sums[:, :width])

    both = np.hstack([a, b])
    summed = sum_rows(both, clusters)
    spread = bounds[1] - bounds[0]
    difference = corpus_interval(
        both, clusters, change, seed=seed, samples=samples, level=level, bounds=(-spread, spread)
    )
    first, second = summed[:, :width], summed[:, width:]
    (p,) = randomisation_p_values(first, [second], score, seed=seed, samples=samples)
    return CorpusDifference(
        a=corpus_interval(
            a, clusters, score, seed=seed, samples=samples, level=level, bounds=bounds
        ),
        b=corpus_interval(
            b, clusters, score, seed=seed, samples=samples, level=level, bounds=bounds
        ),
        difference=difference,
        p=p,
        detectable=_detectable(summed, change, seed=seed, samples=samples, level=level),
    )


def _detectable(
    summed: Floats, change: Callable[[Floats], Floats], *, seed: int, samples: int, level: float
) -> float:
    from ragkit_eval.stats.resample import resampled_sums

    if len(summed) < MIN_CLUSTERS:
        return inf
    error = float(change(resampled_sums(summed, seed=seed, samples=samples)).std())
    floor = MIN_CLUSTERS / len(summed) if error < 1e-12 else 0.0
    return max(quantiles(len(summed), 0.8, 1 - level) * error, floor)


def bootstrap_p_values(
    baseline: Floats,
    systems: Sequence[Floats],
    score: Callable[[Floats], Floats],
    *,
    seed: int = 0,
    samples: int = 10_000,
    centring: Centring = "two-sided",
) -> list[float]:
    """Return each system's p-value against the baseline, by paired bootstrap of segments.

    Matrices of shape (segments, statistics); `score` maps sums of shape (samples, statistics) to
    (samples,). With d the differences of resampled scores and D the observed one, "two-sided" is
    the share of |d - mean d| >= |D|, with (b+1)/(n+1). "moses" is what Moses' and sacreBLEU's
    tools compute: the share of |d| - mean |d| >= |D|. It agrees with published values, but takes
    the absolute value before centring, so that for small differences it is about half or less of
    a two-sided p: it claims too much. Source: Riezler and Maxwell 2005,
    https://aclanthology.org/W05-0908. Raises UsageError for shapes that differ and no segments.
    """
    import numpy as np

    from ragkit_eval.stats.resample import resampled_sums

    _check(baseline, systems)
    # One matrix of all systems side by side: each resample is of the same segments for all.
    width = baseline.shape[1]
    summed = resampled_sums(np.hstack([baseline, *systems]), seed=seed, samples=samples)
    first = score(summed[:, :width])
    p_values = []
    for n, system in enumerate(systems, start=1):
        change = score(summed[:, n * width : (n + 1) * width]) - first
        observed = abs(_difference(baseline, system, score))
        if centring == "moses":
            change = abs(change)
            centred = change - change.mean()
        else:
            centred = abs(change - change.mean())
        p_values.append(float(((centred >= observed).sum() + 1) / (samples + 1)))
    return p_values


def randomisation_p_values(
    baseline: Floats,
    systems: Sequence[Floats],
    score: Callable[[Floats], Floats],
    *,
    seed: int = 0,
    samples: int = 10_000,
) -> list[float]:
    """Return each system's p-value against the baseline: segments change sides at random.

    Two-sided, (b + 1) / (n + 1) for b of n drawn exchanges after which the scores differ by as
    much as was observed or more. Shapes as for `bootstrap_p_values`. Source: Noreen 1989; Clark et
    al. 2011, https://aclanthology.org/P11-2031.
    """
    import numpy as np

    check_samples(samples)
    _check(baseline, systems)
    rng = np.random.default_rng(seed)
    width = baseline.shape[1]
    swaps = np.hstack([system - baseline for system in systems])
    if float(abs(swaps).sum(0).max()) < _EXACT_SINGLE and (swaps == swaps.round()).all():
        swaps = swaps.astype(np.float32)  # faster, and exact
    observed = [abs(_difference(baseline, system, score)) for system in systems]
    reached = [0] * len(systems)
    block = max(1, _BLOCK // len(baseline))
    for start in range(0, samples, block):
        size = min(block, samples - start)
        flips = rng.integers(0, 2, (size, len(baseline)), dtype=np.int8).astype(swaps.dtype)
        moved = (flips @ swaps).astype(np.float64)
        for n, system in enumerate(systems):
            first = baseline.sum(0) + moved[:, n * width : (n + 1) * width]
            second = baseline.sum(0) + system.sum(0) - first
            # Equal but for rounding counts as reached.
            reached[n] += int((abs(score(second) - score(first)) >= observed[n] - 1e-12).sum())
    return [(count + 1) / (samples + 1) for count in reached]


def _difference(a: Floats, b: Floats, score: Callable[[Floats], Floats]) -> float:
    return float((score(b.sum(0)[None]) - score(a.sum(0)[None]))[0])


def _check(baseline: Floats, systems: Sequence[Floats]) -> None:
    for system in systems:
        if system.shape != baseline.shape or not len(baseline):
            raise UsageError(
                f"statistics of shapes {baseline.shape} and {system.shape} cannot be paired:"
                " give the same segments, at least one, of each system"
            )
