"""Lay out a task's section of the page: cards, verdicts, figures and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragkit.report.curves import Curve
from ragkit.report.safe_text import line
from ragkit.report.svg import Scale, colour, letter, linear
from ragkit_eval.compare.compare import Difference
from ragkit_eval.report import numbers
from ragkit_eval.report.figures import Cell, GroupRow, MetricRow, Row, TaskFigures
from ragkit_eval.report.plots import forest, lines, scatter
from ragkit_eval.report.report import Report
from ragkit_eval.report.speed import Speed

_METHODS = {
    "letter": "each asked for one letter",
    "loglikelihood": "by the likelihood of every choice",
    "generate": "each answered in writing",
    "rag": "asked of a collection",
}
_FOREST_ROWS = 14  # of all metrics; with more it shows only the first metric


@dataclass(frozen=True, slots=True)
class Card:
    """A run's mean of the first metric, with its cost."""

    run: int
    letter: str
    colour: str
    name: str
    cell: Cell | None
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A comparison's result for a run's first metric, in a sentence."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot and its title."""

    title: str
    drawing: Markup


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table by group: its cells, and the strip that draws them."""

    name: str
    cells: tuple[Cell | None, ...]
    changes: Row
    strip: Markup
    expected: int
    errors: int
    coverage: str
    errors_text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Means by group or slice, drawn on one scale."""

    title: str
    caption: str
    first: str
    strip_title: str
    axis: Markup
    compared: bool
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """The content of a task's section."""

    anchor: str
    name: str
    about: str
    cards: tuple[Card, ...]
    verdicts: tuple[Verdict, ...]
    figures: tuple[Figure, ...]
    compared: bool
    metrics: tuple[MetricRow, ...]
    tables: tuple[Table, ...]


def section(number: int, task: TaskFigures, report: Report) -> Section:
    """Lay out one task."""
    header = task.header
    return Section(
        f"task-{number + 1}",
        line(header.name, 80),
        f"{numbers.counted(header.items, 'item')},"
        f" {_METHODS.get(header.method) or line(header.method, 40)}."
        f" Large is the mean of {line(header.metric, 60)}, by which runs are judged first.",
        tuple(
            _make_card(n, task, report)
            for n in range(len(report.runs))
            if task.speeds[n] is not None
        ),
        tuple(verdicts(task, report)),
        tuple(_make_figures(f"task-{number + 1}", task, report.names)),
        _is_compared(task),
        task.metrics,
        tuple(_make_tables(task)),
    )


def _is_compared(task: TaskFigures) -> bool:
    return any(change for row in task.metrics for change in row.changes)


def _make_card(n: int, task: TaskFigures, report: Report) -> Card:
    cell = task.metrics[0].cells[n]
    facts = []
    if cell:
        facts.append(
            ("answered", f"{numbers.count(cell.answered)} of {numbers.count(cell.expected)}")
        )
        facts.append(("errors", numbers.count(cell.errors)))
    speed = task.speeds[n]
    if speed and speed.seconds:
        facts.append(("latency, half / 95%", latency(speed)))
    if speed and speed.times.first_token_p50 is not None:
        facts.append(("first token, half", numbers.seconds(speed.times.first_token_p50)))
    if speed and speed.tokens is not None:
        facts.append(("tokens an item", numbers.count(speed.tokens)))
    if speed and speed.thousand is not None:
        facts.append(("1,000 items cost", f"{speed.thousand:.3g}"))
    if task.fallbacks[n]:
        facts.append(("read by the second rule", numbers.share(task.fallbacks[n])))
    return Card(n, letter(n), colour(n), line(report.names[n], 80), cell, tuple(facts))


def latency(speed: Speed) -> str:
    """Format the median latency, and the one that 95% of the answers stay below."""
    half, slow = speed.times.p50, speed.times.p95
    if half is None or slow is None:
        return "–"
    return f"{numbers.seconds(half)} / {numbers.seconds(slow)}"


def verdicts(task: TaskFigures, report: Report) -> Iterator[Verdict]:
    """Yield a comparison's results for a task's first metric, and its notes."""
    if report.comparison is None:
        for run in report.runs:
            yield from (Verdict("note", line(note, 600)) for note in run.header.notes)
        return
    for row in report.comparison.rows:
        if (row.task, row.metric) == (task.header.name, task.header.metric):
            number = report.comparison.runs.index(row.candidate)
            yield _make_verdict(row, letter(number))
    for note in report.comparison.notes:
        yield Verdict("note", line(note, 600))


def _make_verdict(row: Difference, run: str) -> Verdict:
    evidence = (
        f"{numbers.signed(row.difference.mean)} {numbers.signed_interval(row.difference)},"
        f" {numbers.p_value(row.p_holm)} ({row.test}, Holm): better on"
        f" {numbers.counted(row.better, 'item')}, worse on {numbers.count(row.worse)}."
    )
    metric = line(row.metric, 60)
    if row.verdict == "no significant difference":
        smallest = numbers.detectable(row.detectable)
        return Verdict(
            "unclear",
            f"No difference between {run} and A is shown in {metric}: {evidence} The smallest that"
            f" these items can show: {smallest}.",
        )
    return Verdict(row.verdict, f"{run} is {row.verdict} than A in {metric}: {evidence}")


