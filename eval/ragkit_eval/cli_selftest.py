"""`ragkit eval selftest`: what was reproduced of what is known, as one table."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragkit_eval.selftest.check import Check


def selftest(
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with oracles/ and tasks/ (default: none)."),
    ] = None,
    execute_code: Annotated[
        bool, typer.Option("--execute-code", help="Also run HumanEval's programs, in the sandbox.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check every metric and scorer against outside oracles and negative controls.

    Exit codes: 0 all that could be checked is right, 1 something is not.
    """
    from ragkit import render
    from ragkit_eval.selftest import selftest as made

    found = []
    for check in made(data, execute_code=execute_code):
        found.append(check)
        typer.echo(f"{len(found)} checked: {check.subject}", err=True)
    if json:
        render.print_json({"checks": [asdict(check) for check in found]})
    else:
        columns = ["", "what", "against", "expected", "reproduced"]
        render.print_table(columns, [_cells(check) for check in found], empty="Nothing to check.")
    if any(check.passed is False for check in found):
        raise typer.Exit(1)


def _cells(check: Check) -> list[str]:
    state = {True: "pass", False: "FAIL", None: "left out"}[check.passed]
    return [state, check.subject, check.oracle, check.expected, check.reproduced]
