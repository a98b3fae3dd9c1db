"""A comparison in plain words, as Markdown and as JSON. It decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from typing import Any

from ragkit_eval.compare import Comparison, Difference
from ragkit_eval.pairing import Coverage
from ragkit_eval.ratios import Ratio
from ragkit_eval.stats.bootstrap import Interval


def sentence(row: Difference, level: float = 0.95) -> str:
    """Say in one sentence what a row shows."""
    by, span = _signed(row.difference.mean), _span(row.difference, level)
    p = f"{_p(row.p_holm)}" + ("" if row.p == row.p_holm else f" ({_p(row.p)} by itself)")
    if row.verdict != "no significant difference":
        sign = 1 if row.verdict == "better" else -1  # how much better, or how much worse
        low, high = sorted((sign * row.difference.low, sign * row.difference.high))
        size = f"{sign * row.difference.mean:.3f} ({level:.0%} {_end(low)} to {_end(high)})"
        return f"{row.candidate} is {row.verdict} by {size}, {p}"
    if row.better == row.worse == 0:
        return f"no difference in any of {_counted(row.items)}; {_detectable(row)}"
    return f"no significant difference: {by} {span}, {p}; {_detectable(row)}"


def lines(comparison: Comparison) -> Iterator[str]:
    """Yield the whole comparison as lines of text; the baseline comes first everywhere."""
    level = comparison.level
    yield f"Baseline: {comparison.runs[0]}"
    for row in (*comparison.rows, *comparison.groups):
        name = f"{row.task}, {row.group}" if row.group else row.task
        yield f"\n{name}: {row.metric} over {_items(row)}; {row.test}"
        width = max(len(row.baseline), len(row.candidate))
        yield f"  {row.baseline:{width}}  {row.a.mean:.3f} {_span(row.a, level)}"
        yield f"  {row.candidate:{width}}  {row.b.mean:.3f} {_span(row.b, level)}"
        yield f"  {sentence(row, level)}"
        if row.better or row.worse:
            yield f"  {_counted(row.better)} scored higher, {row.worse} lower"
    if comparison.latencies:
        yield ""
    for ratio in comparison.latencies:
        yield f"{ratio.task}: {ratio_sentence(ratio, level)}"
    remarks = [*coverage_lines(comparison), *comparison.notes]
    if remarks:
        yield ""
    yield from remarks


def markdown(comparison: Comparison) -> str:
    """Write the comparison as Markdown: a table of all rows, then what each shows."""
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
            f"{row.a.mean:.3f} {_ends(row.a)}",
            cell(row.candidate),
            f"{row.b.mean:.3f} {_ends(row.b)}",
            f"{_signed(row.difference.mean)} {_ends(row.difference, signed=True)}",
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
    """Return the comparison as JSON values; what is not finite is null."""
    values: dict[str, Any] = as_finite(asdict(comparison))
    for name in ("rows", "groups"):
        for written, row in zip(values[name], getattr(comparison, name), strict=True):
            written["says"] = sentence(row, comparison.level)
    for written, counted in zip(values["coverage"], comparison.coverage, strict=True):
        written["missing"] = counted.missing
    return values


def coverage_lines(comparison: Comparison) -> Iterator[str]:
    """Yield what is not whole: items without an outcome, errors, items of one run alone."""
    for counted in comparison.coverage:
        said = ", ".join(_missing(counted))
        if said:
            yield f"{counted.run}, {counted.task}: of {counted.items} items {said}"
    untold: dict[tuple[str, str, int], dict[str, None]] = {}
    for row in comparison.rows:
        if row.undefined:
            untold.setdefault((row.candidate, row.task, row.undefined), {})[row.metric] = None
    for (candidate, task, undefined), metrics in untold.items():
        yield (
            f"{candidate}, {task}: {', '.join(metrics)} cannot be told of {_counted(undefined)} in"
            " one run or both, left out there"
        )


def ratio_sentence(ratio: Ratio, level: float = 0.95) -> str:
    """Say how a quantity of the candidate's stands to the baseline's."""
    found = ratio.ratio
    ends = f" ({level:.0%} {found.low:.2f} to {found.high:.2f})" if isfinite(found.high) else ""
    return (
        f"{ratio.quantity} of {ratio.candidate} is {found.mean:.2f} times that of"
        f" {ratio.baseline}{ends}, the geometric mean over {_counted(ratio.items)}"
    )


def _missing(counted: Coverage) -> Iterator[str]:
    if counted.missing:
        yield f"{counted.missing} have no outcome and are left out"
    if counted.errors:
        yield f"{counted.errors} ended in an error and count 0"
    if counted.unpaired:
        yield f"{counted.unpaired} have none in the baseline and are left out"


def _counted(items: int) -> str:
    return f"{items} item{'s' * (items != 1)}"


def _items(row: Difference) -> str:
    alone = row.clusters == row.items
    return _counted(row.items) + ("" if alone else f" in {row.clusters} clusters")


def _detectable(row: Difference) -> str:
    if row.detectable > 1:  # scores are 0 to 1
        return f"too few independent items ({row.clusters}) to show any"
    return f"this data shows differences of {row.detectable:.3f} or more"


def _p(value: float) -> str:
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.2g}"


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def _span(interval: Interval, level: float) -> str:
    return f"({level:.0%} {_end(interval.low)} to {_end(interval.high)})"


def _ends(interval: Interval, *, signed: bool = False) -> str:
    write = _signed if signed else _end
    return f"({write(interval.low)} to {write(interval.high)})"


def _end(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 0.0005 or not isfinite(value) else "0.000"


def cell(text: str) -> str:
    """Escape what would end a cell or a line of Markdown, or be read as HTML."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def as_finite(value: Any) -> Any:
    """Replace numbers that JSON does not have by null, at any depth."""
    if isinstance(value, dict):
        return {name: as_finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
