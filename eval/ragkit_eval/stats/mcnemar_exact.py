"""McNemar's exact test of two systems that answered the same independent questions.

Where questions share a passage, the sign-flip test is the right one.
"""

from collections.abc import Sequence

from ragkit.errors import UsageError


def mcnemar(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided exact p-value of "both are right equally often"; values are 0 or 1.

    With n items on which they differ and m those of the rarer kind: min(1, 2 P(X <= m)), X
    binomial with n trials and probability 1/2. 1.0 where they never differ. Raises UsageError for
    other values, no items and unequal lengths. Source: McNemar 1947,
    https://doi.org/10.1007/BF02295996; exact as in Fagerland, Lydersen and Laake 2013,
    https://doi.org/10.1186/1471-2288-13-91.

    >>> mcnemar([0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1])
    0.03125
    """
    if len(a) != len(b) or not a:
        raise UsageError(f"{len(a)} and {len(b)} values cannot be paired: give one pair or more")
    if not is_binary([*a, *b]):
        raise UsageError(
            "McNemar's test takes only 0 and 1: use the sign-flip test for other scores"
        )
    better = sum(second > first for first, second in zip(a, b, strict=True))
    worse = sum(second < first for first, second in zip(a, b, strict=True))
    return two_sided(min(better, worse), better + worse)


def is_binary(values: Sequence[float]) -> bool:
    """Tell whether all values are 0 or 1."""
    return all(value in (0, 1) for value in values)


def two_sided(rarer: int, trials: int) -> float:
    """Return min(1, 2 P(X <= rarer)) for a fair coin that is thrown `trials` times."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(rarer, trials, 0.5)))
