"""A figure that is wanted, said beside what was measured; ratios alone, which machines share."""

from __future__ import annotations

from collections.abc import Mapping


def at_most(what: str, limit: float, measured: Mapping[str, float]) -> str:
    """Say of each measured value whether it keeps below the limit.

    >>> at_most("ragkit / raw SQL", 1.5, {"10,000": 1.234})
    'Wanted: ragkit / raw SQL at most 1.5. Measured: 1.234 at 10,000 (met).'
    """
    return _said(what, "at most", limit, {at: (v, v <= limit) for at, v in measured.items()})


def at_least(what: str, limit: float, measured: Mapping[str, float]) -> str:
    """Say of each measured value whether it reaches the limit."""
    return _said(what, "at least", limit, {at: (v, v >= limit) for at, v in measured.items()})


def _said(what: str, how: str, limit: float, measured: Mapping[str, tuple[float, bool]]) -> str:
    values = ", ".join(
        f"{value:.4g} at {at} ({'met' if met else 'missed'})"
        for at, (value, met) in measured.items()
    )
    return f"Wanted: {what} {how} {limit:g}. Measured: {values}."
