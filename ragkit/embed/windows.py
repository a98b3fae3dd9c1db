"""Passages longer than the model reads: where the windows over them lie, and how these are pooled.

A window is as many tokens as the model takes; neighbours share an eighth of one or a little more,
so that what stands at an edge is read whole in one of them. The windows' vectors become one, of
length 1 again:

- mean: their mean;
- max: the largest value of each dimension;
- weighted: their mean by weights. Window i of n counts (1 + k_i) * (1 - i / 2(n - 1)): k_i is the
  share of the passage's 32 top terms that it has, and the first window counts twice as much as the
  last one by its place. The top terms are those of the highest tf * ln(n / df), tf counted in the
  passage and df in its windows: what every window has, as function words and marks are, is none.
  Terms are token ids.

The numbers 8, 32 and 2 are arbitrary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Vectors

Pooling = Literal["mean", "max", "weighted"]

OVERLAP: Final = 8  # neighbours share one part of so many
TOP_TERMS: Final = 32
_NO_LENGTH: Final = 1e-6


def windows(tokens: int, size: int) -> list[tuple[int, int]]:
    """Lay windows of `size` tokens over so many of them, evenly: (start, end) of each.

    >>> windows(10, 16)
    [(0, 10)]
    >>> windows(40, 16)
    [(0, 16), (12, 28), (24, 40)]
    """
    if tokens <= size:
        return [(0, tokens)]
    step = max(1, size - size // OVERLAP)
    gaps = -(-(tokens - size) // step)
    starts = [place * (tokens - size) // gaps for place in range(gaps + 1)]
    return [(start, start + size) for start in starts]


def pool(vectors: Vectors, how: Pooling, weights: NDArray[np.float64] | None = None) -> Vectors:
    """Make one vector of length 1 of the windows', shape (n, dimension) to (dimension,)."""
    import numpy as np

    if how == "max":
        pooled = vectors.max(axis=0)
    else:
        pooled = np.average(vectors, axis=0, weights=weights).astype(np.float32)
    length = float(np.linalg.norm(pooled))
    # Windows that point away from each other have no mean: the first speaks for them.
    unit: Vectors = pooled / length if length > _NO_LENGTH else vectors[0]
    return unit


def weigh(terms: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
    """Weigh windows by their place and their share of the top terms, given each one's terms.

    >>> import numpy as np
    >>> weigh([np.array([1, 7]), np.array([1, 1, 8, 9])]).round(3).tolist()
    [1.333, 0.833]
    """
    import numpy as np

    n = len(terms)
    places = 1 - np.arange(n) / (2 * max(1, n - 1))
    numbers, counts = np.unique(np.concatenate(terms), return_counts=True)
    has = np.array([np.isin(numbers, of_one) for of_one in terms])  # (n, terms)
    scores = counts * np.log(n / has.sum(axis=0))
    top = np.argsort(-scores, kind="stable")[:TOP_TERMS]
    top = top[scores[top] > 0]
    if not len(top):
        return places
    weights: NDArray[np.float64] = (1 + has[:, top].mean(axis=1)) * places
    return weights
