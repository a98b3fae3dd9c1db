"""`ragkit ingest`: progress on a terminal, plain lines elsewhere, a table of what failed."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragkit.cli.words import counted, say, sentence
from ragkit.errors import UsageError
from ragkit.system.ending import bounded_ending
from ragkit_ingest.cli.sources import Records, source_options
from ragkit_ingest.cli.summary import failure_lines, skipped_lines, summary
from ragkit_ingest.run.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.progress import Progress as Bar

    from ragkit.store.vectors import BuildProgress
    from ragkit_ingest.run.report import IngestReport, Progress
    from ragkit_ingest.sources import SourceOptions
    from ragkit_ingest.worker.enqueue import QueueReport

_BROKEN_OFF = "Broken off: what is stored stays; run the same command again to go on."
_LINE_EVERY_S = 5.0  # arbitrary: where there is no terminal, a sign of life


def ingest(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PLACE",
            help="Files, folders or URLs; - reads standard input.",
        ),
    ],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection to read into.")
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="Read only files that match this pattern (.gitignore syntax; repeatable)."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Skip files that match this pattern (.gitignore syntax; repeatable)."),
    ] = None,
    hidden: Annotated[bool, typer.Option(help="Read hidden files and folders, too.")] = False,
    meta: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Metadata to store with every document (repeatable)."
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the document, for a single file.")] = "",
    name: Annotated[str, typer.Option(help="File name for standard input.")] = "",
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Field that holds the text of a record; each record becomes a "
            "document (repeatable).",
        ),
    ] = None,
    title_field: Annotated[
        str, typer.Option(metavar="FIELD", help="Field that holds the title of a record.")
    ] = "",
    id_field: Annotated[
        str, typer.Option(metavar="FIELD", help="Field that holds the id of a record.")
    ] = "",
    metadata_field: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Field to store as metadata of a record (repeatable)."),
    ] = None,
    sync: Annotated[
        bool, typer.Option("--sync", help="Delete documents whose files no longer exist.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Read files again even if they have not changed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done without doing it.")
    ] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Keep running and read files as they change, until Ctrl-C."),
    ] = False,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between checks with --watch.")
    ] = 5.0,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue", help="Queue changed files for `ragkit worker` instead of reading them now."
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="Number of parser processes (default: number of cores minus one)."
        ),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Where the work runs: in this program, or on a Ray cluster."),
    ] = "local",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read files, folders and other sources into a collection; unchanged files are skipped.

    You can run several of these commands at once, on this machine and others: they share the
    work. `ragkit worker` reads files queued with --queue and uploaded files. Exit code 3 means
    that some files failed: the others are stored, and the failures are listed.
    """
    if queue and (force or watch or engine != "local"):
        raise UsageError("--queue goes with neither --force, --watch nor --engine ray.")
    records = Records(text or [], title_field, id_field, metadata_field or [])
    sources = source_options(records, include, exclude, meta, hidden=hidden, title=title, name=name)
    if dry_run:
        _preview(places, collection, sources, sync=sync, force=force, json=json)
        return
    if queue:
        _queue(places, collection, sources, sync=sync, json=json)
        return
    try:
        with bounded_ending(_BROKEN_OFF):
            report = _run(
                *(places, collection, sources),
                jobs=jobs,
                sync=sync,
                force=force,
                engine=engine,
                every_s=every if watch else None,
                json=json,
            )
    except KeyboardInterrupt:
        typer.echo(say(_BROKEN_OFF), err=True)
        raise typer.Exit(130) from None
    _tell(report, json=json)
    if report.failed:
        raise typer.Exit(3)


def _run(
    places: Sequence[str],
    collection: str | None,
    sources: SourceOptions,
    *,
    jobs: int | None,
    sync: bool,
    force: bool,
    engine: Literal["local", "ray"],
    every_s: float | None,
    json: bool,
) -> IngestReport:
    """Take everything in, once or, with `every_s`, for good."""
    from ragkit_ingest.run.run import ingesting
    from ragkit_ingest.worker.watch import watched

    with (
        _display() as (on_progress, on_index),
        ingesting(
            *(places, collection),
            jobs=jobs,
            sources=sources,
            sync=sync,
            force=force,
            engine=engine,
            watch=every_s is not None,
            on_progress=on_progress,
            on_index=on_index,
        ) as look,
    ):
        if every_s is not None:
            watched(look, partial(_tell_when, json=json), every_s=every_s)
        return look()


