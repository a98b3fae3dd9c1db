"""A logistic regression whose examples have weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

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
    """Return bias and weights, by Newton's method, the ridge on standardised columns.

    x (n, d) has the signals, y (n,) 0 or 1, share (n,) the examples' weights.
    """
    import numpy as np

    means = (x * share[:, None]).sum(0) / share.sum()
    spread = np.sqrt(((x - means) ** 2 * share[:, None]).sum(0) / share.sum())
    spread = np.where(spread > 1e-9, spread, np.inf)
    bias, *standard = _newton((x - means) / spread, y, share, ridge)
    raw = np.array(standard) / spread
    return float(bias - raw @ means), [float(weight) for weight in raw]


def _newton(x: Floats, y: Floats, share: Floats, ridge: float) -> Floats:
    import numpy as np

    design = np.column_stack([np.ones(len(x)), x])
    penalty = np.diag([0.0] + [ridge] * x.shape[1])
    w = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ w))
        gradient = design.T @ (share * (p - y)) + penalty @ w
        hessian = (design.T * (share * p * (1 - p))) @ design + penalty + 1e-9 * np.eye(len(w))
        step = np.linalg.solve(hessian, gradient)
        w -= step
        if np.abs(step).max() < 1e-10:
            break
    return w
