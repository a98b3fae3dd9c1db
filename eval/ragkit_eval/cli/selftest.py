"""`ragkit eval selftest`: reproduce published scores, and print a table of the results."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit_eval.cli.options import JsonOption

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
    json: JsonOption = False,
) -> None:
    """Check every metric and scorer against outside oracles and negative controls.

    Exit codes: 0 every check that could run has passed, 1 one has failed.
    """
    from ragkit.cli import render
    from ragkit_eval.selftest import selftest as run_checks

    checks = []
    for check in run_checks(data, execute_code=execute_code):
        checks.append(check)
        typer.echo(f"{len(checks)} checked: {check.subject}", err=True)
    if json:
        render.print_json({"checks": [asdict(check) for check in checks]})
    else:
        columns = ["", "what", "against", "expected", "reproduced"]
        render.print_table(columns, [_cells(check) for check in checks], empty="Nothing to check.")
    if any(check.passed is False for check in checks):
        raise typer.Exit(1)


def _cells(check: Check) -> list[str]:
    state = {True: "pass", False: "FAIL", None: "left out"}[check.passed]
    return [state, check.subject, check.oracle, check.expected, check.reproduced]
