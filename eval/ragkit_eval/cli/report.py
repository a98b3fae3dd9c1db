"""`ragkit eval report`: write runs as a page, a Markdown summary or a CSV table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragkit_eval.cli.options import RunFiles

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
    runs: RunFiles,
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
    from ragkit.cli.render import print_json
    from ragkit_eval.report.report import compared
    from ragkit_eval.report.report import report as make_report
    from ragkit_eval.report.values import report_json
    from ragkit_eval.run.files import write_whole
    from ragkit_eval.run.record import read_run

    limit = _parse_limit(items)
    form = _choose_format(out, form, runs)
    prices = [_parse_prices(text) for text in price or ()]
    loaded = [read_run(path, texts=False) for path in runs]
    # A table contains no comparison, so runs of different questions are allowed.
    comparison = compared(loaded) if form != "csv" or as_json else None
    result = make_report(loaded, comparison, items=limit if form == "html" else 0, prices=prices)
    if out is not None:
        write_whole(out, _render(result, form, title, to_file=True))
        typer.echo(f"{out}: {_describe(result, form)}", err=True)
    if as_json:
        print_json(report_json(result) | {"out": None if out is None else str(out)})
    elif out is None:
        typer.echo(_render(result, form, title), nl=False)


def _parse_limit(items: str) -> int | None:
    from ragkit.errors import UsageError

    if items == "all":
        return None
    if not (items.isascii() and items.isdigit() and len(items) < 10):
        raise UsageError(f"--items {items}: not a number and not 'all': give one of them")
    return int(items)


def _parse_prices(text: str) -> Prices:
    from ragkit.errors import UsageError
    from ragkit_eval.answers import Prices

    try:
        prompt, completion = (float(part) for part in text.split("/"))
    except ValueError as error:
        raise UsageError(
            f"--price {text}: not the prices of a million tokens, as 0.15/0.6: correct it"
        ) from error
    return Prices(prompt, completion)


def _choose_format(out: Path | None, form: Format | None, runs: Sequence[Path]) -> Format:
    """Choose the format, and check `out` before the work."""
    from ragkit.errors import UsageError
    from ragkit_eval.run.files import check_ending, check_folder

    if out is None:
        return form or "markdown"
    if any(out.absolute() == run.absolute() for run in runs):
        raise UsageError(f"--out {out}: it is one of the runs: choose another name")
    if form is None:
        return ENDINGS[check_ending(out, ENDINGS) and out.suffix.lower()]
    check_folder(out)
    return form


def _render(report: Report, form: Format, title: str, *, to_file: bool = False) -> str:
    from ragkit_eval.report import page, rows, summary

    if form == "csv":
        # Without a byte order mark Excel takes UTF-8 for another encoding.
        return ("\ufeff" if to_file else "") + rows.csv(report.runs)
    if form == "html":
        return page.render(report, title=title)
    return summary.render(report, title=title)


def _describe(report: Report, form: Format) -> str:
    if form == "csv":
        return f"{sum(len(run.records) for run in report.runs)} rows"
    if form == "markdown":
        return f"{len(report.runs)} runs, {len(report.tasks)} tasks"
    count, left_out = len(report.choice.pairs), report.choice.left_out
    return f"{count} items shown" + (f", {left_out} left out" if left_out else "")
