"""`ragkit eval import`: read the logs of other evaluation programs as a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.text.printable import printable
from ragkit_eval.cli.options import JsonOption

if TYPE_CHECKING:
    from ragkit_eval.imported.task import ImportedTask


def import_runs(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG",
            help="samples_*.jsonl of lm-evaluation-harness, or its folder; .json or .eval of"
            " Inspect.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="RUN.jsonl", help="Run file to write.")],
    name: Annotated[
        str, typer.Option(help="Name of the run in tables (default: the model's).")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Read logs of lm-evaluation-harness or Inspect as a run for compare, gate and report.

    Each log is a task; all are of one model. lm-evaluation-harness writes such logs with
    --log_samples.
    """
    from ragkit.cli import render
    from ragkit_eval.imported.read import read_logs
    from ragkit_eval.imported.task import run_text
    from ragkit_eval.run.files import check_folder, write_whole

    check_folder(out)
    if out.resolve() in [path.resolve() for path in logs]:
        raise typer.BadParameter(f"--out {out} is one of the logs: name another file")
    tasks = read_logs(logs)
    write_whole(out, run_text(tasks, label=name, default_name=out.stem))
    if as_json:
        render.print_json([_make_json(task) for task in tasks])
    else:
        _print(tasks)


def _make_json(task: ImportedTask) -> dict[str, object]:
    return {
        "task": task.name,
        "model": task.model,
        "items": len(task.samples),
        "errors": _count_errors(task),
        "metrics": list(task.metrics),
        "left_out": list(task.left_out),
        "notes": list(task.notes),
    }


def _print(tasks: Sequence[ImportedTask]) -> None:
    from ragkit.cli import render

    rows = [
        [
            printable(task.name),
            str(len(task.samples)),
            str(_count_errors(task)),
            printable(", ".join(task.metrics) or "none: left out"),
        ]
        for task in tasks
    ]
    render.print_table(["task", "items", "errors", "metrics"], rows, empty="")
    for task in tasks:
        if task.left_out:
            typer.echo(
                printable(
                    f"{task.name}: left out, because the log has no number for each item:"
                    f" {', '.join(task.left_out)}"
                )
            )
        for note in task.notes:
            typer.echo(printable(note), err=True)


def _count_errors(task: ImportedTask) -> int:
    return sum(bool(sample.error) for sample in task.samples)
