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
    from ragkit.cli_index import build_display
    from ragkit_ingest.run import ingest as run

    try:
        with _display() as on_progress, build_display() as on_index:
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
def _display() -> Iterator[Callable[[Progress], None]]:
    """Show progress on standard error, so that standard output stays a result."""
    if sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("files"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("files", total=None, rate="")

        def show(progress: Progress) -> None:
            rate = f"{_rate(progress):.0f} chunks/s" if progress.chunks else ""
            bar.update(task, completed=progress.files, total=progress.total, rate=rate)

        yield show


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
