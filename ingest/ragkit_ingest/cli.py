"""`ragkit ingest`: progress on a terminal, plain lines elsewhere, a table of what failed."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as Bar

    from ragkit.store.vectors import BuildProgress
    from ragkit_ingest.report import IngestReport, Progress

_LINE_EVERY_S = 5.0  # arbitrary: where there is no terminal, a sign of life


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.")],
    collection: Annotated[str | None, typer.Option(help="The collection to fill.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="Parser processes; one per core but one.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Take files and folders into a collection; unchanged files are left alone.

    Exit code 3 when some files failed: the others are stored, and the failures are listed.
    """
    from ragkit import render
    from ragkit_ingest.run import ingest as run

    try:
        with _display() as (on_progress, on_index):
            report = run(
                paths,
                collection=collection,
                jobs=jobs,
                on_progress=on_progress,
                on_index=on_index,
            )
    except KeyboardInterrupt:
        typer.echo(
            "Broken off: what is stored stays; run the same command again to go on.", err=True
        )
        raise typer.Exit(130) from None
    if json:
        render.print_json(report.as_json())
    else:
        _print(report)
    if report.failed:
        raise typer.Exit(3)


def _print(report: IngestReport) -> None:
    from ragkit import render

    rate = f", {report.embedded / report.seconds:.0f} chunks/s" if report.embedded else ""
    typer.echo(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged,"
        f" {report.failed} failed, {report.skipped} skipped (other formats):"
        f" {report.chunks} chunks in {report.seconds:.1f} s{rate}"
    )
    if report.failures:
        rows = [[failure.uri, failure.stage, failure.reason] for failure in report.failures]
        typer.echo("\nNot ingested:")
        render.print_table(["file", "stage", "reason"], rows, empty="")


@contextmanager
def _display() -> Iterator[tuple[Callable[[Progress], None], Callable[[BuildProgress], None]]]:
    """Show files and then an index on standard error, so that standard output stays a result."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from ragkit.cli_index import build_shown

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    disable = not sys.stderr.isatty()
    with Bar(*columns, console=Console(stderr=True), disable=disable, transient=True) as bar:
        yield _lines() if disable else _bar(bar), build_shown(bar)


def _bar(bar: Bar) -> Callable[[Progress], None]:
    task = bar.add_task("files", total=None)

    def show(progress: Progress) -> None:
        rate = f", {_rate(progress):.0f} chunks/s" if progress.chunks else ""
        what = f"files{rate}"
        bar.update(task, description=what, completed=progress.files, total=progress.total)

    return show


def _lines() -> Callable[[Progress], None]:
    last = time.perf_counter()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.perf_counter() - last >= _LINE_EVERY_S:
            last = time.perf_counter()
            left = ""
            if progress.files:
                seconds = progress.seconds / progress.files * (progress.total - progress.files)
                left = f", about {seconds:.0f} s left"
            typer.echo(
                f"{progress.files} of {progress.total} files, {progress.chunks} chunks,"
                f" {_rate(progress):.0f} chunks/s{left}",
                err=True,
            )

    return show


def _rate(progress: Progress) -> float:
    return progress.chunks / max(progress.seconds, 1e-9)
