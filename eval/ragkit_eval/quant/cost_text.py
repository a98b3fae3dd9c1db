"""What quantization costs, in plain words, as Markdown and as JSON. It decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from ragkit_eval.compare_text import as_finite, cell, coverage_lines, sentence
from ragkit_eval.quant.cost import Cost, Costs
from ragkit_eval.ratios import Ratio

COLUMNS = (
    *("model", "task", "metric", "base", "it has", "difference (95%)", "p (Holm)"),
    *("right to wrong", "wrong to right", "same answer", "latency", "tokens/s"),
)


def rows(found: Costs) -> Iterator[list[str]]:
    """Yield a row per candidate, task and metric; what is of the task stands in its first row."""
    for cost in found.costs:
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
                *(_whole(cost) if n == 0 else [""] * 5),
            ]


def sentences(found: Costs) -> Iterator[str]:
    """Yield what each difference shows, then what is not whole."""
    for cost in found.costs:
        for row in cost.rows:
            yield f"{cost.task}, {row.metric}: {sentence(row, found.comparison.level)}"
    yield from coverage_lines(found.comparison)
    yield from found.comparison.notes


def markdown(found: Costs, runs: Sequence[str] = ()) -> str:
    """Write the costs as Markdown."""
    out = [
        f"## What it costs beside {cell(found.base)}",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    out += ["| " + " | ".join(map(cell, row)) + " |" for row in rows(found)]
    out += ["", *(f"- {cell(line)}" for line in sentences(found))]
    out += [
        "",
        "The same items for every model, paired; intervals by bootstrap of clusters"
        f" ({found.comparison.samples} samples, seed {found.comparison.seed}); p corrected by Holm."
        " Latency and tokens/s are the candidate's over the base's, the geometric mean over items:"
        " they depend on the machines and on what else these did.",
    ]
    if runs:
        out += ["", "Runs: " + ", ".join(map(cell, runs))]
    return "\n".join(out) + "\n"


def as_json(found: Costs, runs: Sequence[str] = ()) -> dict[str, Any]:
    """Return the costs as JSON values."""
    values: dict[str, Any] = as_finite(
        {
            "base": found.base,
            "costs": [
                {**asdict(cost), "says": [sentence(row) for row in cost.rows]}
                for cost in found.costs
            ],
            "coverage": [asdict(one) for one in found.comparison.coverage],
            "notes": list(found.comparison.notes),
            "runs": list(runs),
        }
    )
    return values


def _whole(cost: Cost) -> list[str]:
    return [
        str(cost.broken),
        str(cost.fixed),
        f"{cost.agreement:.1%}" if cost.items else "",
        _times(cost.latency),
        _times(cost.tokens_per_s),
    ]


def _times(found: Ratio | None) -> str:
    return f"{found.ratio.mean:.2f} x" if found is not None and isfinite(found.ratio.mean) else ""
