"""`ragkit jobs`: list, retry and cancel jobs; report runs."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.cli import render
from ragkit.cli.job_report import STAGES
from ragkit.cli.note_words import note_lines
from ragkit.cli.words import counted, say, sentence
from ragkit.settings.settings import load_settings
from ragkit.text.printable import printable_line

if TYPE_CHECKING:
    from datetime import datetime

    from ragkit.cli.job_report import JobReport
    from ragkit.store.jobs.ledger import LedgerJob

app = typer.Typer(
    help="List, show, retry, cancel and report ingestion jobs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="Only jobs of this collection.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_NUMBERS = typer.Argument(metavar="JOB...", help="Job numbers, as listed by `ragkit jobs list`.")


@app.command("list")
def list_(
    collection: CollectionOption = None,
    state: Annotated[
        str | None,
        typer.Option(help="Only jobs in this state: queued, running, done, failed or cancelled."),
    ] = None,
    run: Annotated[int | None, typer.Option(help="Only jobs of this run.")] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="Maximum number of jobs to list.")
    ] = 50,
    before_id: Annotated[
        int | None, typer.Option("--before", help="Only jobs with a lower number than this.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List jobs, newest first; each job reads one file."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        jobs = database.store(settings.tenant).job_ledger.jobs(
            collection=collection, state=state, run=run, before=before_id, limit=limit
        )
    if json:
        render.print_json({"jobs": [_as_json(job) for job in jobs]})
        return
    names = ("job", "collection", "state", "attempts", "stage", "reason", "host", "file")
    columns = [say(name) for name in names]
    rows = [
        [
            *(str(job.id), job.collection, say(job.state), str(job.attempts)),
            *(say(job.stage), sentence(job.reason), job.host, job.uri),
        ]
        for job in jobs
    ]
    render.print_table(columns, rows, empty=say("There are no jobs."))


@app.command()
def show(
    job: Annotated[int, typer.Argument(help="Job number, as listed by `ragkit jobs list`.")],
    json: JsonOption = False,
) -> None:
    """Show the details of a job: its file, its state, when and where it ran, why it failed."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        stored = database.store(settings.tenant).job_ledger.job(job)
    if json:
        render.print_json(_as_json(stored))
        return
    values = _as_json(stored)
    figures = values.pop("figures")
    for name, value in (values | figures).items():
        if value not in (None, "", {}):
            line = say(
                "{name}: {value}", name=say(name.replace("_", " ")), value=_plain(name, value)
            )
            typer.echo(printable_line(line))


@app.command()
def retry(
    jobs: Annotated[list[int] | None, _NUMBERS] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Retry all failed and cancelled jobs.")
    ] = False,
    collection: CollectionOption = None,
    json: JsonOption = False,
) -> None:
    """Queue failed and cancelled jobs again.

    The next `ragkit ingest` of their files, or a running `ragkit worker`, picks them up. An
    uploaded file is deleted when it fails: upload it again.
    """
    from ragkit.errors import UsageError
    from ragkit.store.open import open_database

    if every == bool(jobs) or (jobs and collection):
        raise UsageError(
            "name the jobs by their numbers, or give --all (with or without --collection)"
        )
    settings = load_settings()
    with open_database(settings) as database:
        ledger = database.store(settings.tenant).job_ledger
        queued = ledger.retry_all(collection) if every else sorted(set(jobs or ()))
        if not every:
            ledger.retry(queued)
    _tell("retried", "Queued again: {jobs}", queued, json=json)


@app.command()
def cancel(
    jobs: Annotated[list[int], _NUMBERS],
    json: JsonOption = False,
) -> None:
    """Cancel queued or running jobs; their results are not stored."""
    from ragkit.store.open import open_database

    settings = load_settings()
    numbers = sorted(set(jobs))
    with open_database(settings) as database:
        database.store(settings.tenant).job_ledger.cancel(numbers)
    _tell("cancelled", "Cancelled: {jobs}", numbers, json=json)


@app.command()
def report(
    run: Annotated[int | None, typer.Option(help="Run number (default: the latest run).")] = None,
    collection: CollectionOption = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as HTML to this file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Report what a run did: size, passages and time of each file, and what was left out."""
    from ragkit.cli.job_page import page
    from ragkit.cli.job_report import of_run
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        run_report = of_run(database.store(settings.tenant).job_ledger, run, collection)
    if html is not None:
        _write(html, page(run_report))
    if json:
        render.print_json(run_report.as_json())
    elif html is not None:
        files = counted(len(run_report.files), "file")
        typer.echo(say("Run {run}, {files}: {path}", run=run_report.run, files=files, path=html))
    else:
        _print_report(run_report)


def _write(file: Path, text: str) -> None:
    from ragkit.errors import UsageError
    from ragkit.system.private_files import private

    try:
        with open(file, "w", encoding="utf-8", opener=private) as opened:
            opened.write(text)
    except OSError as error:
        raise UsageError(f"{str(file)!r} cannot be written: {error.strerror}.") from error


def _print_report(report: "JobReport") -> None:
    rows = [
        [
            *(file.uri, say(file.state), f"{file.bytes / 1000:.1f}", str(file.chunks)),
            *(f"{file.seconds.get(stage, 0.0):.3f}" for stage in STAGES),
            sentence(file.reason) or "; ".join(note_lines(file.notes)),
        ]
        for file in report.files
    ]
    stages = [say("{stage} s", stage=say(stage)) for stage in STAGES]
    columns = [say("file"), say("state"), "KB", say("passages"), *stages, say("notes")]
    render.print_table(columns, rows, empty=say("No file had changed in this run."))
    if skipped := report.figures.get("skipped"):
        typer.echo("\n" + say("Skipped: {files}", files=counted(skipped, "file")))
    for file in report.figures.get("skipped_files", ()):
        typer.echo(printable_line(f"  {file['uri']}: {sentence(file['reason'])}"))


def _tell(key: str, text: str, jobs: list[int], *, json: bool) -> None:
    if json:
        render.print_json({key: jobs})
    else:
        typer.echo(say(text, jobs=counted(len(jobs), "job")))


def _plain(name: str, value: object) -> str:
    """Write a figure, or several by name, for people to read."""
    if isinstance(value, Mapping):
        return ", ".join(f"{say(str(name))} {part}" for name, part in value.items())
    if name in {"state", "stage"}:
        return say(str(value))
    return sentence(str(value)) if name == "reason" else str(value)


def _as_json(job: "LedgerJob") -> dict[str, Any]:
    times = ("created_at", "started_at", "finished_at", "updated_at")
    return asdict(job) | {name: _moment(getattr(job, name)) for name in times}


def _moment(moment: "datetime | None") -> str | None:
    return None if moment is None else moment.isoformat()
