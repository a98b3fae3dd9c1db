"""Write a report as one HTML file that loads nothing and runs no text of a document or model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ragkit import __version__
from ragkit.report.html import make_policy, read_style
from ragkit.report.safe_text import line
from ragkit.report.svg import letter, mark
from ragkit_eval.answers import Prices
from ragkit_eval.compare.compare import Comparison
from ragkit_eval.report import numbers
from ragkit_eval.report.figures import Cell
from ragkit_eval.report.items import item_views
from ragkit_eval.report.pairs import KINDS, SINGLE, Choice
from ragkit_eval.report.report import ITEMS, Report, report
from ragkit_eval.report.sections import section
from ragkit_eval.report.settings import facts
from ragkit_eval.run.record import Run

if TYPE_CHECKING:
    import jinja2

_FOLDER = Path(__file__).parent
_EXPLANATION = (
    "How to read this: every mean is printed with its 95% interval, found by resampling whole"
    " clusters of items that share a passage or document. An item that ended in an error counts 0"
    " in every mean and is never dropped. Differences are paired by item; a p-value is corrected"
    " by Holm's method for all that were tested together, and a difference without one was not"
    " tested: of twenty such intervals one is expected to miss."
)


@dataclass(frozen=True, slots=True)
class _Run:
    letter: str
    name: str


def html(
    runs: Sequence[Run],
    comparison: Comparison | None,
    *,
    title: str = "",
    items: int | None = ITEMS,
    prices: Sequence[Prices] = (),
) -> str:
    """Write runs as one self-contained HTML page; the first run is the baseline.

    At most `items` items are shown, disagreements of the runs first; None shows all. The run files
    are read again for their texts. `prices` has one entry per run, or one for all, and adds a plot
    of quality against cost. Raises UsageError and NotFoundError as `read_run` does.
    """
    return render(report(runs, comparison, items=items, prices=prices), title=title)


def render(report: Report, *, title: str = "") -> str:
    """Write a report as the page."""
    style = read_style("colours", "page", "drawing") + _read_part("page.css")
    script = _read_part("page.js")
    names = [_Run(letter(n), line(name, 80)) for n, name in enumerate(report.names)]
    return _load_template().render(
        title=line(title, 200) or f"Evaluation: {_join_names(names)}",
        summary=_describe_report(report),
        policy=make_policy(style, script),
        style=Markup(style),  # noqa: S704  files of ours without `</`
        script=Markup(script),  # noqa: S704  a file of this package
        version=__version__,
        runs=names,
        tasks=[section(n, task, report) for n, task in enumerate(report.tasks)],
        items=item_views(report.choice.pairs, report.extracts),
        items_note=_describe_items(report),
        kinds=list(_list_kinds(report.choice, single=len(report.runs) == 1)),
        filters=list(_list_filters(report.choice)),
        facts=facts(report.runs),
        facts_note="What the runs' files say of how they were made."
        + (" ≠ marks what is not the same in all of them." if len(report.runs) > 1 else ""),
        how=_EXPLANATION,
    )


@cache
def _load_template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(
        mark=mark,
        cell_note=cell_note,
        **{
            name: getattr(numbers, name)
            for name in ("count", "counted", "interval", "signed", "signed_interval", "p_value")
        },
    )
    return environment.get_template("page.html.jinja")


@cache
def _read_part(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


def cell_note(cell: Cell) -> str:
    """Describe the items of a mean: their number, coverage and errors."""
    return (
        f"{numbers.counted(cell.items, 'item')}, {numbers.share(cell.coverage)} answered,"
        f" {numbers.counted(cell.errors, 'error')}"
    )


def _join_names(runs: Sequence[_Run]) -> str:
    if len(runs) > 2:
        return f"{runs[0].name} and {len(runs) - 1} others"
    return " and ".join(run.name for run in runs)


def _describe_report(report: Report) -> str:
    runs = numbers.counted(len(report.runs), "run")
    tasks = numbers.counted(len(report.tasks), "task")
    dates = sorted({run.header.created[:10] for run in report.runs if run.header.created})
    when = line(" to ".join(dict.fromkeys((dates[0], dates[-1])))) if dates else ""
    return " · ".join(part for part in (runs, tasks, when) if part)


def _describe_items(report: Report) -> str:
    choice = report.choice
    if not choice.all:
        return "No run has come to any item yet."
    all_items = numbers.counted(sum(choice.all.values()), "item")
    if not choice.left_out:
        return f"Shown: {all_items}, which is all."
    first = "errors" if len(report.runs) == 1 else "disagreements of the runs"
    return (
        f"Shown: {numbers.count(len(choice.pairs))} of {all_items}, {first} first;"
        f" {numbers.count(choice.left_out)} left out"
        " ('--items all' shows every one). Within a kind it is a sample by the hash of the items'"
        " names, the same in every report on this data."
    )


def _list_kinds(choice: Choice, *, single: bool) -> Iterator[Mapping[str, Any]]:
    for kind, meaning in (SINGLE if single else KINDS).items():
        if choice.all.get(kind):
            yield {
                "name": kind,
                "meaning": meaning,
                "all": choice.all[kind],
                "shown": choice.selected.get(kind, 0),
            }


def _list_filters(choice: Choice) -> Iterator[tuple[str, str, list[str]]]:
    tasks = dict.fromkeys(line(pair.key[0], 60) for pair in choice.pairs)
    groups = sorted({line(pair.group, 80) for pair in choice.pairs if pair.group})
    kinds = [kind for kind in KINDS if choice.selected.get(kind)]
    if len(tasks) > 1:
        yield "task", "Task", list(tasks)
    if len(groups) > 1:
        yield "group", "Group", groups
    if len(kinds) > 1:
        yield "kind", "Outcome", list(kinds)
