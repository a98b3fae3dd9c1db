"""All curves of runs as one SVG file, which a browser or an editor opens by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from ragkit.report.html import read_style
from ragkit.report.safe_text import line
from ragkit.report.svg import element, letter, mark, text
from ragkit_tune.watch.figures import HEIGHT, WIDTH, Figure, figures
from ragkit_tune.watch.summary import Summary

_COLUMNS: Final = 2
_MARGIN: Final = 20
_TITLE: Final = 24  # pixels above a figure
_LEGEND: Final = 22  # pixels of a run's line
_LETTERS: Final = 100  # of a run's line; more would leave the picture
_OWN_STYLE: Final = (
    'svg { font-family: system-ui, "DejaVu Sans", "Noto Sans CJK SC", sans-serif; }'
    " svg .ground { fill: var(--ground); stroke: none; }"
    " svg text.title { font-size: 14px; font-weight: 600; }"
)


def draw(runs: Sequence[Summary]) -> str:
    """Write the curves of runs as an SVG file, light or dark as the reader's system is."""
    drawn = figures(runs)
    columns = min(_COLUMNS, max(1, len(drawn)))
    top = _MARGIN + _LEGEND * len(runs) + 8
    width = _MARGIN + columns * (WIDTH + _MARGIN)
    height = top + -(-len(drawn) // columns) * (_TITLE + HEIGHT + 8) + _MARGIN
    style = Markup(read_style("colours", "drawing") + _OWN_STYLE)  # noqa: S704  files of ours
    picture = element(
        "svg",
        element("title", _title(runs), id="title"),
        element("desc", _describe(runs, drawn), id="desc"),
        element("style", style),
        element("rect", width="100%", height="100%", class_="ground"),
        *(_legend(n, run) for n, run in enumerate(runs)),
        *(_panel(n, figure, columns, top) for n, figure in enumerate(drawn)),
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_labelledby="title desc",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )
    return f"{picture}\n"


def _title(runs: Sequence[Summary]) -> str:
    names = [line(run.name, 80) for run in runs]
    return f"Training run {names[0]}" if len(names) == 1 else f"Training runs {', '.join(names)}"


def _describe(runs: Sequence[Summary], drawn: Sequence[Figure]) -> str:
    if not drawn:
        return "No step was made."
    return ". ".join(f"{figure.title}: {figure.description}" for figure in drawn)


def _legend(n: int, run: Summary) -> Markup:
    y = _MARGIN + _LEGEND * n + 10
    about = f"{letter(n)} · {run.name}: {run.run.kind} from {run.base}, {run.run.state}"
    named = text(line(about, _LETTERS), _MARGIN + 16, y + 4, kind="value")
    return Markup("").join((mark(n, _MARGIN + 5, y), named))


def _panel(n: int, figure: Figure, columns: int, top: int) -> Markup:
    x = _MARGIN + n % columns * (WIDTH + _MARGIN)
    y = top + n // columns * (_TITLE + HEIGHT + 8)
    note = f" ({figure.note})" if figure.note else ""
    return element(
        "g",
        text(line(figure.title + note, 50), 0, 16, kind="title"),
        element("g", figure.drawn, transform=f"translate(0 {_TITLE})"),
        transform=f"translate({x} {y})",
    )
