"""Print what a run on a knowledge base came to, for people."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import typer

from ragkit import render
from ragkit_eval.rag.summary import RagSummary
from ragkit_eval.record import Record
from ragkit_eval.run.summary import coverage_line, summary_lines

_SHOWN_NAMES = 5
_SHOWN_CHARS = 160  # of a question or an answer; about two lines of a terminal


def print_summary(summary: RagSummary, *, out: Path | None, notes: list[str]) -> None:
    """Print the scores with their intervals, what went wrong, and the worst questions."""
    typer.echo(coverage_line(summary.scores))
    for note in notes:
        typer.echo(note)
    typer.echo("")
    alone = replace(summary.scores, task="")  # its name stands above
    for line in summary_lines({"": alone}):
        typer.echo(line)
    lines = (
        _refusals(summary.refusals),
        _rates(summary.rates),
        _latency(summary.latency),
        _tokens(summary.tokens),
    )
    for line in filter(None, lines):
        typer.echo(line)
    metric = summary.scores.metric
    worst = [record for record in summary.worst if (record.value(metric) or 0.0) < 1]
    if worst:
        typer.echo(f"\nThe worst by {metric}")
    for record in worst:
        _print_record(record, metric)
    if out is not None:
        typer.echo(f"\nThe run is {out}: look into it with 'ragkit eval report {out}'")


def _print_record(record: Record, metric: str) -> None:
    score = "error" if record.status == "error" else f"{record.value(metric) or 0.0:.3f}"
    said = record.error or (record.output if "answer" in record.detail else _found(record))
    typer.echo(f"{score}  {render.printable(record.id)}: {_cut(record.question)}")
    typer.echo(f"       {_cut(said)}")


def _found(record: Record) -> str:
    names = [PurePath(uri).name for uri in record.output.splitlines()]
    wanted = ", ".join(record.targets[:_SHOWN_NAMES])
    return f"to find: {wanted}; found: {', '.join(names[:_SHOWN_NAMES]) or 'nothing'}"


def _refusals(refusals: Mapping[str, Any]) -> str:
    return f"\nRefusals: {_told(refusals)}" if refusals else ""


def _rates(rates: Mapping[str, Any]) -> str:
    odd = {name: rate for name, rate in rates.items() if rate}
    return f"Rates: {_told(odd)}" if odd else ""


def _latency(latency: Mapping[str, Any]) -> str:
    known = {name: seconds for name, seconds in latency.items() if seconds is not None}
    return f"Seconds: {_told(known)}" if known else ""


def _tokens(tokens: Mapping[str, Any]) -> str:
    counted = {name: tokens[name] for name in ("prompt_tokens", "completion_tokens")}
    return _told(counted) if any(counted.values()) else ""


def _told(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.3f}"
        if isinstance(value, float)
        else f"{name.replace('_', ' ')} {'undefined' if value is None else f'{value:,}'}"
        for name, value in values.items()
    )


def _cut(text: str) -> str:
    shown = render.printable(" ".join(text.split()))
    return shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 1] + "…"
