"""Runs as one HTML page that loads and runs nothing: curves, figures, verdicts, what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from ragkit import __version__
from ragkit.report.html import make_policy, read_style
from ragkit.report.safe_text import line
from ragkit.report.svg import colour, letter, mark
from ragkit_tune.watch import texts
from ragkit_tune.watch.compare import Comparison, Row, recipe_table, table
from ragkit_tune.watch.figures import figures
from ragkit_tune.watch.series import step_of
from ragkit_tune.watch.summary import Summary

if TYPE_CHECKING:
    import jinja2

_TEMPLATE: Final = "page.html.jinja"
_MOST_EVENTS: Final = 100  # of a run, the last ones; arbitrary
_QUIET: Final = ("checkpoint",)  # written too often to tell anything


def render(comparison: Comparison) -> str:
    """Write runs as the page; one run alone has its recipe there instead of differences."""
    runs = comparison.runs
    style = read_style("colours", "page", "drawing")
    return _template().render(
        title=_title(runs),
        about=_about(runs),
        policy=make_policy(style),
        style=Markup(style),  # noqa: S704  files of ours without `</`
        version=__version__,
        runs=[(n, run) for n, run in enumerate(runs)],
        verdicts=[(n, run.verdict) for n, run in enumerate(runs) if run.verdict],
        notes=[line(note.replace("`", ""), 400) for note in comparison.notes],
        figures=[(f, f.picture(f"curve-{n}")) for n, f in enumerate(figures(runs))],
        table=table(comparison),
        recipe=recipe_table(comparison) if len(runs) > 1 else list(_recipe(runs[0])),
        events=[(n, run, _events(run)) for n, run in enumerate(runs) if _events(run)],
    )


@cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(colour=colour, letter=letter, line=line, mark=mark, texts=texts)
    return environment.get_template(_TEMPLATE)


def _title(runs: Sequence[Summary]) -> str:
    if len(runs) > 2:
        return f"Training runs: {line(runs[0].name, 80)} and {len(runs) - 1} others"
    names = " and ".join(line(run.name, 80) for run in runs)
    return f"Training run{'s' * (len(runs) > 1)}: {names}"


def _about(runs: Sequence[Summary]) -> str:
    begun = sorted({str(run.run.values.get("started_at", ""))[:10] for run in runs} - {""})
    kinds = dict.fromkeys(f"{run.run.kind} from {run.base}" for run in runs)
    when = begun[:1] if len(begun) < 2 else [f"{begun[0]} to {begun[-1]}"]
    return " · ".join(line(part, 200) for part in (*kinds, *when))


def _recipe(run: Summary) -> Iterator[Row]:
    for name, value in run.run.recipe.items():
        yield name, (texts.recipe_value(value),)


def _events(run: Summary) -> list[tuple[int, str]]:
    """Return what a run tells beside its figures. What an event quotes of the rows stays away."""
    events = [(step_of(row), line(str(row["event"]), 300)) for row in run.log.events]
    return [event for event in events if event[1] not in _QUIET][-_MOST_EVENTS:]
