"""Write a report as short Markdown, for a pull request. No items are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragkit.report.safe_text import line
from ragkit.report.svg import letter
from ragkit_eval.compare.compare import Comparison
from ragkit_eval.report import numbers
from ragkit_eval.report.figures import Cell, Change, GroupRow, TaskFigures
from ragkit_eval.report.pairs import KINDS, SINGLE
from ragkit_eval.report.report import Report, report
from ragkit_eval.report.sections import latency, verdicts
from ragkit_eval.report.speed import Speed
from ragkit_eval.run.record import Run

_GROUPS = 10  # of each table, those with the largest differences; the page has all


def markdown(runs: Sequence[Run], comparison: Comparison | None, *, title: str = "") -> str:
    """Write runs as a short summary. Raises UsageError and NotFoundError as `read_run` does."""
    return render(report(runs, comparison, items=0), title=title)


def render(report: Report, *, title: str = "") -> str:
    """Write a report as Markdown."""
    parts = [f"## {_escape_markdown(title) or 'Evaluation'}"]
    parts.append(
        "\n".join(
            f"- **{letter(n)}** {_escape_markdown(name)}" for n, name in enumerate(report.names)
        )
    )
    for task in report.tasks:
        parts += _write_task(task, report)
    parts.append(_count_kinds(report))
    parts.append(
        "<sub>Means with 95% intervals, by clusters; errors count 0. Differences are paired by"
        " item, p-values corrected by Holm's method.</sub>"
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _write_task(task: TaskFigures, report: Report) -> Iterator[str]:
    yield f"### {_escape_markdown(task.header.name)}"
    for verdict in verdicts(task, report):
        yield f"**{verdict.kind}**: {_escape_markdown(verdict.text)}"
    present = [n for n, speed in enumerate(task.speeds) if speed]
    later = [n for n in present if any(row.changes[n] for row in task.metrics)]
    head = ["metric", *(letter(n) for n in present), *(f"{letter(n)} − A" for n in later)]
    yield _write_table(
        head,
        [
            [_escape_markdown(row.name), *(_format_cell(row.cells[n]) for n in present)]
            + [_format_change(row.changes[n]) for n in later]
            for row in task.metrics
        ]
        + [
            ["answered", *(_format_answered(task.metrics[0].cells[n]) for n in present)]
            + [""] * len(later),
            ["latency, half / 95%", *(_format_latency(task.speeds[n]) for n in present)]
            + [""] * len(later),
        ],
    )
    if len(task.groups) > 1:
        groups = sorted(task.groups, key=_most_different)[:_GROUPS]
        hidden = len(task.groups) - len(groups)
        yield _write_table(
            [f"group{f' ({hidden} more are not shown)' if hidden else ''}", *head[1:]],
            [
                [_escape_markdown(row.name), *(_format_cell(row.cells[n]) for n in present)]
                + [_format_change(row.changes[n]) for n in later]
                for row in groups
            ],
        )


def _most_different(row: GroupRow) -> float:
    changes = [abs(change.interval.mean) for change in row.changes if change]
    # Without a comparison the worst groups come first.
    return -max(changes) if changes else min(cell.interval.mean for cell in row.cells if cell)


def _count_kinds(report: Report) -> str:
    names = SINGLE if len(report.runs) == 1 else KINDS
    parts = (
        f"{numbers.count(report.choice.all[kind])} {kind}"
        for kind in names
        if report.choice.all.get(kind)
    )
    return "Items: " + (", ".join(parts) or "none yet") + "."


def _format_cell(cell: Cell | None) -> str:
    return f"{cell.interval.mean:.3f} {numbers.interval(cell.interval)}" if cell else "–"


def _format_change(change: Change | None) -> str:
    if change is None:
        return "–"
    p = "" if change.p is None else f", {numbers.p_value(change.p)}"
    text = f"{numbers.signed(change.interval.mean)} {numbers.signed_interval(change.interval)}{p}"
    return text if change.verdict == "unclear" else f"**{text}**"


def _format_answered(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    return (
        f"{numbers.count(cell.answered)} of {numbers.count(cell.expected)},"
        f" {numbers.counted(cell.errors, 'error')}"
    )


def _format_latency(speed: Speed | None) -> str:
    return latency(speed) if speed else "–"


def _write_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    under = ["---", *(["---:"] * (len(head) - 1))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, under, *rows))


def _escape_markdown(text: str) -> str:
    """Escape a text for Markdown: one line, without markup, tags, links or mentions."""
    return _ACTIVE.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), line(text, 600))


# Only characters that act in their place: `[0.1, 0.2]` and `ndcg@10` stay readable.
_ACTIVE = re.compile(
    r"[\\`*~|]|(?<!\w)_|_(?!\w)|\](?=[(\[:])|<(?! )|&(?=[#\w])|@(?!\d)|:(?=//)|(?<=www)\.", re.I
)
# A backslash does not keep a site from linking addresses and mentions.
_ENTITIES = {"<": "&lt;", "&": "&amp;", "@": "&#64;", ":": "&#58;", ".": "&#46;"}
