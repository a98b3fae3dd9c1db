"""`ragkit eval tasks`: which tasks there are, what each asks, and whether its data is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

DATA_VARIABLE = "RAGKIT_EVAL_DATA"


def tasks(
    own: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TASK", help="Task names, or files with tasks of your own (default: all tasks)."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            envvar=DATA_VARIABLE, metavar="DIR", help="Folder with the data of the tasks."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the tasks: name, number of items, method, metric, and the data found or missing.

    Items are counted, and read wholly, where the data is there: a file that is not right shows.
    """
    from ragkit import render
    from ragkit_eval.tasks.listing import listed
    from ragkit_eval.tasks.registry import names

    rows = [listed(name, data) for name in own or names()]
    if json:
        render.print_json(rows)
    else:
        columns = ["task", "items", "method", "metric", "data"]
        render.print_table(columns, [_cells(row) for row in rows], empty="There is no task.")
    if any(row["state"] == "malformed" for row in rows):
        raise typer.Exit(3)


def _cells(row: dict[str, Any]) -> list[str]:
    runs = " (runs code: --execute-code)" if row["executes_code"] else ""
    return [
        row["name"],
        "" if row["items"] is None else f"{row['items']:,}",
        row["method"],
        row["metric"],
        (row["problem"] or row["folder"]) + runs,
    ]
