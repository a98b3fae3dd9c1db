"""Fit a cut-off: logistic regression, cross-validation, the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragkit.answer.cutoff import SIGNALS, Cutoff, Signals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FOLDS = 10
SEED = 20  # of the folds and the bootstrap; arbitrary
RESAMPLES = 1000
RIDGE = 1.0  # keeps the weights finite where a signal separates the kinds without error


def cross_validate(
    questions: Sequence[Signals | None],
    labels: Sequence[bool],
    groups: Sequence[str],
    *,
    names: Sequence[str] = SIGNALS,
) -> tuple[Cutoff, list[float]]:
    """Fit on all questions, and score each by a fit without the fold of its group.

    `names` are the signals to fit on.
    """
    import numpy as np

    distinct = sorted(set(groups))
    order = np.random.default_rng(SEED).permutation(len(distinct))
    fold_of = {distinct[place]: number % FOLDS for number, place in enumerate(order)}
    folds = [fold_of[group] for group in groups]
    scores = [0.0] * len(questions)
    for fold in range(FOLDS):
        training = [
            i for i, number in enumerate(folds) if number != fold and questions[i] is not None
        ]
        cutoff = fit_logistic(
            [questions[i] for i in training], [labels[i] for i in training], names=names
        )
        for i, number in enumerate(folds):
            signals = questions[i]
            if number == fold and signals is not None:
                scores[i] = cutoff.score(signals)
    present = [i for i, signals in enumerate(questions) if signals is not None]
    cutoff_of_all = fit_logistic(
        [questions[i] for i in present], [labels[i] for i in present], names=names
    )
    return cutoff_of_all, scores


def fit_logistic(
    questions: Sequence[Signals | None], labels: Sequence[bool], *, names: Sequence[str] = SIGNALS
) -> Cutoff:
    """Fit a logistic regression with a ridge of 1 on standardised signals, by Newton's method.

    A missing signal counts as the mean of the others; one that never varies weighs 0. The
    threshold is 1/2.
    """
    import numpy as np

    values = np.array(
        [
            [np.nan if v is None else v for v in signals.of(names)]
            for signals in questions
            if signals
        ],
        dtype=np.float64,
    ).reshape(-1, len(names))
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(0), 1)
    means = np.where(present, values, 0.0).sum(0) / counts
    centred = np.where(present, values - means, 0.0)
    spread = np.sqrt((centred**2).sum(0) / counts)
    scaled = centred / np.where(spread > 1e-9, spread, np.inf)
    bias, *weights = _newton(scaled, np.array(labels, dtype=np.float64))
    raw = np.array(weights) / np.where(spread > 1e-9, spread, np.inf)
    return Cutoff(float(bias), tuple(map(float, raw)), tuple(map(float, means)), 0.5, tuple(names))


def _newton(x: Floats, y: Floats) -> Floats:
    """Minimise log loss + ridge/2 |w|^2, the bias free; x (n, d), y (n,) of 0 and 1."""
    import numpy as np

    design = np.column_stack([np.ones(len(x)), x])
    ridge = np.diag([0.0] + [RIDGE] * x.shape[1])
    w = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ w))
        gradient = design.T @ (p - y) + ridge @ w
        hessian = (design.T * (p * (1 - p))) @ design + ridge + 1e-9 * np.eye(len(w))
        step = np.linalg.solve(hessian, gradient)
        w -= step
        if np.abs(step).max() < 1e-10:
            break
    return w


def auc_interval(
    scores: Sequence[float], labels: Sequence[bool], groups: Sequence[str]
) -> tuple[float, float, float]:
    """Return the area under the ROC curve and the 95% interval over resampled groups."""
    import numpy as np

    s, y = np.array(scores), np.array(labels)
    _, number = np.unique(np.array(groups), return_inverse=True)
    generator = np.random.default_rng(SEED)
    sampled = []
    for _ in range(RESAMPLES):
        times = np.bincount(
            generator.integers(0, number.max() + 1, number.max() + 1), minlength=number.max() + 1
        )
        weight = times[number]
        if weight[y].sum() and weight[~y].sum():
            sampled.append(_auc(s, y, weight))
    low, high = np.percentile(sampled, [2.5, 97.5])
    return _auc(s, y, np.ones(len(s))), float(low), float(high)


def _auc(scores: Any, labels: Any, weight: Any) -> float:
    """Return P(an answerable question scores higher) + P(equal) / 2, questions weighted."""
    import numpy as np

    _, place = np.unique(scores, return_inverse=True)
    good = np.bincount(place[labels], weight[labels], minlength=place.max() + 1)
    bad = np.bincount(place[~labels], weight[~labels], minlength=place.max() + 1)
    below = np.cumsum(bad) - bad
    return float((good * (below + bad / 2)).sum() / (good.sum() * bad.sum()))
