"""`ragkit eval tasks`: list the tasks, and whether their data is available."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ragkit_eval.cli.options import DataFolder, JsonOption


def tasks(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TASK", help="Task names, or files with tasks of your own (default: all tasks)."
        ),
    ] = None,
    data: DataFolder = None,
    json: JsonOption = False,
) -> None:
    """List the tasks: name, items, method, metric, data found or missing, and what else they need.

    Items are read and counted where the data is available, so that a malformed file is reported.
    """
    from ragkit.cli import render
    from ragkit_eval.tasks.listing import listed
    from ragkit_eval.tasks.registry import names

    rows = [listed(name, data) for name in tasks or names()]
    if json:
        render.print_json(rows)
    else:
        columns = ["task", "items", "method", "metric", "data"]
        render.print_table(columns, [_cells(row) for row in rows], empty="There is no task.")
    if any(row["state"] == "malformed" for row in rows):
        raise typer.Exit(3)


def _cells(row: dict[str, Any]) -> list[str]:
    needs = f" ({'; '.join(row['needs'])})" if row["needs"] else ""
    return [
        row["name"],
        "" if row["items"] is None else f"{row['items']:,}",
        row["method"],
        row["metric"],
        (row["problem"] or row["folder"]) + needs,
    ]
