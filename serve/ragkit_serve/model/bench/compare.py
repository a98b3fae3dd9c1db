"""Compare two runs of the same workload, request by request: ratios with bootstrap intervals.

Requests are paired by their number, so what is long for both does not count as a difference. The
intervals are those of the requests drawn; a machine that changed meanwhile is not in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit_serve.model.bench.record import Record, Run
from ragkit_serve.model.bench.summary import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

RESAMPLES: Final = 2000
_FEWEST: Final = 2
_SEED: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A figure of two runs: `ratio` is b / a, with its 95% percentile interval over `n` pairs."""

    engine: str
    level: str
    metric: str
    n: int
    a: float
    b: float
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Say "better", "worse", or "" where the interval holds 1."""
        if self.low <= 1 <= self.high:
            return ""
        return "better" if (self.ratio > 1) == self.metric.endswith("/s") else "worse"


def compare_records(a: Record, b: Record) -> list[Difference]:
    """Compare the levels that both have; a lone baseline in `a` is compared with every level.

    Raises UsageError where nothing can be compared.
    """
    if a.workload_hash != b.workload_hash:
        raise UsageError(
            f"the workloads differ ({a.workload_hash[:12]} and {b.workload_hash[:12]}): figures of"
            " different questions say nothing about servers; run both with the same options"
        )
    others = {(run.engine, run.level): run for run in b.runs}
    pairs = [
        (run, others[run.engine, run.level]) for run in a.runs if (run.engine, run.level) in others
    ]
    if not pairs and [run.engine for run in a.runs] == ["transformers"]:
        pairs = [(a.runs[0], run) for run in b.runs]
    if not pairs:
        raise UsageError(
            "the two runs have no level in common: run both with the same --concurrency or --rate"
        )
    return [difference for x, y in pairs for difference in compare_runs(x, y)]


def compare_runs(a: Run, b: Run) -> list[Difference]:
    """Compare two runs over the requests that both completed; none with fewer than two of them."""
    import numpy as np

    done_a, done_b = ({row.number: row for row in run.rows if not row.error} for run in (a, b))
    common = sorted(done_a.keys() & done_b.keys())
    found = []
    for metric, (of, figure) in _metrics(a, b).items():
        pairs = [(of(done_a[n]), of(done_b[n])) for n in common]
        both = [(x, y) for x, y in pairs if x is not None and y is not None]
        if len(both) >= _FEWEST:
            x, y = np.array([x for x, _ in both]), np.array([y for _, y in both])
            found.append(_difference(a, b, metric, x, y, figure))
    return [one for one in found if one is not None]


# What a request contributes (several numbers where a figure needs them), and the figure made of
# many requests' contributions: shape (resamples, requests, numbers) to (resamples,).
Contribution = Callable[[Row], Sequence[float] | None]
Figure = Callable[["Numbers", int], "Numbers"]


def _metrics(a: Run, b: Run) -> dict[str, tuple[Contribution, Figure]]:
    def one(of: Callable[[Row], float | None]) -> Contribution:
        return lambda row: None if (value := of(row)) is None else (value,)

    times: dict[str, Callable[[Row], float | None]] = {
        "ttft": lambda row: row.ttft_s,
        "tpot": lambda row: row.tpot_s,
        "e2e": lambda row: row.e2e_s,
    }
    metrics = {
        f"{name} p{q}": (one(of), _percentile(q)) for name, of in times.items() for q in (50, 95)
    }
    if a.level.concurrency and b.level.concurrency:
        # Little's law: with all slots busy, work per second is slots times work over time in them.
        metrics["output tokens/s"] = (lambda row: (row.output_tokens, row.e2e_s), _throughput)
        metrics["requests/s"] = (lambda row: (1.0, row.e2e_s), _throughput)
    return metrics


def _percentile(q: int) -> Figure:
    def figure(values: Numbers, slots: int) -> Numbers:
        import numpy as np

        found: Numbers = np.percentile(values[..., 0], q, axis=1)
        return found

    return figure


def _throughput(values: Numbers, slots: int) -> Numbers:
    sums = values.sum(axis=1)
    found: Numbers = slots * sums[:, 0] / sums[:, 1]
    return found


def _difference(
    a: Run, b: Run, metric: str, x: Numbers, y: Numbers, figure: Figure
) -> Difference | None:
    import numpy as np

    slots = a.level.concurrency or 1, b.level.concurrency or 1
    with np.errstate(divide="ignore", invalid="ignore"):
        at_a, at_b = float(figure(x[None], slots[0])[0]), float(figure(y[None], slots[1])[0])
        drawn = np.random.default_rng(_SEED).integers(0, len(x), (RESAMPLES, len(x)))
        ratios = figure(y[drawn], slots[1]) / figure(x[drawn], slots[0])
    if not at_a or not at_b or not np.isfinite([at_a, at_b, *ratios]).all():
        return None  # times of zero, or no tokens at all: there is no ratio
    low, high = (float(value) for value in np.percentile(ratios, [2.5, 97.5]))
    return Difference(
        engine=b.engine, level=str(b.level), metric=metric, n=len(x),
        a=at_a, b=at_b, ratio=at_b / at_a, low=low, high=high,
    )  # fmt: skip
