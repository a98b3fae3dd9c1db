"""The report as a short Markdown text: what belongs under a pull request. No item is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragkit_eval.compare import Comparison
from ragkit_eval.record import Run
from ragkit_eval.report import numbers
from ragkit_eval.report.figures import Cell, Change, GroupRow, TaskFigures
from ragkit_eval.report.inert import line
from ragkit_eval.report.pairs import KINDS, SINGLE
from ragkit_eval.report.report import Report, report
from ragkit_eval.report.sections import latency, verdicts
from ragkit_eval.report.speed import Speed
from ragkit_eval.report.svg import letter

_GROUPS = 10  # of each table, those that differ most; the page has all


def markdown(runs: Sequence[Run], comparison: Comparison | None, *, title: str = "") -> str:
    """Write runs as a summary of some lines. Raises UsageError and NotFoundError as `read_run`."""
    return render(report(runs, comparison, items=0), title=title)


def render(made: Report, *, title: str = "") -> str:
    """Write a report's values as Markdown."""
    parts = [f"## {_said(title) or 'Evaluation'}"]
    parts.append("\n".join(f"- **{letter(n)}** {_said(name)}" for n, name in enumerate(made.names)))
    for task in made.tasks:
        parts += _task(task, made)
    parts.append(_kinds(made))
    parts.append(
        "<sub>Means with 95% intervals, by clusters; errors count 0. Differences are paired by"
        " item, p-values corrected by Holm's method.</sub>"
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _task(task: TaskFigures, made: Report) -> Iterator[str]:
    yield f"### {_said(task.header.name)}"
    for verdict in verdicts(task, made):
        yield f"**{verdict.kind}**: {_said(verdict.text)}"
    there = [n for n, speed in enumerate(task.speeds) if speed]
    later = [n for n in there if any(row.changes[n] for row in task.metrics)]
    head = ["metric", *(letter(n) for n in there), *(f"{letter(n)} − A" for n in later)]
    yield _table(
        head,
        [
            [_said(row.name), *(_cell(row.cells[n]) for n in there)]
            + [_change(row.changes[n]) for n in later]
            for row in task.metrics
        ]
        + [
            ["answered", *(_answered(task.metrics[0].cells[n]) for n in there)] + [""] * len(later),
            ["latency, half / 95%", *(_latency(task.speeds[n]) for n in there)] + [""] * len(later),
        ],
    )
    if len(task.groups) > 1:
        told = sorted(task.groups, key=_most_different)[:_GROUPS]
        rest = len(task.groups) - len(told)
        yield _table(
            [f"group{f' ({rest} more are not shown)' if rest else ''}", *head[1:]],
            [
                [_said(row.name), *(_cell(row.cells[n]) for n in there)]
                + [_change(row.changes[n]) for n in later]
                for row in told
            ],
        )


def _most_different(row: GroupRow) -> float:
    changes = [abs(change.interval.mean) for change in row.changes if change]
    # Without a comparison the worst groups are what one looks for.
    return -max(changes) if changes else min(cell.interval.mean for cell in row.cells if cell)


def _kinds(made: Report) -> str:
    names = SINGLE if len(made.runs) == 1 else KINDS
    told = (
        f"{numbers.count(made.choice.all[kind])} {kind}"
        for kind in names
        if made.choice.all.get(kind)
    )
    return "Items: " + (", ".join(told) or "none yet") + "."


def _cell(cell: Cell | None) -> str:
    return f"{cell.interval.mean:.3f} {numbers.interval(cell.interval)}" if cell else "–"


def _change(change: Change | None) -> str:
    if change is None:
        return "–"
    p = "" if change.p is None else f", {numbers.p_value(change.p)}"
    told = f"{numbers.signed(change.interval.mean)} {numbers.signed_interval(change.interval)}{p}"
    return told if change.verdict == "unclear" else f"**{told}**"


def _answered(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    return (
        f"{numbers.count(cell.answered)} of {numbers.count(cell.expected)},"
        f" {numbers.counted(cell.errors, 'error')}"
    )


def _latency(speed: Speed | None) -> str:
    return latency(speed) if speed else "–"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    under = ["---", *(["---:"] * (len(head) - 1))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, under, *rows))


def _said(text: str) -> str:
    """Write a text so that Markdown shows it as it is: one line, no mark, tag, link or mention."""
    return _MARKS.sub(lambda found: _AS.get(found[0], f"\\{found[0]}"), line(text, 600))


# Only what would act where it stands: `[0.1, 0.2]` and `ndcg@10` stay readable as they are.
_MARKS = re.compile(
    r"[\\`*~|]|(?<!\w)_|_(?!\w)|\](?=[(\[:])|<(?! )|&(?=[#\w])|@(?!\d)|:(?=//)|(?<=www)\.", re.I
)
# A backslash does not stop a site from making addresses and names of people into links.
_AS = {"<": "&lt;", "&": "&amp;", "@": "&#64;", ":": "&#58;", ".": "&#46;"}
