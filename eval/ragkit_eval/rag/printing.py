"""Print the summary of a run on a knowledge base."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import typer
from rich.cells import cell_len

from ragkit.text.printable import printable
from ragkit_eval.cli.output import shorten
from ragkit_eval.rag.meanings import explain_metric
from ragkit_eval.rag.summary import RagSummary
from ragkit_eval.run.record import Record
from ragkit_eval.run.summary import Score, Summary, coverage_line

# Explains why fifty questions about eight documents have wide intervals.
_INTERVALS = (
    "Intervals take questions about one document together: more documents narrow them, more"
    " questions about the same ones hardly do."
)
_READABLE_NAMES = {"risk_area": "area under risk by share answered", "least_risk_area": "at best"}
_COUNTS = frozenset({"answerable", "unanswerable"})
_NAMES = 5


def print_summary(summary: RagSummary, *, out: Path | None, notes: list[str]) -> None:
    """Print the scores with their intervals, the refusals and errors, and the worst questions."""
    typer.echo(coverage_line(summary.scores))
    for note in notes:
        typer.echo(note)
    typer.echo("")
    for line in (*_metric_lines(summary.scores), *_group_lines(summary.scores)):
        typer.echo(line)
    lines = (
        _describe_refusals(summary.refusals),
        _describe_rates(summary.rates),
        _describe_latency(summary.latency),
        _describe_tokens(summary.tokens),
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
        typer.echo(f"\nThe run is {out}: read it with 'ragkit eval report {out}'")


def _metric_lines(scores: Summary) -> list[str]:
    rows = [
        (name, *_score_cells(score), explain_metric(name)) for name, score in scores.scores.items()
    ]
    table = _align_table([("metric", "score", "95% interval", "items", "meaning"), *rows])
    return [*table, _INTERVALS]


def _group_lines(scores: Summary) -> list[str]:
    """Return the first metric by kind of question, as the set's tags name kinds."""
    if len(scores.groups) < 2:
        return []
    head = (f"{scores.metric} by kind", "score", "95% interval", "items")
    return [
        "",
        *_align_table(
            [head, *((name, *_score_cells(score)) for name, score in scores.groups.items())]
        ),
    ]


def _score_cells(score: Score) -> tuple[str, str, str]:
    return f"{score.mean:.3f}", f"{score.low:.3f} to {score.high:.3f}", f"{score.items}"


def _align_table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - cell_len(cell)) if n in {0, 4} else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _print_record(record: Record, metric: str) -> None:
    score = "error" if record.status == "error" else f"{record.value(metric) or 0.0:.3f}"
    response = record.error or (
        record.output if "answer" in record.detail else _describe_retrieved(record)
    )
    typer.echo(f"{score}  {printable(record.id)}: {shorten(record.question)}")
    if expected := _expect_answer(record):
        typer.echo(f"       expected: {shorten(expected)}")
    typer.echo(f"       {'got: ' if expected else ''}{shorten(response)}")


def _expect_answer(record: Record) -> str:
    """Return the expected answer; "" for a search and where the set has none."""
    if "answer" not in record.detail:
        return ""
    if record.detail["labels"]["answerable"] is False:
        return "a refusal, for no document answers this"
    return record.targets[0] if record.targets else ""


def _describe_retrieved(record: Record) -> str:
    names = [PurePath(uri).name for uri in record.output.splitlines()]
    expected = ", ".join(record.targets[:_NAMES])
    return f"to find: {expected}; found: {', '.join(names[:_NAMES]) or 'nothing'}"


def _describe_refusals(refusals: Mapping[str, Any]) -> str:
    """Describe the refusals by counts first: shares of few questions mislead."""
    if not refusals:
        return ""
    without, answerable = refusals["unanswerable"], refusals["answerable"]
    rightly = round((refusals["recall"] or 0) * without)
    wrongly = round((refusals["false_refusals"] or 0) * answerable)
    shares = {
        _READABLE_NAMES.get(name, name): share
        for name, share in refusals.items()
        if name not in _COUNTS
    }
    return (
        f"\nRefused: {rightly} of {without} unanswerable questions, {wrongly} of {answerable}"
        f" answerable ones\nRefusals: {_format_values(shares)}"
    )


def _describe_rates(rates: Mapping[str, Any]) -> str:
    nonzero = {name: rate for name, rate in rates.items() if rate}
    return f"Rates: {_format_values(nonzero)}" if nonzero else ""


def _describe_latency(latency: Mapping[str, Any]) -> str:
    measured = {name: seconds for name, seconds in latency.items() if seconds is not None}
    return f"Seconds: {_format_values(measured)}" if measured else ""


def _describe_tokens(tokens: Mapping[str, Any]) -> str:
    counted = {name: tokens[name] for name in ("prompt_tokens", "completion_tokens")}
    return _format_values(counted) if any(counted.values()) else ""


def _format_values(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.3f}"
        if isinstance(value, float)
        else f"{name.replace('_', ' ')} {'undefined' if value is None else f'{value:,}'}"
        for name, value in values.items()
    )
