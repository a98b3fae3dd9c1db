"""How wrong answers are when only the surest of them are given."""

from __future__ import annotations

from collections.abc import Sequence


def risk_curve(scored: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return (share answered, 1 - mean score) as less and less sure answers are given.

    Answers of equal confidence are given together. `scored` are (confidence, score).
    """
    ordered = sorted(scored, key=lambda pair: -pair[0])
    points, total = [], 0.0
    for n, (confidence, score) in enumerate(ordered, 1):
        total += score
        if n == len(ordered) or ordered[n][0] != confidence:
            points.append((n / len(ordered), 1 - total / n))
    return tuple(points)
