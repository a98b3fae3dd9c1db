"""A logistic regression whose examples have weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from ragkit.stats.logistic import fit_logistic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OF_EACH = 300  # examples of a kind, as if there were so many, whatever there are


def alike(kinds: Sequence[Hashable]) -> Floats:
    """Weigh examples so that each kind counts alike."""
    import numpy as np

    counts = Counter(kinds)
    return np.array([OF_EACH / counts[kind] for kind in kinds])


def fit(x: Floats, y: Floats, share: Floats, *, ridge: float) -> tuple[float, list[float]]:
    """Return bias and weights, the ridge on standardised columns.

    x (n, d) has the signals, y (n,) 0 or 1, share (n,) the examples' weights.
    """
    import numpy as np

    means = (x * share[:, None]).sum(0) / share.sum()
    spread = np.sqrt(((x - means) ** 2 * share[:, None]).sum(0) / share.sum())
    spread = np.where(spread > 1e-9, spread, np.inf)
    bias, standard = fit_logistic((x - means) / spread, y, ridge=ridge, weights=share)
    raw = standard / spread
    return float(bias - raw @ means), [float(weight) for weight in raw]
