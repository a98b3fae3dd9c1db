"""The report as one HTML file: nothing is fetched, no text in it acts, and it opens anywhere.

It fills the template; what the numbers are and how pictures are drawn is elsewhere.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ragkit import __version__
from ragkit_eval.answers import Prices
from ragkit_eval.compare import Comparison
from ragkit_eval.record import Run
from ragkit_eval.report import numbers
from ragkit_eval.report.facts import facts
from ragkit_eval.report.figures import Cell
from ragkit_eval.report.inert import line
from ragkit_eval.report.items import item_views
from ragkit_eval.report.pairs import KINDS, SINGLE, Choice
from ragkit_eval.report.report import ITEMS, Report, report
from ragkit_eval.report.sections import section
from ragkit_eval.report.svg import letter, mark

if TYPE_CHECKING:
    import jinja2

_FOLDER = Path(__file__).parent
_HOW = (
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
    """Write runs as one self-contained HTML page; the first run is what others are held against.

    `items` are shown at most, the runs' disagreements first; None shows all. The runs' files are
    read again for the texts of these alone. `prices` are each run's, or one for all, and quality
    is then drawn against money. Raises UsageError and NotFoundError as `read_run`.
    """
    return render(report(runs, comparison, items=items, prices=prices), title=title)


def render(made: Report, *, title: str = "") -> str:
    """Write a report's values as the page."""
    style, script = _part("page.css"), _part("page.js")
    names = [_Run(letter(n), line(name, 80)) for n, name in enumerate(made.names)]
    return _template().render(
        title=line(title, 200) or f"Evaluation: {_named(names)}",
        summary=_summary(made),
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704  our own file; `</` stands in neither
        script=Markup(script),  # noqa: S704  our own file
        version=__version__,
        runs=names,
        tasks=[section(n, task, made) for n, task in enumerate(made.tasks)],
        items=item_views(made.choice.pairs, made.extracts),
        items_note=_items_note(made),
        kinds=list(_kinds(made.choice, single=len(made.runs) == 1)),
        filters=list(_filters(made.choice)),
        facts=facts(made.runs),
        facts_note="What the runs' files say of how they were made."
        + (" ≠ marks what is not the same in all of them." if len(made.runs) > 1 else ""),
        how=_HOW,
    )


@cache
def _template() -> jinja2.Template:
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
def _part(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Allow this page's own style and script by their hashes, and nothing else at all."""

    def allowed(part: str) -> str:
        return f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {allowed(style)}; script-src {allowed(script)};"
        " base-uri 'none'; form-action 'none'"
    )


def cell_note(cell: Cell) -> str:
    """Say what a mean is a mean of: items, coverage, errors."""
    return (
        f"{numbers.counted(cell.told, 'item')}, {numbers.share(cell.coverage)} answered,"
        f" {numbers.counted(cell.errors, 'error')}"
    )


def _named(runs: Sequence[_Run]) -> str:
    if len(runs) > 2:
        return f"{runs[0].name} and {len(runs) - 1} others"
    return " and ".join(run.name for run in runs)


def _summary(made: Report) -> str:
    runs = numbers.counted(len(made.runs), "run")
    tasks = numbers.counted(len(made.tasks), "task")
    dates = sorted({run.header.created[:10] for run in made.runs if run.header.created})
    when = line(" to ".join(dict.fromkeys((dates[0], dates[-1])))) if dates else ""
    return " · ".join(part for part in (runs, tasks, when) if part)


def _items_note(made: Report) -> str:
    choice = made.choice
    if not choice.all:
        return "No run has come to any item yet."
    all_items = numbers.counted(sum(choice.all.values()), "item")
    if not choice.left_out:
        return f"Shown: {all_items}, which is all."
    first = "errors" if len(made.runs) == 1 else "disagreements of the runs"
    return (
        f"Shown: {numbers.count(len(choice.pairs))} of {all_items}, {first} first;"
        f" {numbers.count(choice.left_out)} left out"
        " ('--items all' shows every one). Within a kind it is a sample by the hash of the items'"
        " names, the same in every report on this data."
    )


def _kinds(choice: Choice, *, single: bool) -> Iterator[Mapping[str, Any]]:
    for kind, meaning in (SINGLE if single else KINDS).items():
        if choice.all.get(kind):
            yield {
                "name": kind,
                "meaning": meaning,
                "all": choice.all[kind],
                "shown": choice.shown.get(kind, 0),
            }


def _filters(choice: Choice) -> Iterator[tuple[str, str, list[str]]]:
    tasks = dict.fromkeys(line(pair.key[0], 60) for pair in choice.pairs)
    groups = sorted({line(pair.group, 80) for pair in choice.pairs if pair.group})
    kinds = [kind for kind in KINDS if choice.shown.get(kind)]
    if len(tasks) > 1:
        yield "task", "Task", list(tasks)
    if len(groups) > 1:
        yield "group", "Group", groups
    if len(kinds) > 1:
        yield "kind", "Outcome", list(kinds)