def _queue(
    places: Sequence[str],
    collection: str | None,
    sources: SourceOptions,
    *,
    sync: bool,
    json: bool,
) -> None:
    from ragkit.cli import render
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.settings import load_settings
    from ragkit.store.open import open_database
    from ragkit_ingest.worker.enqueue import enqueue

    settings = load_settings()
    name = collection or settings.collection
    with open_database(settings) as database:
        done = enqueue(
            *(places, Embedders(settings), database), collection=name, sources=sources, sync=sync
        )
    others = done.others
    if json:
        render.print_json(done.as_json())
    else:
        _print_lines(_queue_lines(done, name))
    if others.failed:
        raise typer.Exit(3)


def _queue_lines(done: QueueReport, collection: str) -> Iterator[str]:
    others = done.others
    yield say("Queued: {files}", files=counted(done.queued, "file"))
    if others.unchanged:
        yield say("Unchanged: {documents}", documents=counted(others.unchanged, "document"))
    if others.deleted:
        yield say("Deleted: {documents}", documents=counted(others.deleted, "document"))
    yield from skipped_lines(others.skipped_by_reason, others.skipped_files)
    yield from failure_lines(others.failures)
    waiting = counted(done.waiting, "file")
    yield say("Waiting in collection {name!r}: {files}", name=collection, files=waiting)
    if done.waiting:
        yield say("`ragkit worker` reads them.")


def _preview(
    places: Sequence[str],
    collection: str | None,
    sources: SourceOptions,
    *,
    sync: bool,
    force: bool,
    json: bool,
) -> None:
    from ragkit.cli import render
    from ragkit_ingest.worker.preview import preview

    planned = preview(places, collection=collection, sources=sources, sync=sync, force=force)
    if json:
        render.print_json(planned.as_json())
        return
    rows = [[say(action), uri, sentence(why)] for uri, action, why in planned.would]
    columns = [say(column) for column in ("would", "file", "reason")]
    render.print_table(columns, rows, empty=say("Nothing would be done."))
    if planned.unchanged:
        typer.echo(say("Unchanged: {documents}", documents=counted(planned.unchanged, "document")))
    _print_lines(skipped_lines(planned.skipped.reasons, planned.skipped.named))
    typer.echo(say("This was a dry run: nothing was done."))


def _tell_when(report: IngestReport, *, json: bool) -> None:
    """Say when it was, too: who watches looks up hours later."""
    if not json:
        typer.echo(time.strftime("%H:%M:%S"))
    _tell(report, json=json)


def _tell(report: IngestReport, *, json: bool) -> None:
    from ragkit.cli import render

    if json:
        render.print_json(report.as_json())
    else:
        _print_lines(summary(report))


def _print_lines(lines: Iterable[str]) -> None:
    from ragkit.text.printable import printable_line

    for line in lines:
        typer.echo(printable_line(line))


@contextmanager
def _display() -> Iterator[tuple[Callable[[Progress], None], Callable[[BuildProgress], None]]]:
    """Show files and then an index on standard error, so that standard output stays a result."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    from ragkit.cli.index import build_shown

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
    )
    disable = not sys.stderr.isatty()
    with Bar(*columns, console=Console(stderr=True), disable=disable, transient=True) as bar:
        yield _lines() if disable else _bar(bar), build_shown(bar)


def _bar(bar: Bar) -> Callable[[Progress], None]:
    task = bar.add_task("files", total=None)
    estimate = Estimate()

    def show(progress: Progress) -> None:
        what = say("files")
        if progress.chunks:
            rate = f"{progress.chunks / max(progress.seconds, 1e-9):.0f}"
            what = say("files, {rate} passages/s", rate=rate)
        if remaining := _remaining(estimate.remaining_s(progress)):
            what += f", {remaining}"
        bar.update(task, description=what, completed=progress.files, total=progress.total)

    return show


def _lines() -> Callable[[Progress], None]:
    last = time.perf_counter()
    estimate = Estimate()

    def show(progress: Progress) -> None:
        nonlocal last
        remaining = _remaining(estimate.remaining_s(progress))
        if time.perf_counter() - last >= _LINE_EVERY_S:
            last = time.perf_counter()
            line = say("{done} of {total} files", done=progress.files, total=progress.total)
            typer.echo(f"{line}, {remaining}" if remaining else line, err=True)

    return show


def _remaining(seconds: float | None) -> str:
    return "" if seconds is None else say("about {seconds} s left", seconds=f"{seconds:.0f}")
