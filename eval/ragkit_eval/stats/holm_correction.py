"""Holm's correction of p-values that are read together."""

from collections.abc import Sequence

from ragkit.errors import UsageError


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order of the input; [] for no p-values.

    Sorted upwards, the i-th of m becomes max over j <= i of min(1, (m - j + 1) p_j). Claiming what
    is at most a level keeps the chance of any false claim in the family at that level. Raises
    UsageError for a p-value outside 0 to 1. Source: Holm 1979, https://www.jstor.org/stable/4615733.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise UsageError(f"{p} is not a p-value: it must be 0 to 1")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
