"""`ragkit tune runs`: list, show, log, plot, compare, export, resume, stop and delete runs."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ragkit.cli.confirm import YesOption, confirm
from ragkit_tune import cli_watch

if TYPE_CHECKING:
    from pathlib import Path

    from ragkit_tune.run.folder import Run
    from ragkit_tune.run.log import Log, Progress

_SHORT_CHARS: Final = 60  # of a failure, in the list
_EVERY_S: Final = 10.0  # between two lines of steps
_LONG_S: Final = 90.0  # from which a time is told in minutes

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="List, show, compare, resume and delete runs.",
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The run's name.")]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_command(as_json: AsJsonOption = False) -> None:
    """List all runs, the oldest first."""
    from ragkit.cli.render import print_json
    from ragkit_tune.run.folder import list_runs
    from ragkit_tune.run.log import read_log

    runs = [folder.read() for folder in list_runs(_home())]
    if as_json:
        print_json([_summary(run) for run in runs])
        return
    for run in runs:
        typer.echo(_line(run, most=_SHORT_CHARS))
    if not runs:
        typer.echo("There are no runs yet: ragkit tune embedder -c COLLECTION", err=True)
    trained = [run for run in runs if read_log(run.folder.steps).steps]
    if len(trained) > 1:
        names = " ".join(run.name for run in trained[-2:])
        typer.echo(f"Compare runs: ragkit tune runs compare {names}", err=True)


@app.command()
def show(name: NameArgument, as_json: AsJsonOption = False) -> None:
    """Show a run: its recipe, how it goes or went, and what was measured."""
    from ragkit.cli.render import print_json
    from ragkit_tune.run.folder import find_run
    from ragkit_tune.run.log import read_log, read_progress

    folder = find_run(_home(), name)
    run, log, progress = folder.read(), read_log(folder.steps), read_progress(folder.output)
    if as_json:
        print_json(_details(run, log, progress))
        return
    for line in _describe(run, log, progress):
        typer.echo(line)
    if log.steps:
        typer.echo(f"Its curves: ragkit tune runs plot {name} --out {name}.html", err=True)


@app.command()
def log(
    name: NameArgument,
    last: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Number of lines from the end.")
    ] = 20,
    as_json: AsJsonOption = False,
) -> None:
    """Print the log of a run: steps, measurements and events."""
    from ragkit.cli.render import print_json
    from ragkit.text.printable import printable
    from ragkit_tune.run.folder import find_run
    from ragkit_tune.run.log import describe_entry, read_entries

    entries = read_entries(find_run(_home(), name).steps)[-last:]
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        typer.echo(printable(describe_entry(entry)))


app.command()(cli_watch.plot)
app.command()(cli_watch.compare)
app.command()(cli_watch.export)


@app.command()
def resume(name: NameArgument, as_json: AsJsonOption = False) -> None:
    """Go on with a run from its last checkpoint. Ends with 1 when the run is stopped again."""
    from ragkit.cli.render import print_json
    from ragkit.settings.settings import load_settings
    from ragkit.text.printable import printable
    from ragkit_tune.run.start import resume as resume_run

    settings = load_settings()
    run = resume_run(
        name,
        home=settings.home,
        python=settings.tune_python,
        on_stage=lambda stage: typer.echo(printable(stage), err=True),
        on_step=StepLines(lambda line: typer.echo(line, err=True)),
    )
    if as_json:
        print_json(_summary(run))
    else:
        typer.echo(_line(run))
    if run.state != "finished":
        raise typer.Exit(1)


@app.command()
def stop(name: NameArgument, as_json: AsJsonOption = False) -> None:
    """End a run that goes on. The step at hand is saved, and `runs resume` goes on from it."""
    from ragkit.cli.render import print_json
    from ragkit_tune.run.start import stop as stop_run

    run = stop_run(name, home=_home())
    if as_json:
        print_json(_summary(run))
        return
    typer.echo(_line(run))


@app.command()
def delete(name: NameArgument, yes: YesOption = False, as_json: AsJsonOption = False) -> None:
    """Remove a run with its checkpoints and its model."""
    from ragkit.cli.render import print_json
    from ragkit_tune.run.folder import delete_run, find_run

    folder = find_run(_home(), name)
    if not yes:
        confirm(f"Remove run {name} with its checkpoints and its model?")
    delete_run(folder)
    if as_json:
        print_json({"deleted": name})
        return
    typer.echo(f"Removed run {name}.")


def _home() -> Path:
    from ragkit.settings.settings import load_settings

    return load_settings().home


def _summary(run: Run) -> dict[str, Any]:
    names = ("kind", "state", "started_at", "ended_at", "steps", "failure", "verdict", "adopted")
    values = {name: run.values.get(name) for name in names}
    return {"name": run.name, "folder": str(run.folder.path), **values}


def _details(run: Run, log: Log, progress: Progress | None) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        **run.values,
        "folder": str(run.folder.path),
        "state": run.state,
        "failure": run.failure,
        "progress": asdict(progress) if progress else None,
        "dev": [dict(row) for row in log.measurements],
        "events": [dict(row) for row in log.events],
    }


def _line(run: Run, *, most: int | None = None) -> str:
    """Describe a run in a line, with at most so many characters of why it failed."""
    from textwrap import shorten

    from ragkit.text.printable import printable_line

    base = str(run.values["base"]["name"])
    text = f"{run.name}  {run.state}  {run.kind} from {base}, {run.values['started_at']}"
    if run.failure:
        text += f": {shorten(run.failure, most, placeholder=' ...') if most else run.failure}"
    return printable_line(text)


def _describe(run: Run, log: Log, progress: Progress | None) -> list[str]:
    from ragkit.text.printable import printable_line
    from ragkit_tune.recipe import concerning

    lines = [_line(run), f"folder: {run.folder.path}"]
    if progress:
        lines.append(progress_line(progress, is_over=run.state != "running"))
    for row in log.measurements:
        values = ", ".join(f"{name} {value:.4f}" for name, value in row["dev"].items())
        lines.append(f"dev at step {row.get('step', 0)}: {values}")
    if run.values.get("verdict"):
        lines.append(f"verdict: {run.values['verdict'].get('sentence', '')}")
    settings = concerning(run.recipe)
    recipe = ", ".join(f"{name} = {value}" for name, value in settings.items() if value)
    return [*map(printable_line, lines), printable_line(f"recipe: {recipe}")]


def progress_line(progress: Progress, *, is_over: bool = False) -> str:
    speed = f", {progress.tokens_per_s:.0f} tokens/s" if progress.tokens_per_s else ""
    seconds = progress.left_s
    left = f"{seconds:.0f} s" if seconds <= _LONG_S else f"{seconds / 60:.0f} min"
    end = "" if is_over else f", {left} left"
    return (
        f"step {progress.step} of {progress.steps}: loss {progress.loss:.4f}, gradient norm"
        f" {progress.gradient_norm:.3g}{speed}{end}"
    )


class StepLines:
    """Says the line of a step: of the first, the last, each twentieth part, and every 10 s."""

    def __init__(
        self, say: Callable[[str], None], *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._say = say
        self._clock = clock
        self._said_s = -inf

    def __call__(self, progress: Progress) -> None:
        """Take a step that has ended."""
        now_s = self._clock()
        is_marked = progress.step == progress.steps or not progress.step % max(
            1, progress.steps // 20
        )
        if is_marked or now_s - self._said_s >= _EVERY_S:
            self._said_s = now_s
            self._say(progress_line(progress))
