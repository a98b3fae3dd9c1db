"""`ragkit tune runs plot`, `compare` and `export`: the curves and figures of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragkit_tune.watch.compare import Comparison
    from ragkit_tune.watch.summary import Summary

Program = Literal["tensorboard", "mlflow"]

_PAGES = {".html": "html", ".htm": "html"}
_PICTURES = {**_PAGES, ".svg": "svg"}
NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME...", help="The runs' names.")]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def plot(
    names: NamesArgument,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="A page (.html) or a picture (.svg) to write.")
    ],
    as_json: AsJsonOption = False,
) -> None:
    """Draw the curves of runs over their steps: loss, dev measures, gradient norm, learning rate.

    The file opens in any browser, without a network, and may be drawn while a run goes on.
    """
    from ragkit_tune.watch.compare import compare
    from ragkit_tune.watch.files import check_file, write
    from ragkit_tune.watch.page import render
    from ragkit_tune.watch.picture import draw

    kind = check_file(out, _PICTURES)
    runs = _read(names)
    write(out, (draw(runs) if kind == "svg" else render(compare(runs))).encode())
    _tell([out], as_json)


def compare(
    names: NamesArgument,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with the curves, too.")
    ] = None,
    as_json: AsJsonOption = False,
) -> None:
    """Compare runs: what differs in their recipes, best dev measures, verdicts, time, memory."""
    from ragkit.cli.render import print_json
    from ragkit_tune.watch.compare import compare as compare_runs
    from ragkit_tune.watch.files import check_file, write
    from ragkit_tune.watch.page import render

    if out is not None:
        check_file(out, _PAGES)
    comparison = compare_runs(_read(names, least=2))
    if out is not None:
        write(out, render(comparison).encode())
        typer.echo(f"Wrote {out}", err=True)
    if as_json:
        print_json(comparison.as_json())
        return
    _print(comparison)


def export(
    names: NamesArgument,
    to: Annotated[Program, typer.Option(help="The program that is to show the runs.")],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder to write, which may have runs.")
    ],
    as_json: AsJsonOption = False,
) -> None:
    """Write the curves, recipes and verdicts of runs for TensorBoard or MLflow."""
    from ragkit_tune.watch import mlflow, tensorboard

    runs = _read(names)
    module = tensorboard if to == "tensorboard" else mlflow
    _tell(module.export(runs, out), as_json)
    if not as_json:
        typer.echo(
            f"Open them: tensorboard --logdir {out}"
            if to == "tensorboard"
            else f"Open them: MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri {out}",
            err=True,
        )


def _read(names: Sequence[str], *, least: int = 1) -> list[Summary]:
    from ragkit.settings.settings import load_settings
    from ragkit_tune.run.folder import find_run
    from ragkit_tune.watch.compare import check_names
    from ragkit_tune.watch.summary import summarise

    check_names(names, least=least)
    home = load_settings().home
    return [summarise(find_run(home, name).read()) for name in names]


def _tell(paths: Sequence[Path], as_json: bool) -> None:
    from ragkit.cli.render import print_json
    from ragkit.text.printable import printable_line

    if as_json:
        print_json({"written": [str(path) for path in paths]})
        return
    for path in paths:
        typer.echo(printable_line(f"Wrote {path}"))


def _print(comparison: Comparison) -> None:
    from ragkit.cli.render import print_table
    from ragkit.text.printable import printable_line
    from ragkit_tune.watch.compare import recipe_table, table

    columns = ["", *(run.name for run in comparison.runs)]
    print_table(columns, [[name, *cells] for name, cells in table(comparison)], empty="")
    typer.echo("")
    rows = [[name, *cells] for name, cells in recipe_table(comparison)]
    print_table(["recipe", *columns[1:]], rows, empty="The recipes are the same.")
    for note in comparison.notes:
        typer.echo(printable_line(f"Note: {note}."))