def _make_figures(ident: str, task: TaskFigures, names: Sequence[str]) -> Iterator[Figure]:
    metric = line(task.header.metric, 40)
    rows = list(_forest_rows(task))
    if rows:
        title = "Difference to A, with 95% intervals"
        yield Figure(title, forest.forest(f"{ident}-forest", title, rows))
    yield from _make_scatters(ident, task, names, metric)
    curves = [
        Curve(n, names[n], lines.shares(speed.seconds), f"half / 95% by {latency(speed)}")
        for n, speed in enumerate(task.speeds)
        if speed and len(speed.seconds) > 1
    ]
    if curves:
        title = "Share of answers by latency"
        yield Figure(title, lines.latencies(f"{ident}-latencies", title, curves))
    for n, meaning in enumerate(dict.fromkeys(curve.meaning for curve in task.risks if curve)):
        title = "Risk when only the surest are answered"
        risks = [
            Curve(run, names[run], curve.points, f"{curve.points[-1][1]:.3f} when all are answered")
            for run, curve in enumerate(task.risks)
            if curve and curve.meaning == meaning
        ]
        yield Figure(title, lines.risk(f"{ident}-risk-{n}", title, meaning, risks))


def _make_scatters(
    ident: str, task: TaskFigures, names: Sequence[str], metric: str
) -> Iterator[Figure]:
    """Plot quality against each cost that two or more runs have; prices replace tokens."""
    costs: dict[str, tuple[str, Callable[[Speed], float | None], Callable[[float], str]]] = {
        "latency": ("mean seconds an answer", lambda speed: speed.times.mean, numbers.seconds),
        "cost": ("cost of 1,000 items", lambda speed: speed.thousand, lambda value: f"{value:g}"),
        "tokens": ("mean tokens an item", lambda speed: speed.tokens, numbers.count),
    }
    if any(speed and speed.thousand is not None for speed in task.speeds):
        del costs["tokens"]
    for kind, (label, cost_of, format_cost) in costs.items():
        points = []
        for n, (speed, cell) in enumerate(zip(task.speeds, task.metrics[0].cells, strict=True)):
            cost = cost_of(speed) if speed else None
            if cost is not None and cell is not None:
                points.append(scatter.Point(n, names[n], cost, cell.interval))
        if len(points) > 1:
            title = f"{metric} against {kind}"
            drawn = scatter.scatter(f"{ident}-{kind}", title, points, label, metric, format_cost)
            yield Figure(title, drawn)


def _forest_rows(task: TaskFigures) -> Iterator[forest.Row]:
    count = sum(change is not None for row in task.metrics for change in row.changes)
    metrics = task.metrics if count <= _FOREST_ROWS else task.metrics[:1]
    single = len([n for n in range(len(task.speeds)) if n]) == 1
    for row in metrics:
        for n, change in enumerate(row.changes):
            if change:
                name = line(row.name, 30)
                label = name if single else f"{letter(n)} {name}"
                yield forest.Row(label, change.interval, n)


def _make_tables(task: TaskFigures) -> Iterator[Table]:
    metric = line(task.header.metric, 40)
    if task.groups:
        has_tests = any(
            change and change.p is not None for row in task.groups for change in row.changes
        )
        note = " Differences are tested, corrected for all groups together." if has_tests else ""
        yield _make_table(
            f"By group: {metric}",
            f"{numbers.counted(len(task.groups), 'group')}.{note}",
            "group",
            task.groups,
        )
    for tag, rows in task.slices.items():
        name = line(tag, 40)
        yield _make_table(f"By {name}: {metric}", "Intervals only; nothing is tested.", name, rows)


def _make_table(title: str, caption: str, first: str, rows: Sequence[GroupRow]) -> Table:
    compared = any(change for row in rows for change in row.changes)
    # With two runs the strip shows their difference, else the means.
    pair = compared and len(rows[0].cells) == 2
    width = forest.STRIP_WIDTH
    if pair:
        ends = [
            end
            for row in rows
            for change in row.changes
            if change
            for end in (change.interval.low, change.interval.high)
        ]
        scale = linear([0.0, *ends], 16, width - 16, at_least=-1.0, at_most=1.0)
    else:
        scale = Scale(0, 1, 16, width - 16)
    return Table(
        title,
        caption,
        first,
        "B − A, 95% interval" if pair else "mean, 95% interval",
        forest.strip_axis(scale, zero=pair),
        compared,
        tuple(_make_row(row, scale, pair=pair) for row in rows),
    )


def _make_row(row: GroupRow, scale: Scale, *, pair: bool) -> TableRow:
    if pair:
        drawn = [None if change is None else change.interval for change in row.changes[1:]]
    else:
        drawn = [None if cell is None else cell.interval for cell in row.cells]
    present = [cell for cell in row.cells if cell]
    errors = sum(cell.errors for cell in present)
    return TableRow(
        line(row.name, 80),
        row.cells,
        row.changes,
        forest.strip(scale, drawn, zero=pair, run=1 if pair else 0),
        max((cell.expected for cell in present), default=0),
        errors,
        " / ".join(numbers.share(cell.coverage) if cell else "–" for cell in row.cells),
        " / ".join(numbers.count(cell.errors) if cell else "–" for cell in row.cells) + " errors",
    )
