"""`ragkit eval report`: runs as a page, a summary for a pull request, or a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragkit_eval.answers import Prices
    from ragkit_eval.report.report import Report

Format = Literal["html", "markdown", "csv"]
ENDINGS: dict[str, Format] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".csv": "csv",
}


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Run files; the first one is the baseline.", metavar="RUN")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="report.html, .md or .csv.  [default: print a summary]"),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="[default: by the ending of --out, else markdown]"),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the page or the summary.")] = "",
    items: Annotated[
        str, typer.Option(metavar="N|all", help="Number of items on the page, disagreements first.")
    ] = "200",
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="IN/OUT", help="Price of a million tokens; once, or for each run in order."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Write runs as one HTML page that opens anywhere, as Markdown, or as CSV.

    Without --out a summary in Markdown is printed. Several runs are compared with the first, as
    'ragkit eval compare' does; runs of different questions are refused.
    """
    from ragkit.render import print_json
    from ragkit_eval.files import write_whole
    from ragkit_eval.record import read_run
    from ragkit_eval.report.report import compared
    from ragkit_eval.report.report import report as made_of
    from ragkit_eval.report.values import report_json

    limit = _limit(items)
    form = _format(out, form, runs)
    prices = [_prices(text) for text in price or ()]
    read = [read_run(path, texts=False) for path in runs]
    # A table has no comparison in it: it takes any runs.
    comparison = compared(read) if form != "csv" or as_json else None
    made = made_of(read, comparison, items=limit if form == "html" else 0, prices=prices)
    if out is not None:
        write_whole(out, _text(made, form, title, to_file=True))
        typer.echo(f"{out}: {_told(made, form)}", err=True)
    if as_json:
        print_json(report_json(made) | {"out": None if out is None else str(out)})
    elif out is None:
        typer.echo(_text(made, form, title), nl=False)


def _limit(items: str) -> int | None:
    from ragkit.errors import UsageError

    if items == "all":
        return None
    if not (items.isascii() and items.isdigit() and len(items) < 10):
        raise UsageError(f"--items {items}: neither a number nor 'all': give one of them")
    return int(items)


def _prices(text: str) -> Prices:
    from ragkit.errors import UsageError
    from ragkit_eval.answers import Prices

    try:
        prompt, completion = (float(part) for part in text.split("/"))
    except ValueError as error:
        raise UsageError(
            f"--price {text}: not the prices of a million tokens, as 0.15/0.6: correct it"
        ) from error
    return Prices(prompt, completion)


def _format(out: Path | None, form: Format | None, runs: Sequence[Path]) -> Format:
    """Decide what to write, and find out before the work what would fail after it."""
    from ragkit.errors import UsageError
    from ragkit_eval.files import check_ending, check_folder

    if out is None:
        return form or "markdown"
    if any(out.absolute() == run.absolute() for run in runs):
        raise UsageError(f"--out {out}: it is one of the runs: choose another name")
    if form is None:
        return ENDINGS[check_ending(out, ENDINGS) and out.suffix.lower()]
    check_folder(out)
    return form


def _text(made: Report, form: Format, title: str, *, to_file: bool = False) -> str:
    from ragkit_eval.report import page, rows, summary

    if form == "csv":
        # Without a byte order mark Excel takes UTF-8 for another encoding.
        return ("\ufeff" if to_file else "") + rows.csv(made.runs)
    if form == "html":
        return page.render(made, title=title)
    return summary.render(made, title=title)


def _told(made: Report, form: Format) -> str:
    if form == "csv":
        return f"{sum(len(run.records) for run in made.runs)} rows"
    if form == "markdown":
        return f"{len(made.runs)} runs, {len(made.tasks)} tasks"
    shown, left_out = len(made.choice.pairs), made.choice.left_out
    return f"{shown} items shown" + (f", {left_out} left out" if left_out else "")
