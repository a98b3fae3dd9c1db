"""Resamples of rows, drawn with replacement, as sums of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_BLOCK = 2_000_000  # weights held at once; keeps memory under 50 MB


def resampled_sums(rows: Floats, *, seed: int, samples: int) -> Floats:
    """Draw len(rows) rows with replacement and sum each column; `samples` times.

    Shapes (rows, columns) to (samples, columns). Equal rows are drawn together, by their count,
    which is the same distribution and makes 0/1 data cost next to nothing. Raises UsageError for
    fewer than 100 samples, whose quantiles would mean little.
    """
    import numpy as np

    check_samples(samples)
    rng = np.random.default_rng(seed)
    count = len(rows)
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) * 10 < count:  # arbitrary: a binomial costs about ten times a draw
        weights = rng.multinomial(count, times / count, size=samples)
        summed: Floats = weights @ distinct
        return summed
    parts = []
    block = max(1, _BLOCK // count)
    for start in range(0, samples, block):
        size = min(block, samples - start)
        draws = rng.integers(0, count, (size, count), dtype=np.int32)
        # One count for all samples: those of sample i are numbered from i * count.
        firsts = np.arange(size, dtype=np.int64)[:, None] * count
        weights = np.bincount((draws + firsts).ravel(), minlength=size * count)
        parts.append(weights.reshape(size, count) @ rows)
    return np.concatenate(parts)


def check_samples(samples: int) -> None:
    """Raise UsageError for too few samples for a quantile or p-value, or too many to draw."""
    if not 100 <= samples <= 10_000_000:
        raise UsageError(f"the number of samples is {samples}: it must be 100 to 10,000,000")
