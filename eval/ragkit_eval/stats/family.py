"""Holm's correction: many p-values read at once, each made as large as its family demands.

Knows nothing of which tests they came from.
"""

from collections.abc import Sequence

from ragkit.errors import UsageError


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the given order; none for none.

    Sorted upwards, the i-th of m becomes max over j <= i of min(1, (m - j + 1) p_j): under a level
    with these, the chance of one false claim or more in the family is under that level. Raises
    UsageError for a p-value outside 0 to 1. Source: Holm 1979, https://www.jstor.org/stable/4615733.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise UsageError(f"{p} is no p-value: it must be 0 to 1")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
