"""Draw what was measured: latency and throughput over the levels, the baseline as a line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError
from ragkit_serve.model.bench.record import Record, Run
from ragkit_serve.model.bench.summary import Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SPREADS = {
    "ttft_s": "time to first token, ms",
    "tpot_s": "time per output token, ms",
    "e2e_s": "end to end, ms",
}


def draw(record: Record, path: Path) -> None:
    """Draw into a file whose suffix names the format. Raises UsageError."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplots(2, 2).flat
    for axis, (name, title) in zip(axes, _SPREADS.items(), strict=False):
        for q in ("p50", "p95"):
            _line(axis, record, _percentile(name, q), q)
        axis.set_title(title)
    _line(axes[3], record, lambda run: run.summary.output_tokens_per_s, "tokens/s")
    axes[3].set_title("output tokens/s")
    for axis in axes:
        axis.set_ylim(bottom=0)
        axis.legend()
    shape = f"workload {record.workload_hash[:12]}, {record.workload.get('requests')} requests"
    models = ", ".join(sorted({run.model for run in record.runs if run.engine == "server"}))
    figure.suptitle(f"{models}  {shape}".strip().replace("$", r"\$"))
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"the plot cannot be written to {path}: {error}") from error


def _percentile(name: str, q: str) -> Callable[[Run], float | None]:
    def value(run: Run) -> float | None:
        spread: Spread | None = getattr(run.summary, name)
        return None if spread is None else 1000 * float(getattr(spread, q))

    return value


def _line(axis: Axes, record: Record, value: Callable[[Run], float | None], label: str) -> None:
    runs = [run for run in record.runs if run.engine == "server" and value(run) is not None]
    axis.set_xlabel("requests at once")
    if runs and runs[0].level.rate_per_s is not None:
        axis.set_xlabel("requests/s sent")
    points: list[tuple[Any, Any]] = [
        (run.level.rate_per_s or run.level.concurrency, value(run)) for run in runs
    ]
    drawn = axis.plot([x for x, _ in points], [y for _, y in points], "o-", label=label)
    for run in record.runs:
        if run.engine == "transformers" and (at := value(run)) is not None:
            axis.axhline(
                at, linestyle="--", color=drawn[0].get_color(), label=f"{label}, transformers"
            )
