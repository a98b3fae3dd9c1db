"""The geometric mean of average precision over queries, which low values weigh heavily in."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ragkit_eval.retrieval.ranking import Floats

LEAST: Final = 0.00001  # trec_eval's, for a query without a relevant document among the retrieved


def geometric_rows(values: Sequence[float]) -> Floats:
    """Return the logarithm of each value and a 1, whose sums `geometric_score` takes.

    Shape (values, 2).
    """
    logarithms = np.log(np.maximum(np.asarray(values, dtype=np.float64), LEAST))
    return np.column_stack([logarithms, np.ones(len(logarithms))])


def geometric_score(sums: Floats) -> Floats:
    """Return the geometric mean of summed rows; shapes (sets, 2) to (sets,).

    Source: trec_eval's gm_map; Robertson 2006, https://doi.org/10.1145/1183614.1183630.
    """
    mean: Floats = np.exp(sums[:, 0] / sums[:, 1])
    return mean
