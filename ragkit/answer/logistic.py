"""Fit a cut-off: a logistic regression on signals, and its cross-validation."""

from __future__ import annotations

from collections.abc import Sequence

from ragkit.answer.cutoff import SIGNALS, Cutoff, Signals
from ragkit.stats.logistic import fit_logistic

FOLDS = 10
SEED = 20  # of the folds; any number
RIDGE = 1.0  # keeps the weights finite where a signal tells the kinds apart without error


def cross_validated(
    found: Sequence[Signals | None],
    labels: Sequence[bool],
    groups: Sequence[str],
    *,
    names: Sequence[str] = SIGNALS,
) -> tuple[Cutoff, list[float]]:
    """Fit on all questions, and score each by the fit on the folds that its group is not in.

    `names` are the signals to fit on.
    """
    import numpy as np

    distinct = sorted(set(groups))
    order = np.random.default_rng(SEED).permutation(len(distinct))
    fold_of = {distinct[place]: number % FOLDS for number, place in enumerate(order)}
    folds = [fold_of[group] for group in groups]
    scores = [0.0] * len(found)
    for fold in range(FOLDS):
        kept = [i for i, number in enumerate(folds) if number != fold and found[i] is not None]
        cutoff = logistic([found[i] for i in kept], [labels[i] for i in kept], names=names)
        for i, number in enumerate(folds):
            one = found[i]
            if number == fold and one is not None:
                scores[i] = cutoff.score(one)
    there = [i for i, one in enumerate(found) if one is not None]
    whole = logistic([found[i] for i in there], [labels[i] for i in there], names=names)
    return whole, scores


def logistic(
    found: Sequence[Signals | None], labels: Sequence[bool], *, names: Sequence[str] = SIGNALS
) -> Cutoff:
    """Fit a logistic regression with a ridge of 1 on standardised signals.

    A signal that is missing counts as the mean of the others; one that never varies weighs 0. The
    threshold is 1/2.
    """
    import numpy as np

    values = np.array(
        [[np.nan if v is None else v for v in one.of(names)] for one in found if one],
        dtype=np.float64,
    ).reshape(-1, len(names))
    known = ~np.isnan(values)
    counts = np.maximum(known.sum(0), 1)
    means = np.where(known, values, 0.0).sum(0) / counts
    centred = np.where(known, values - means, 0.0)
    spread = np.sqrt((centred**2).sum(0) / counts)
    scaled = centred / np.where(spread > 1e-9, spread, np.inf)
    bias, weights = fit_logistic(scaled, np.array(labels, dtype=np.float64), ridge=RIDGE)
    raw = weights / np.where(spread > 1e-9, spread, np.inf)
    return Cutoff(bias, tuple(map(float, raw)), tuple(map(float, means)), 0.5, tuple(names))
