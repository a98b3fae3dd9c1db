"""Write the cost of quantization as sentences, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from ragkit_eval.compare.compare_text import as_finite, cell, coverage_lines, sentence
from ragkit_eval.compare.ratios import Ratio
from ragkit_eval.quant.cost import Cost, Costs

COLUMNS = (
    *("model", "task", "metric", "base", "it has", "difference (95%)", "p (Holm)"),
    *("right to wrong", "wrong to right", "same answer", "latency", "tokens/s"),
)


def rows(result: Costs) -> Iterator[list[str]]:
    """Yield a row per candidate, task and metric; values of a task are only in its first row."""
    for cost in result.costs:
        for n, row in enumerate(cost.rows):
            difference = row.difference
            yield [
                cost.candidate,
                cost.task,
                row.metric,
                f"{row.a.mean:.3f}",
                f"{row.b.mean:.3f}",
                f"{difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})",
                f"{row.p_holm:.3f}",
                *(_task_cells(cost) if n == 0 else [""] * 5),
            ]


def sentences(result: Costs) -> Iterator[str]:
    """Yield a sentence for each difference, then the items that are missing."""
    for cost in result.costs:
        for row in cost.rows:
            yield f"{cost.task}, {row.metric}: {sentence(row, result.comparison.level)}"
    yield from coverage_lines(result.comparison)
    yield from result.comparison.notes


def markdown(result: Costs, runs: Sequence[str] = ()) -> str:
    """Write the costs as Markdown."""
    out = [
        f"## What it costs beside {cell(result.base)}",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    out += ["| " + " | ".join(map(cell, row)) + " |" for row in rows(result)]
    out += ["", *(f"- {cell(line)}" for line in sentences(result))]
    out += [
        "",
        "The same items for every model, paired; intervals by bootstrap of clusters"
        f" ({result.comparison.samples} samples, seed {result.comparison.seed}); p corrected by"
        " Holm. Latency and tokens/s are the candidate's over the base's, the geometric mean over"
        " items: they depend on the machines and on their other load.",
    ]
    if runs:
        out += ["", "Runs: " + ", ".join(map(cell, runs))]
    return "\n".join(out) + "\n"


def as_json(result: Costs, runs: Sequence[str] = ()) -> dict[str, Any]:
    """Return the costs as JSON values."""
    values: dict[str, Any] = as_finite(
        {
            "base": result.base,
            "costs": [
                {**asdict(cost), "says": [sentence(row) for row in cost.rows]}
                for cost in result.costs
            ],
            "coverage": [asdict(item) for item in result.comparison.coverage],
            "notes": list(result.comparison.notes),
            "runs": list(runs),
        }
    )
    return values


def _task_cells(cost: Cost) -> list[str]:
    return [
        str(cost.broken),
        str(cost.fixed),
        f"{cost.agreement:.1%}" if cost.items else "",
        _ratio_cell(cost.latency),
        _ratio_cell(cost.tokens_per_s),
    ]


def _ratio_cell(ratio: Ratio | None) -> str:
    return f"{ratio.ratio.mean:.2f} x" if ratio is not None and isfinite(ratio.ratio.mean) else ""
