"""The latency of answers, in seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ragkit.errors import UsageError
from ragkit_eval.run.record import Record


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles and mean of the time to the complete answer, and the median to its first token.

    Seconds, over `items` items; None without a known time.
    """

    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    first_token_p50: float | None
    items: int


def latency(records: Sequence[Record]) -> Latency:
    """Summarise the times of a run; errors and items without a time are left out.

    `percentile` interpolates the percentiles.
    """
    ended = [record for record in records if record.status != "error" and record.latency_s > 0]
    totals = [record.latency_s for record in ended]
    first = [record.first_token_s for record in ended if record.first_token_s is not None]
    p50, p90, p95, p99 = (percentile(totals, p) if totals else None for p in (50, 90, 95, 99))
    return Latency(
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        mean=fmean(totals) if totals else None,
        first_token_p50=percentile(first, 50) if first else None,
        items=len(totals),
    )


def percentile(values: Sequence[float], p: float) -> float:
    """Return the value below which p per cent of the values lie, interpolated linearly.

    With n sorted values x, it stands at h = (n - 1) p / 100 and is
    x[floor h] + (h - floor h) (x[floor h + 1] - x[floor h]). Raises UsageError without values.
    Source: Hyndman and Fan 1996, definition 7, https://doi.org/10.1080/00031305.1996.10473566,
    which is numpy's default.

    >>> percentile([1.0, 2.0, 4.0, 8.0], 50)
    3.0
    """
    if not values or not 0 <= p <= 100:
        raise UsageError(
            f"no {p:g}th percentile of {len(values)} values: give values, and 0 to 100"
        )
    ordered = sorted(values)
    place = (len(ordered) - 1) * p / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
