"""Logistic regression with a ridge, by scikit-learn."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_TOLERANCE = 1e-12  # of the gradient; the weights are then right to 1e-9
_CERTAIN = log(1e12)  # the bias where all labels are equal, whose best fit has an infinite one


def fit_logistic(
    x: Floats, y: Floats, *, ridge: float = 1.0, weights: Floats | None = None
) -> tuple[float, Floats]:
    """Return the bias and the weights that minimise log loss + ridge / 2 * |weights|**2.

    x (n, d) has standardised columns, y (n,) 0 or 1, `weights` (n,) how much each example counts,
    1 without them. The ridge does not hold the bias. Where all labels are equal the weights are 0
    and the probability is 1e-12 from the label; without examples it is 1/2.
    """
    import numpy as np

    if len(np.unique(y)) < 2:
        bias = np.sign(y[0] - 0.5) * _CERTAIN if len(y) else 0.0
        return float(bias), np.zeros(x.shape[1])
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / ridge, solver="newton-cholesky", tol=_TOLERANCE)
    model.fit(x, y, sample_weight=weights)
    coefficients: Floats = model.coef_[0]
    return float(model.intercept_[0]), coefficients
