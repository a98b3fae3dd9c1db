"""Values gathered by cluster: items that share a passage or document are not independent.

Every statistic of this folder draws or flips a cluster as a unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clustered:
    """The sum of each cluster's values and their number; shapes (clusters,)."""

    sums: Floats
    sizes: Floats

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def mean(self) -> float:
        """Return the mean of the items, so that a large cluster counts for more."""
        return float(self.sums.sum() / self.sizes.sum())

    def standard_error(self) -> float:
        """Return the standard error of the mean, robust to any dependence inside a cluster.

        With K clusters of n_k items, N in all, and residuals e_k = sum_k - n_k * mean:
        sqrt(K/(K-1) * sum(e_k**2)) / N. 0.0 for a single cluster.
        Source: Liang and Zeger 1986, https://doi.org/10.1093/biomet/73.1.13; for evaluations of
        language models Miller 2024, https://arxiv.org/abs/2411.00640.
        """
        count = len(self)
        if count < 2:
            return 0.0
        residuals = self.sums - self.sizes * self.mean
        spread = float((residuals**2).sum()) * count / (count - 1)
        return float(spread**0.5 / self.sizes.sum())


def gather(values: Sequence[float], clusters: Sequence[str]) -> Clustered:
    """Sum values by the name of their cluster; an item whose cluster is "" stands alone.

    The order of the items makes no difference. Raises UsageError for no values, values that are
    not finite, and unequal lengths.

    >>> gather([1, 0, 1], ["a", "a", ""]).sums.tolist()
    [1.0, 1.0]
    """
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    summed = sum_rows(np.column_stack([array, np.ones(len(array))]), clusters)
    return Clustered(summed[:, 0], summed[:, 1])


def sum_rows(rows: Floats, clusters: Sequence[str]) -> Floats:
    """Sum rows by the name of their cluster; shapes (items, columns) to (clusters, columns).

    An item whose cluster is "" stands alone. The order of the items makes no difference. Raises
    UsageError for no rows, values that are not finite, and unequal lengths.
    """
    import numpy as np

    if len(rows) != len(clusters):
        raise UsageError(
            f"{len(rows)} values have {len(clusters)} clusters: give each value a cluster"
        )
    if not len(rows):
        raise UsageError("there are no values: the set is empty; give at least one item")
    if not np.isfinite(rows).all():
        raise UsageError("a value is not a finite number: leave it out, or count it as 0")
    numbers: dict[str | int, int] = {}
    index = np.array(
        [numbers.setdefault(name or place, len(numbers)) for place, name in enumerate(clusters)]
    )
    ordered = np.lexsort((*rows.T, index))  # sums of floats depend on their order
    first = np.flatnonzero(np.diff(index[ordered], prepend=-1))
    summed: Floats = np.add.reduceat(rows[ordered], first, axis=0)
    # The lines of a run are in the order of the answers; resamples must not depend on it.
    by_sums: Floats = summed[np.lexsort(summed.T[::-1])]
    return by_sums


def differences(a: Sequence[float], b: Sequence[float], clusters: Sequence[str]) -> Clustered:
    """Gather b - a, item by item. Raises UsageError for unequal lengths."""
    if len(a) != len(b):
        raise UsageError(f"{len(a)} and {len(b)} values cannot be paired: pair them by item")
    return gather([second - first for first, second in zip(a, b, strict=True)], clusters)
