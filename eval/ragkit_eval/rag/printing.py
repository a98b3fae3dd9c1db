"""Print what a run on a knowledge base came to, for people."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import typer
from rich.cells import cell_len

from ragkit import render
from ragkit_eval.rag.meanings import meaning
from ragkit_eval.rag.summary import RagSummary
from ragkit_eval.record import Record
from ragkit_eval.run.summary import Score, Summary, coverage_line

# Why fifty questions about eight documents have such wide ones.
_INTERVALS = (
    "Intervals take questions about one document together: more documents narrow them, more"
    " questions about the same ones hardly do."
)
_NAMED = {"risk_area": "area under risk by share answered", "least_risk_area": "at best"}
_COUNTS = frozenset({"answerable", "unanswerable"})
_SHOWN_NAMES = 5
_SHOWN_CHARS = 160  # of a question or an answer; about two lines of a terminal


def print_summary(summary: RagSummary, *, out: Path | None, notes: list[str]) -> None:
    """Print the scores with their intervals, what went wrong, and the worst questions."""
    typer.echo(coverage_line(summary.scores))
    for note in notes:
        typer.echo(note)
    typer.echo("")
    for line in (*_metrics(summary.scores), *_groups(summary.scores)):
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


def _metrics(scores: Summary) -> list[str]:
    rows = [(name, *_cells(score), meaning(name)) for name, score in scores.scores.items()]
    table = _table([("metric", "score", "95% interval", "items", "meaning"), *rows])
    return [*table, _INTERVALS]


def _groups(scores: Summary) -> list[str]:
    """Write the first metric by kind of question, as the set's tags tell them apart."""
    if len(scores.groups) < 2:
        return []
    head = (f"{scores.metric} by kind", "score", "95% interval", "items")
    return ["", *_table([head, *((name, *_cells(one)) for name, one in scores.groups.items())])]


def _cells(score: Score) -> tuple[str, str, str]:
    return f"{score.mean:.3f}", f"{score.low:.3f} to {score.high:.3f}", f"{score.items}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
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
    said = record.error or (record.output if "answer" in record.detail else _found(record))
    typer.echo(f"{score}  {render.printable(record.id)}: {_cut(record.question)}")
    if wanted := _expected(record):
        typer.echo(f"       expected: {_cut(wanted)}")
    typer.echo(f"       {'got: ' if wanted else ''}{_cut(said)}")


def _expected(record: Record) -> str:
    """Say what a whole answer should have been; "" where the set does not say, or for a search."""
    if "answer" not in record.detail:
        return ""
    if record.detail["labels"]["answerable"] is False:
        return "a refusal, for no document answers this"
    return record.targets[0] if record.targets else ""


def _found(record: Record) -> str:
    names = [PurePath(uri).name for uri in record.output.splitlines()]
    wanted = ", ".join(record.targets[:_SHOWN_NAMES])
    return f"to find: {wanted}; found: {', '.join(names[:_SHOWN_NAMES]) or 'nothing'}"


def _refusals(refusals: Mapping[str, Any]) -> str:
    """Say how many were refused, in counts first: shares of few questions mislead."""
    if not refusals:
        return ""
    without, answerable = refusals["unanswerable"], refusals["answerable"]
    rightly = round((refusals["recall"] or 0) * without)
    wrongly = round((refusals["false_refusals"] or 0) * answerable)
    told = {_NAMED.get(name, name): one for name, one in refusals.items() if name not in _COUNTS}
    return (
        f"\nRefused: {rightly} of {without} unanswerable questions, {wrongly} of {answerable}"
        f" answerable ones\nRefusals: {_told(told)}"
    )


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
