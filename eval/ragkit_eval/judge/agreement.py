"""Agreement of a judge's scores with people's labels: kappa, accuracy, AUC, rank correlation.

Scores and labels are 0 to 1. An undefined statistic is None.
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

PASS: Final = 0.5  # scores and labels of at least this are right, as in every run
SAMPLES: Final = 10_000
SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """Statistics of a judge's verdicts and people's labels.

    `kappa`, `auc`, `spearman` and `length_bias` are over the answers that got a verdict; in
    `accuracy` a failure counts as wrong. `consistency` is the share of answers with the same
    verdict twice; a failure is never the same. `length_bias` is the rank correlation of the
    answer's length with the excess of its score over its label. `right` counts the labels of 0.5
    and more.
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
    repeated: Sequence[float | None],
    labels: Sequence[float],
    clusters: Sequence[str],
    lengths: Sequence[int],
) -> Agreement:
    """Compare scores with labels; `repeated` are scores of a second try, None is a failure.

    Intervals are 95% and come from resampled clusters.
    """
    judged_places = [i for i, score in enumerate(scores) if score is not None]
    judged = [score for score in scores if score is not None]
    judged_labels = [labels[i] for i in judged_places]
    judged_clusters = [clusters[i] for i in judged_places]
    excess = [score - label for score, label in zip(judged, judged_labels, strict=True)]
    hits = [
        score is not None and (score >= PASS) == (label >= PASS)
        for score, label in zip(scores, labels, strict=True)
    ]
    equal = [a is not None and a == b for a, b in zip(scores, repeated, strict=True)]
    return Agreement(
        items=len(scores),
        right=sum(label >= PASS for label in labels),
        clusters=len({name or str(i) for i, name in enumerate(clusters)}),
        accuracy=mean_interval(hits, clusters),
        kappa=kappa_interval(judged, judged_labels, judged_clusters),
        auc=_auc(judged, judged_labels, judged_clusters),
        spearman=spearman(judged, judged_labels),
        failures=mean_interval([score is None for score in scores], clusters),
        consistency=mean_interval(equal, clusters),
        length_bias=spearman(excess, [lengths[i] for i in judged_places]),
    )


def kappa(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights; None if all values of both are equal.

    1 - mean((a - b)**2) / (mean(a**2) + mean(b**2) - 2 mean(a) mean(b)): the observed disagreement
    over the disagreement of independent raters with the same shares of values. With two values it
    is the kappa of Cohen 1960, https://doi.org/10.1177/001316446002000104; with more, that of
    Cohen 1968 with squared distances, https://doi.org/10.1037/h0026256.

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
    """Return kappa and its 95% interval over resampled clusters; None if kappa is undefined.

    Samples in which it is undefined are left out. The interval of a single cluster is -1 to 1.
    """
    import numpy as np

    from ragkit_eval.stats.resample import resampled_sums

    total_kappa = kappa(a, b)
    if total_kappa is None:
        return None
    names: dict[str | int, int] = {}
    index = [names.setdefault(name or i, len(names)) for i, name in enumerate(clusters)]
    if len(names) < 2:
        return Interval(total_kappa, -1.0, 1.0)
    rows = np.zeros((len(names), 6))
    np.add.at(rows, index, _moments(a, b))
    sampled = _kappas(resampled_sums(rows, seed=SEED, samples=SAMPLES))
    low, high = np.quantile(sampled[~np.isnan(sampled)], [0.025, 0.975])
    return Interval(total_kappa, float(low), float(high))


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the rank correlation, ties at their mean rank; None if a or b is constant.

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
    """Return the kappa of each row of summed moments; nan if chance always agrees."""
    import numpy as np

    count, x, y, xx, yy, squared_differences = sums.T
    by_chance = (xx + yy) / count - 2 * x * y / count**2
    defined = by_chance > 1e-12
    return np.where(
        defined, 1 - squared_differences / count / np.where(defined, by_chance, 1.0), np.nan
    )


def _auc(
    scores: Sequence[float], labels: Sequence[float], clusters: Sequence[str]
) -> Interval | None:
    from ragkit.stats.roc import auc_interval

    right = [label >= PASS for label in labels]
    if len(set(right)) < 2:
        return None
    groups = [name or f"\0{i}" for i, name in enumerate(clusters)]
    return Interval(*auc_interval(scores, right, groups))
