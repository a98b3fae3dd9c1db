"""Write a comparison as plain text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from typing import Any

from ragkit_eval.compare.compare import Comparison, Difference
from ragkit_eval.compare.pairing import Coverage
from ragkit_eval.compare.ratios import Ratio
from ragkit_eval.stats.bootstrap import Interval


def sentence(row: Difference, level: float = 0.95) -> str:
    """Describe in one sentence what a row shows."""
    change, interval = _format_signed(row.difference.mean), _format_interval(row.difference, level)
    p_values = f"{_format_p(row.p_holm)}" + (
        "" if row.p == row.p_holm else f" ({_format_p(row.p)} by itself)"
    )
    if row.verdict != "no significant difference":
        sign = 1 if row.verdict == "better" else -1  # how much better, or how much worse
        low, high = sorted((sign * row.difference.low, sign * row.difference.high))
        bounds = f"({level:.0%} {_format_bound(low)} to {_format_bound(high)})"
        size = f"{sign * row.difference.mean:.3f} {bounds}"
        return f"{row.candidate} is {row.verdict} by {size}, {p_values}"
    if row.better == row.worse == 0:
        return f"no difference in any of {_count_items(row.items)}; {_describe_detectable(row)}"
    return (
        f"no significant difference: {change} {interval}, {p_values}; {_describe_detectable(row)}"
    )


def lines(comparison: Comparison) -> Iterator[str]:
    """Yield the comparison as lines of text; the baseline comes first in each row."""
    level = comparison.level
    yield f"Baseline: {comparison.runs[0]}"
    for row in (*comparison.rows, *comparison.groups):
        name = f"{row.task}, {row.group}" if row.group else row.task
        yield f"\n{name}: {row.metric} over {_describe_items(row)}; {row.test}"
        width = max(len(row.baseline), len(row.candidate))
        yield f"  {row.baseline:{width}}  {row.a.mean:.3f} {_format_interval(row.a, level)}"
        yield f"  {row.candidate:{width}}  {row.b.mean:.3f} {_format_interval(row.b, level)}"
        yield f"  {sentence(row, level)}"
        if row.better or row.worse:
            yield f"  {_count_items(row.better)} scored higher, {row.worse} lower"
    if comparison.latencies:
        yield ""
    for ratio in comparison.latencies:
        yield f"{ratio.task}: {ratio_sentence(ratio, level)}"
    remarks = [*coverage_lines(comparison), *comparison.notes]
    if remarks:
        yield ""
    yield from remarks


def markdown(comparison: Comparison) -> str:
    """Write the comparison as Markdown: a table of all rows, then remarks."""
    level = comparison.level
    percent = f"{level:.0%}"
    out = [
        f"## Compared with {cell(comparison.runs[0])}",
        "",
        f"| task | metric | items | baseline ({percent}) | candidate | its mean ({percent})"
        f" | difference ({percent}) | p (Holm) | test | shows from | |",
        "|---|---|---:|---|---|---|---|---:|---|---:|---|",
    ]
    for row in (*comparison.rows, *comparison.groups):
        cells = [
            cell(f"{row.task}, {row.group}" if row.group else row.task),
            cell(row.metric),
            str(row.items),
            f"{row.a.mean:.3f} {_format_bounds(row.a)}",
            cell(row.candidate),
            f"{row.b.mean:.3f} {_format_bounds(row.b)}",
            f"{_format_signed(row.difference.mean)} {_format_bounds(row.difference, signed=True)}",
            f"{row.p_holm:.4f}",
            row.test,
            f"{row.detectable:.3f}" if isfinite(row.detectable) else "never",
            row.verdict,
        ]
        out.append("| " + " | ".join(cells) + " |")
    out.append("")
    out += [
        f"- {cell(ratio.task)}: {cell(ratio_sentence(ratio, level))}"
        for ratio in comparison.latencies
    ]
    out += [f"- {cell(line)}" for line in (*coverage_lines(comparison), *comparison.notes)]
    out += [
        "",
        f"Paired by item; intervals by bootstrap of clusters ({comparison.samples} samples, seed"
        f" {comparison.seed}); p corrected by Holm over the table; “shows from”: the smallest"
        " difference found four times in five. Errors count 0.",
    ]
    return "\n".join(out) + "\n"


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON values; infinite and undefined numbers are null."""
    values: dict[str, Any] = as_finite(asdict(comparison))
    for name in ("rows", "groups"):
        for written, row in zip(values[name], getattr(comparison, name), strict=True):
            written["says"] = sentence(row, comparison.level)
    for written, counted in zip(values["coverage"], comparison.coverage, strict=True):
        written["missing"] = counted.missing
    return values


def coverage_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the gaps of the runs: items without an outcome, errors, items of one run only."""
    for counted in comparison.coverage:
        gaps = ", ".join(_list_gaps(counted))
        if gaps:
            yield f"{counted.run}, {counted.task}: of {counted.items} items {gaps}"
    undefined_metrics: dict[tuple[str, str, int], list[str]] = {}
    for row in comparison.rows:
        if row.undefined:
            key = (row.candidate, row.task, row.undefined)
            undefined_metrics.setdefault(key, []).append(row.metric)
    for (candidate, task, undefined), metrics in undefined_metrics.items():
        yield (
            f"{candidate}, {task}: {', '.join(metrics)} undefined for {_count_items(undefined)}"
            " in one run or both, which are left out"
        )


def ratio_sentence(ratio: Ratio, level: float = 0.95) -> str:
    """Describe the ratio of a candidate's quantity to the baseline's in one sentence."""
    interval = ratio.ratio
    bounds = (
        f" ({level:.0%} {interval.low:.2f} to {interval.high:.2f})"
        if isfinite(interval.high)
        else ""
    )
    return (
        f"{ratio.quantity} of {ratio.candidate} is {interval.mean:.2f} times that of"
        f" {ratio.baseline}{bounds}, the geometric mean over {_count_items(ratio.items)}"
    )


def _list_gaps(counted: Coverage) -> Iterator[str]:
    if counted.missing:
        yield f"{counted.missing} have no outcome and are left out"
    if counted.errors:
        yield f"{counted.errors} ended in an error and count 0"
    if counted.unpaired:
        yield f"{counted.unpaired} have none in the baseline and are left out"


def _count_items(items: int) -> str:
    return f"{items} item{'s' * (items != 1)}"


def _describe_items(row: Difference) -> str:
    independent = row.clusters == row.items
    return _count_items(row.items) + ("" if independent else f" in {row.clusters} clusters")


def _describe_detectable(row: Difference) -> str:
    if row.detectable > 1:  # scores are 0 to 1
        return f"too few independent items ({row.clusters}) to show any"
    return f"this data shows differences of {row.detectable:.3f} or more"


def _format_p(value: float) -> str:
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.2g}"


def _format_signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def _format_interval(interval: Interval, level: float) -> str:
    return f"({level:.0%} {_format_bound(interval.low)} to {_format_bound(interval.high)})"


def _format_bounds(interval: Interval, *, signed: bool = False) -> str:
    write = _format_signed if signed else _format_bound
    return f"({write(interval.low)} to {write(interval.high)})"


def _format_bound(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 0.0005 or not isfinite(value) else "0.000"


def cell(text: str) -> str:
    """Escape characters that would end a cell or a line of Markdown, and HTML."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def as_finite(value: Any) -> Any:
    """Replace infinite and undefined numbers, which JSON lacks, by null at any depth."""
    if isinstance(value, dict):
        return {name: as_finite(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [as_finite(member) for member in value]
    return None if isinstance(value, float) and not isfinite(value) else value
