"""`ragkit ingest`: progress on a terminal, plain lines elsewhere, a table of what failed."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragkit.ending import bounded_ending
from ragkit.errors import UsageError
from ragkit.words import counted, say, sentence
from ragkit_ingest.cli_sources import Records, source_options
from ragkit_ingest.summary import failure_lines, skipped_lines, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.progress import Progress as Bar

    from ragkit.store.vectors import BuildProgress
    from ragkit_ingest.queueing import QueueReport
    from ragkit_ingest.report import IngestReport, Progress
    from ragkit_ingest.sources import SourceOptions

_BROKEN_OFF = "Broken off: what is stored stays; run the same command again to go on."
_LINE_EVERY_S = 5.0  # arbitrary: where there is no terminal, a sign of life


def ingest(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PLACE",
            help="Files, folders, URLs; - for standard input.",
        ),
    ],
    collection: Annotated[str | None, typer.Option(help="The collection to fill.")] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Take only what matches, as in .gitignore.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave out what matches, as in .gitignore.")
    ] = None,
    hidden: Annotated[bool, typer.Option(help="Also read hidden files and folders.")] = False,
    meta: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Metadata of every document.")
    ] = None,
    title: Annotated[str, typer.Option(help="The title of a single document.")] = "",
    name: Annotated[str, typer.Option(help="The file name of standard input.")] = "",
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Make each record a document, of this field's text."),
    ] = None,
    title_field: Annotated[str, typer.Option(metavar="FIELD", help="A record's title.")] = "",
    id_field: Annotated[str, typer.Option(metavar="FIELD", help="What names a record.")] = "",
    metadata_field: Annotated[
        list[str] | None, typer.Option(metavar="FIELD", help="Metadata of a record.")
    ] = None,
    sync: Annotated[
        bool, typer.Option("--sync", help="Delete documents whose files have vanished.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Read unchanged files again.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running and read what changes, until Ctrl-C.")
    ] = False,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between looks with --watch.")
    ] = 5.0,
    queue: Annotated[
        bool, typer.Option("--queue", help="Only queue what has changed, for workers.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, help="Parser processes; one per core but one.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="What does the work: this program, or Ray.")
    ] = "local",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read files, folders and other sources into a collection; unchanged files are left alone.

    Several of these commands may run at once, on this machine and others: they share the work.
    `ragkit worker` works on what was queued with --queue and on uploads. Exit code 3 when some
    files failed: the others are stored, and the failures are listed.
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
    from ragkit_ingest.run import ingesting
    from ragkit_ingest.watch import watched

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
    from ragkit import render
    from ragkit.embedders import Embedders
    from ragkit.settings import load_settings
    from ragkit.store.open import open_database
    from ragkit_ingest.queueing import enqueue

    settings = load_settings()
    name = collection or settings.collection
    with open_database(settings) as database:
        done = enqueue(
            *(places, Embedders(settings), database), collection=name, sources=sources, sync=sync
        )
    found = done.found
    if json:
        render.print_json(done.as_json())
    else:
        _print_lines(_queue_lines(done, name))
    if found.failed:
        raise typer.Exit(3)


def _queue_lines(done: QueueReport, collection: str) -> Iterator[str]:
    found = done.found
    yield say("Queued: {files}", files=counted(done.queued, "file"))
    if found.unchanged:
        yield say("Unchanged: {documents}", documents=counted(found.unchanged, "document"))
    if found.deleted:
        yield say("Deleted: {documents}", documents=counted(found.deleted, "document"))
    yield from skipped_lines(found.skipped_by_reason, found.skipped_files)
    yield from failure_lines(found.failures)
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
    from ragkit import render
    from ragkit_ingest.preview import preview

    found = preview(places, collection=collection, sources=sources, sync=sync, force=force)
    if json:
        render.print_json(found.as_json())
        return
    rows = [[say(what), uri, sentence(why)] for uri, what, why in found.would]
    columns = [say(column) for column in ("would", "file", "reason")]
    render.print_table(columns, rows, empty=say("Nothing would be done."))
    if found.unchanged:
        typer.echo(say("Unchanged: {documents}", documents=counted(found.unchanged, "document")))
    _print_lines(skipped_lines(found.skipped.reasons, found.skipped.named))
    typer.echo(say("This was a dry run: nothing was done."))


def _tell_when(report: IngestReport, *, json: bool) -> None:
    """Say when it was, too: who watches looks up hours later."""
    if not json:
        typer.echo(time.strftime("%H:%M:%S"))
    _tell(report, json=json)


def _tell(report: IngestReport, *, json: bool) -> None:
    from ragkit import render

    if json:
        render.print_json(report.as_json())
    else:
        _print_lines(summary(report))


def _print_lines(lines: Iterable[str]) -> None:
    from ragkit.render import printable_line

    for line in lines:
        typer.echo(printable_line(line))


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
        what = say("files")
        if progress.chunks:
            rate = f"{progress.chunks / max(progress.seconds, 1e-9):.0f}"
            what = say("files, {rate} passages/s", rate=rate)
        bar.update(task, description=what, completed=progress.files, total=progress.total)

    return show


def _lines() -> Callable[[Progress], None]:
    last = time.perf_counter()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.perf_counter() - last >= _LINE_EVERY_S:
            last = time.perf_counter()
            line = say("{done} of {total} files", done=progress.files, total=progress.total)
            if progress.files:
                seconds = progress.seconds / progress.files * (progress.total - progress.files)
                line += say(", about {seconds} s left", seconds=f"{seconds:.0f}")
            typer.echo(line, err=True)

    return show
