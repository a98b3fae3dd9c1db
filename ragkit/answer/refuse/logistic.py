"""Fit a cut-off: a logistic regression on signals, and its cross-validation."""

from __future__ import annotations

from collections.abc import Sequence

from ragkit.answer.refuse.cutoff import Signals
from ragkit.stats import logistic
from ragkit.stats.cutoff import SIGNALS, Cutoff

FOLDS = 10
SEED = 20  # of the folds; any number
RIDGE = 1.0  # keeps the weights finite where a signal tells the kinds apart without error


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
    """Fit a logistic regression with a ridge of 1 on standardised signals.

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
    bias, weights = logistic.fit_logistic(scaled, np.array(labels, dtype=np.float64), ridge=RIDGE)
    raw = weights / np.where(spread > 1e-9, spread, np.inf)
    return Cutoff(bias, tuple(map(float, raw)), tuple(map(float, means)), 0.5, tuple(names))
