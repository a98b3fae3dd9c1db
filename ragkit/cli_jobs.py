"""`ragkit jobs`: list what is being taken in and what failed, try it again, cancel it."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit import render
from ragkit.job_report import STAGES
from ragkit.note_words import note_lines
from ragkit.settings import load_settings
from ragkit.words import counted, say, sentence

if TYPE_CHECKING:
    from datetime import datetime

    from ragkit.job_report import JobReport
    from ragkit.store.ledger import LedgerJob

app = typer.Typer(
    help="List, show, retry, cancel and report the jobs of ingestion.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
CollectionOption = Annotated[str | None, typer.Option(help="Only those of this collection.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JobsArgument = Annotated[list[int] | None, typer.Argument(metavar="JOB...", help="Their numbers.")]


@app.command("list")
def list_(
    collection: CollectionOption = None,
    state: Annotated[
        str | None,
        typer.Option(help="Only those queued, running, done, failed or cancelled."),
    ] = None,
    run: Annotated[int | None, typer.Option(help="Only those of this run.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="So many at most.")] = 50,
    before: Annotated[int | None, typer.Option(help="Only jobs of lower numbers.")] = None,
    json: JsonOption = False,
) -> None:
    """List jobs, the latest first: one for each file that was to be taken in."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        found = database.store(settings.tenant).job_ledger.jobs(
            collection=collection, state=state, run=run, before=before, limit=limit
        )
    if json:
        render.print_json({"jobs": [_as_json(job) for job in found]})
        return
    columns = ["job", "collection", "state", "attempts", "stage", "reason", "host", "uri"]
    rows = [
        [
            *(str(job.id), job.collection, job.state, str(job.attempts)),
            *(job.stage, job.reason, job.host, job.uri),
        ]
        for job in found
    ]
    render.print_table(columns, rows, empty="There are no such jobs.")


@app.command()
def show(
    job: Annotated[int, typer.Argument(help="The job's number, as listed.")],
    json: JsonOption = False,
) -> None:
    """Show all that is known of a job: its file, who had it and when, why it failed."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        found = database.store(settings.tenant).job_ledger.job(job)
    if json:
        render.print_json(_as_json(found))
        return
    told = _as_json(found)
    figures = told.pop("figures")
    for name, value in (told | figures).items():
        if value not in (None, "", {}):
            typer.echo(render.printable_line(f"{name}: {_plain(value)}"))


@app.command()
def retry(
    jobs: JobsArgument = None,
    every: Annotated[
        bool, typer.Option("--all", help="All that failed or were cancelled.")
    ] = False,
    collection: CollectionOption = None,
    json: JsonOption = False,
) -> None:
    """Queue failed and cancelled jobs again, as if they had never been tried.

    The next `ragkit ingest` of their files takes them, or a worker that waits for jobs. An uploaded
    file that failed is kept no more: it has to be sent again.
    """
    from ragkit.errors import UsageError
    from ragkit.store.open import open_database

    if every == bool(jobs) or (jobs and collection):
        raise UsageError("name the jobs, or give --all, with or without --collection")
    settings = load_settings()
    with open_database(settings) as database:
        ledger = database.store(settings.tenant).job_ledger
        queued = ledger.retry_all(collection) if every else sorted(set(jobs or ()))
        if not every:
            ledger.retry(queued)
    _tell("retried", "queued again", queued, json=json)


@app.command()
def cancel(
    jobs: Annotated[list[int], typer.Argument(metavar="JOB...", help="Their numbers.")],
    json: JsonOption = False,
) -> None:
    """Cancel jobs that are queued or running; what a worker makes of them is not stored."""
    from ragkit.store.open import open_database

    settings = load_settings()
    numbers = sorted(set(jobs))
    with open_database(settings) as database:
        database.store(settings.tenant).job_ledger.cancel(numbers)
    _tell("cancelled", "cancelled", numbers, json=json)


@app.command()
def report(
    run: Annotated[int | None, typer.Option(help="The run's number; the latest one.")] = None,
    collection: CollectionOption = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page of HTML to this file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Report what a run did: of each file its size, chunks, seconds by stage, what was left out."""
    from ragkit.job_page import page
    from ragkit.job_report import of_run
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        found = of_run(database.store(settings.tenant).job_ledger, run, collection)
    if html is not None:
        _write(html, page(found))
    if json:
        render.print_json(found.as_json())
    elif html is not None:
        many = "1 file" if len(found.files) == 1 else f"{len(found.files)} files"
        typer.echo(f"Run {found.run}, {many}: {html}")
    else:
        _print_report(found)


def _write(file: Path, text: str) -> None:
    from ragkit.errors import UsageError
    from ragkit.private_files import private

    try:
        with open(file, "w", encoding="utf-8", opener=private) as opened:
            opened.write(text)
    except OSError as error:
        raise UsageError(f"{str(file)!r} cannot be written: {error.strerror}.") from error


def _print_report(found: "JobReport") -> None:
    rows = [
        [
            *(file.uri, file.state, f"{file.bytes / 1000:.1f}", str(file.chunks)),
            *(f"{file.seconds.get(stage, 0.0):.3f}" for stage in STAGES),
            file.reason or "; ".join(note_lines(file.notes)),
        ]
        for file in found.files
    ]
    columns = ["file", "state", "KB", "chunks", *(f"{stage} s" for stage in STAGES), "notes"]
    render.print_table(columns, rows, empty="Nothing had changed in this run.")
    if skipped := found.figures.get("skipped"):
        typer.echo("\n" + say("Skipped: {files}", files=counted(skipped, "file")))
    for file in found.figures.get("skipped_files", ()):
        typer.echo(render.printable_line(f"  {file['uri']}: {sentence(file['reason'])}"))


def _tell(key: str, said: str, jobs: list[int], *, json: bool) -> None:
    if json:
        render.print_json({key: jobs})
    else:
        typer.echo(f"{len(jobs)} job{'' if len(jobs) == 1 else 's'} {said}.")


def _plain(value: object) -> str:
    """Write a figure, or several by name, for people to read."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)


def _as_json(job: "LedgerJob") -> dict[str, Any]:
    times = ("created_at", "started_at", "finished_at", "updated_at")
    return asdict(job) | {name: _moment(getattr(job, name)) for name in times}


def _moment(moment: "datetime | None") -> str | None:
    return None if moment is None else moment.isoformat()
