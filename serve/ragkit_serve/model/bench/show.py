"""A benchmark's tables for a terminal. It computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ragkit.render import print_table, printable
from ragkit_serve.model.bench.compare import Difference
from ragkit_serve.model.bench.record import Record, Run
from ragkit_serve.model.bench.summary import Spread

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUSY = 0.8  # arbitrary: above it the measuring process may be the limit
_TIMES = ("p50", "p95", "p99", "n")


def print_record(record: Record) -> None:
    """Print throughput and errors, then the times in milliseconds."""
    columns = ["load", "req/s", "tokens/s", "prompt", "answer", "cached", "done", "failed"]
    print_table(columns, [_throughput(run) for run in record.runs], empty="")
    typer.echo("")
    columns = ["load", "ms", *_TIMES]
    print_table(columns, [row for run in record.runs for row in _times(run)], empty="")
    for line in _remarks(record.runs):
        typer.echo(line)


def print_differences(found: Sequence[Difference], a: Record, b: Record) -> None:
    """Print each figure of both runs and their ratio; what failed in either is told as well."""
    rows = [
        (
            "transformers" if one.engine == "transformers" else one.level,
            one.metric,
            _figure(one.metric, one.a),
            _figure(one.metric, one.b),
            f"{one.ratio:.3f}",
            f"{one.low:.3f} to {one.high:.3f}",
            str(one.n),
            one.verdict,
        )
        for one in found
    ]
    columns = ("load", "metric", "first", "second", "ratio", "95% interval", "n", "")
    print_table(columns, rows, empty="No request was completed in both runs.")
    typer.echo("Times in milliseconds; over requests that both runs completed.")
    for name, record in (("first", a), ("second", b)):
        for line in _failed(record.runs):
            typer.echo(f"{name}: {line}")


def _throughput(run: Run) -> Sequence[str]:
    found = run.summary
    return (
        _load(run),
        f"{found.requests_per_s:.2f}",
        f"{found.output_tokens_per_s:.1f}",
        _or_dash(found.prompt_tokens, "{:.0f}"),
        _or_dash(found.output_tokens, "{:.0f}"),
        _or_dash(found.cached_share, "{:.0%}"),
        str(found.completed),
        str(found.failed),
    )


def _times(run: Run) -> Iterator[Sequence[str]]:
    found = run.summary
    spreads: dict[str, Spread | None] = {
        "first token": found.ttft_s,
        "per token": found.tpot_s,
        "end to end": found.e2e_s,
    }
    for name, one in spreads.items():
        if one is not None:
            times = (f"{1000 * value:.1f}" for value in (one.p50, one.p95, one.p99))
            yield (_load(run), name, *times, str(one.n))


def _remarks(runs: Sequence[Run]) -> Iterator[str]:
    yield from _failed(runs)
    if any(run.tokens_from == "pieces" for run in runs):
        yield "The server counted no tokens: output tokens are streamed pieces."
    busy = [_load(run) for run in runs if run.engine == "server" and run.client_cpu_share > _BUSY]
    if busy:
        yield f"At {', '.join(busy)} this program itself was busy: the server may be faster."


def _failed(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        for kind, count in run.summary.errors.items():
            said = next((row.said for row in run.rows if row.error == kind and row.said), "")
            words = f" ({printable(said)})" if said else ""
            yield f"{_load(run)}: {count} of {len(run.rows)} failed: {kind}{words}"


def _load(run: Run) -> str:
    return "transformers" if run.engine == "transformers" else str(run.level)


def _figure(metric: str, value: float) -> str:
    return f"{value:.2f}" if metric.endswith("/s") else f"{1000 * value:.1f}"


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
