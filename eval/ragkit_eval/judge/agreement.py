"""How far a judge's scores agree with people's labels: kappa, accuracy, AUC, rank correlation.

Scores and labels go in, 0 to 1; it knows nothing of judges. What is not defined is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, Final

from ragkit_eval.stats.bootstrap import Interval, mean_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PASS: Final = 0.5  # a score or label from here on counts as right, as everywhere in a run
SAMPLES: Final = 10_000
SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a judge's verdicts and people's labels have in common.

    `kappa`, `auc`, `spearman` and `length_bias` are of the answers that got a verdict; in
    `accuracy` a failure counts as wrong. `consistency` is the share of answers that got the same
    verdict twice; a failure is never the same. `length_bias` is the rank correlation of the
    answer's length with how much too high its score is. `right` counts the labels of 0.5 and more.
    """

    items: int
    right: int
    clusters: int
    accuracy: Interval
    kappa: Interval | None
    auc: Interval | None
    spearman: float | None
    failures: Interval
    consistency: Interval
    length_bias: float | None


def agreement(
    scores: Sequence[float | None],
    again: Sequence[float | None],
    labels: Sequence[float],
    clusters: Sequence[str],
    lengths: Sequence[int],
) -> Agreement:
    """Compare verdicts with labels; `again` are second verdicts on the same, None is a failure.

    Intervals are 95% and come from resampled clusters.
    """
    given = [i for i, score in enumerate(scores) if score is not None]
    judged = [score for score in scores if score is not None]
    wanted = [labels[i] for i in given]
    within = [clusters[i] for i in given]
    excess = [score - label for score, label in zip(judged, wanted, strict=True)]
    hits = [
        score is not None and (score >= PASS) == (label >= PASS)
        for score, label in zip(scores, labels, strict=True)
    ]
    same = [a is not None and a == b for a, b in zip(scores, again, strict=True)]
    return Agreement(
        items=len(scores),
        right=sum(label >= PASS for label in labels),
        clusters=len({name or str(i) for i, name in enumerate(clusters)}),
        accuracy=mean_interval(hits, clusters),
        kappa=kappa_interval(judged, wanted, within),
        auc=_auc(judged, wanted, within),
        spearman=spearman(judged, wanted),
        failures=mean_interval([score is None for score in scores], clusters),
        consistency=mean_interval(same, clusters),
        length_bias=spearman(excess, [lengths[i] for i in given]),
    )


def kappa(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights; None when both are one and the same constant.

    1 - mean((a - b)**2) / (mean(a**2) + mean(b**2) - 2 mean(a) mean(b)): the disagreement that is
    there over the disagreement that two raters with these habits would have by chance. With two
    values it is the kappa of Cohen 1960, https://doi.org/10.1177/001316446002000104; with more
    that of Cohen 1968 with squared distances, https://doi.org/10.1037/h0026256.

    >>> kappa([1, 1, 0, 0], [1, 0, 0, 0])
    0.5
    """
    if not len(a):
        return None
    value = float(_kappas(_moments(a, b).sum(axis=0, keepdims=True))[0])
    return None if isnan(value) else value


def kappa_interval(
    a: Sequence[float], b: Sequence[float], clusters: Sequence[str]
) -> Interval | None:
    """Return kappa and its 95% interval over resampled clusters; None when it is not defined.

    Samples in which it is not defined are left out. One cluster tells nothing: its interval is
    from -1 to 1.
    """
    import numpy as np

    from ragkit_eval.stats.resample import resampled_sums

    whole = kappa(a, b)
    if whole is None:
        return None
    names: dict[str | int, int] = {}
    index = [names.setdefault(name or i, len(names)) for i, name in enumerate(clusters)]
    if len(names) < 2:
        return Interval(whole, -1.0, 1.0)
    rows = np.zeros((len(names), 6))
    np.add.at(rows, index, _moments(a, b))
    sampled = _kappas(resampled_sums(rows, seed=SEED, samples=SAMPLES))
    low, high = np.quantile(sampled[~np.isnan(sampled)], [0.025, 0.975])
    return Interval(whole, float(low), float(high))


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the rank correlation, ties at their mean rank; None where one of them is constant.

    Pearson's correlation of the ranks: Spearman 1904, https://doi.org/10.2307/1412159.

    >>> spearman([1, 2, 3], [10, 30, 20])
    0.5
    """
    if len(a) < 2 or len(set(a)) == 1 or len(set(b)) == 1:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def _moments(a: Sequence[float], b: Sequence[float]) -> Floats:
    """Return 1, a, b, a**2, b**2 and (a - b)**2 of each pair; shape (pairs, 6)."""
    import numpy as np

    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return np.column_stack([np.ones_like(x), x, y, x * x, y * y, (x - y) ** 2])


def _kappas(sums: Floats) -> Any:
    """Return the kappa of each row of summed moments; nan where chance alone always agrees."""
    import numpy as np

    count, x, y, xx, yy, apart = sums.T
    by_chance = (xx + yy) / count - 2 * x * y / count**2
    defined = by_chance > 1e-12
    return np.where(defined, 1 - apart / count / np.where(defined, by_chance, 1.0), np.nan)


def _auc(
    scores: Sequence[float], labels: Sequence[float], clusters: Sequence[str]
) -> Interval | None:
    from ragkit.stats.roc import auc_interval

    right = [label >= PASS for label in labels]
    if len(set(right)) < 2:
        return None
    groups = [name or f"\0{i}" for i, name in enumerate(clusters)]
    return Interval(*auc_interval(scores, right, groups))
