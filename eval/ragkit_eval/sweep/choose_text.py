"""Write a sweep's outcome as plain text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ragkit_eval.compare.compare_text import as_finite, cell, coverage_lines, sentence
from ragkit_eval.sweep.choose import SweepOutcome, TriedCell

_COLUMNS = ("", "cell", "mean (95%)", "against the baseline", "p (Holm)", "latency", "errors")


def rows(outcome: SweepOutcome) -> list[list[str]]:
    """Return a row per cell, best first, the baseline marked."""
    ordered = sorted(outcome.tried, key=lambda tried: -tried.mean.mean)
    return [_row(tried, chosen=tried is outcome.chosen) for tried in ordered]


def columns() -> tuple[str, ...]:
    """Return the columns of `rows`."""
    return _COLUMNS


def verdict(outcome: SweepOutcome) -> Iterator[str]:
    """Yield the choice of the first half, and what the other half shows of it."""
    baseline = outcome.tried[0].cell.label
    if outcome.chosen is None or outcome.confirmed is None:
        yield (
            "No significant winner: on the choosing half no cell had a higher"
            f" {outcome.metric} than the baseline, {baseline}."
        )
        return
    yield f"Chosen on the first half: {outcome.chosen.cell.label}"
    yield f"On the other half: {sentence(outcome.confirmed)}"
    if outcome.verdict == "winner":
        yield f"Winner: {outcome.chosen.cell.label}"
    elif outcome.confirmed.verdict == "worse":
        yield f"No significant winner: it was worse there. Keep {baseline}."
    else:
        yield f"No significant winner: this data does not show that it is better than {baseline}."


def markdown(outcome: SweepOutcome, questions: tuple[int, int]) -> str:
    """Write the outcome as Markdown."""
    out = [
        f"## Sweep by {cell(outcome.metric)}",
        "",
        f"{questions[0]} questions to choose with, {questions[1]} to confirm on; no passage or"
        " document is in both.",
        "",
        *(f"{cell(line)}\n" for line in verdict(outcome)),
        "| " + " | ".join(_COLUMNS) + " |",
        "|---|---|---|---|---:|---|---:|",
    ]
    out += ["| " + " | ".join(map(cell, row)) + " |" for row in rows(outcome)]
    remarks = list(remarks_of(outcome))
    out += ["", *(f"- {cell(line)}" for line in remarks)] if remarks else []
    return "\n".join(out) + "\n"


def remarks_of(outcome: SweepOutcome) -> Iterator[str]:
    """Yield the gaps in the runs: missing items and errors."""
    for compared in outcome.comparisons:
        yield from coverage_lines(compared)


def as_json(outcome: SweepOutcome, questions: tuple[int, int]) -> dict[str, Any]:
    """Return the outcome as JSON values."""
    chosen = outcome.chosen
    values: dict[str, Any] = as_finite(
        {
            "verdict": outcome.verdict,
            "metric": outcome.metric,
            "questions": {"choose": questions[0], "confirm": questions[1]},
            "winner": chosen.cell.masked_values()
            if chosen is not None and outcome.verdict == "winner"
            else None,
            "chosen": None if chosen is None else chosen.cell.masked_values(),
            "confirmed": None
            if outcome.confirmed is None
            else {**asdict(outcome.confirmed), "says": sentence(outcome.confirmed)},
            "says": list(verdict(outcome)),
            "cells": [
                {
                    "options": tried.cell.masked_values(),
                    "label": tried.cell.label,
                    "mean": asdict(tried.mean),
                    "difference": None if tried.difference is None else asdict(tried.difference),
                    "latency": None if tried.latency is None else asdict(tried.latency.ratio),
                    "errors": tried.errors,
                    "run": str(tried.run.path),
                }
                for tried in outcome.tried
            ],
            "runs": [str(run.path) for run in outcome.runs],
        }
    )
    return values


def _row(tried: TriedCell, *, chosen: bool) -> list[str]:
    mean = f"{tried.mean.mean:.3f} ({tried.mean.low:.3f} to {tried.mean.high:.3f})"
    row = tried.difference
    if row is None:
        return ["baseline", tried.cell.label, mean, "", "", "", str(tried.errors)]
    difference = row.difference
    return [
        "chosen" if chosen else "",
        tried.cell.label,
        mean,
        f"{difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})",
        f"{row.p_holm:.3f}",
        f"{tried.latency.ratio.mean:.2f} x" if tried.latency else "",
        str(tried.errors),
    ]
