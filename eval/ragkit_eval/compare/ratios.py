"""Compare positive quantities of two runs, such as latencies, by their ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, log

from ragkit_eval.stats.bootstrap import SAMPLES, Interval, paired_difference


@dataclass(frozen=True, slots=True)
class Ratio:
    """A positive quantity of the candidate over the baseline's: geometric mean over items."""

    task: str
    quantity: str
    baseline: str
    candidate: str
    items: int
    ratio: Interval


def ratio(
    a: Mapping[str, float],
    b: Mapping[str, float],
    clusters: Mapping[str, str],
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    level: float = 0.95,
) -> tuple[int, Interval] | None:
    """Return how many items have both quantities, and the geometric mean of b / a over them.

    None where no item has two positive quantities. The interval is that of the mean logarithm.
    """
    shared = [name for name in a if a[name] > 0 and b.get(name, 0) > 0]
    if not shared:
        return None
    logs = paired_difference(
        [log(a[name]) for name in shared],
        [log(b[name]) for name in shared],
        [clusters.get(name, "") for name in shared],
        seed=seed,
        samples=samples,
        level=level,
        bounds=(-inf, inf),
    )
    return len(shared), Interval(exp(logs.mean), exp(logs.low), exp(logs.high))
