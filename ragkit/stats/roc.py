"""The area under a ROC curve and its interval over resampled groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

RESAMPLES: Final = 1000
_SEED: Final = 20  # any number


def auc_interval(
    scores: Sequence[float], labels: Sequence[bool], groups: Sequence[str]
) -> tuple[float, float, float]:
    """Return the area under the ROC curve and its 95% interval; a group is drawn whole.

    Samples in which all labels are equal are left out.
    """
    import numpy as np

    score, label = np.array(scores), np.array(labels)
    _, group = np.unique(np.array(groups), return_inverse=True)
    count = group.max() + 1
    generator = np.random.default_rng(_SEED)
    areas = []
    for _ in range(RESAMPLES):
        draws = np.bincount(generator.integers(0, count, count), minlength=count)
        weight = draws[group]
        if weight[label].sum() and weight[~label].sum():
            areas.append(_area(score, label, weight))
    low, high = np.percentile(areas, [2.5, 97.5])
    return _area(score, label, np.ones(len(score))), float(low), float(high)


def _area(scores: Any, labels: Any, weight: Any) -> float:
    """Return P(a positive example scores higher) + P(equal) / 2, examples weighted.

    scikit-learn's roc_auc_score gives the same number, but 1000 resamples of 400 examples take
    8 s by it and 0.4 s by this.
    """
    import numpy as np

    _, place = np.unique(scores, return_inverse=True)
    positive = np.bincount(place[labels], weight[labels], minlength=place.max() + 1)
    negative = np.bincount(place[~labels], weight[~labels], minlength=place.max() + 1)
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / (positive.sum() * negative.sum()))
