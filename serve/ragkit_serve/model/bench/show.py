"""A benchmark's figures as tables to read in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from ragkit.render import print_table, printable
from ragkit_serve.model.bench.compare import Difference, compare_runs
from ragkit_serve.model.bench.record import Record, Run
from ragkit_serve.model.bench.summary import Spread

_BUSY = 0.8  # arbitrary: above it the measuring process may be the limit


def print_record(record: Record) -> None:
    """Print throughput, times in milliseconds, what failed, and the server beside the baseline."""
    columns = ["load", "req/s", "tokens/s", "prompt", "answer", "cached", "done", "failed"]
    print_table(columns, [_throughput(run) for run in record.runs], empty="Nothing was measured.")
    typer.echo("")
    columns = ["load", "ms", "p50", "p95", "p99", "n"]
    print_table(columns, [row for run in record.runs for row in _times(run)], empty="")
    for line in _remarks(record.runs):
        typer.echo(line)
    against = against_baseline(record)
    if against:
        typer.echo("\nThe server against transformers, which takes one at a time, same prompts:")
        print_differences(against, names=("transformers", "server"))


def against_baseline(record: Record) -> list[Difference]:
    """Compare each level with the record's baseline, if there is one."""
    baseline = next((run for run in record.runs if run.engine == "transformers"), None)
    if baseline is None:
        return []
    servers = [run for run in record.runs if run.engine == "server"]
    return [one for run in servers for one in compare_runs(baseline, run)]


def print_differences(found: Sequence[Difference], *, names: tuple[str, str]) -> None:
    """Print a line for each figure; `names` are the two runs'."""
    rows = [
        (
            "transformers" if one.engine == "transformers" else one.level,
            one.metric,
            _value(one.metric, one.a),
            _value(one.metric, one.b),
            f"{one.ratio:.3f}",
            f"{one.low:.3f} to {one.high:.3f}",
            str(one.n),
            one.verdict,
        )
        for one in found
    ]
    columns = ("load", "figure", *names, "ratio", "95% interval", "pairs", "")
    print_table(columns, rows, empty="No level has two requests that both runs completed.")


def print_comparison(
    a: Record, b: Record, found: Sequence[Difference], paths: tuple[Path, Path]
) -> None:
    """Print what differs between two files: their circumstances first, then the figures."""
    for name, record, path in (("A", a, paths[0]), ("B", b, paths[1])):
        typer.echo(printable(f"{name}: {path}, {record.created}"))
    for name, (x, y) in circumstances(a, b).items():
        typer.echo(printable(f"{name}: {x} -> {y}"))
    for name, record in (("A", a), ("B", b)):
        for line in _failed(record.runs):
            typer.echo(f"{name}: {line}")
    typer.echo("")
    print_differences(found, names=("A", "B"))
    typer.echo(
        "\nTimes in ms; ratio: B / A over the same requests. The intervals know nothing of a"
        " machine that changed between the runs: measure A twice to see that."
    )


def circumstances(a: Record, b: Record) -> dict[str, tuple[str, str]]:
    """Name what else differs between two records than their figures."""
    x, y = (
        {
            "ragkit": record.ragkit,
            "server": str(record.settings.get("url")),
            "model": ", ".join(sorted({run.model for run in record.runs})),
            **{f"machine's {name}": str(value) for name, value in record.machine.items()},
        }
        for record in (a, b)
    )
    pairs = {name: (x.get(name, ""), y.get(name, "")) for name in [*x, *(y.keys() - x.keys())]}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def difference_json(one: Difference) -> dict[str, Any]:
    return asdict(one) | {"verdict": one.verdict or "no clear difference"}


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
        "between tokens": found.itl_s,
        "end to end": found.e2e_s,
    }
    for name, one in spreads.items():
        if one is not None:
            yield (_load(run), name, *(_ms(p) for p in (one.p50, one.p95, one.p99)), str(one.n))


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


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _value(metric: str, value: float) -> str:
    return f"{value:.2f}" if metric.endswith("/s") else _ms(value)


def _ms(seconds: float) -> str:
    value = 1000 * seconds
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
