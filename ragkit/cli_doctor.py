"""`ragkit doctor`: every check on a line, with a remedy where one is needed."""

from dataclasses import asdict
from typing import Annotated

import typer


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check database, indexes, models and data; exit code 1 when something is wrong."""
    from ragkit import render
    from ragkit.doctor import examine
    from ragkit.settings import load_settings

    settings = load_settings()
    checks = []
    for check in examine(settings):
        checks.append(check)
        if not json:
            state = "FAIL" if not check.ok else "warn" if check.warning else "ok  "
            typer.echo(f"{state}  {check.name}: {check.found}")
            if check.remedy:
                typer.echo(f"      {'note' if state == 'ok  ' else 'remedy'}: {check.remedy}")
    healthy = all(check.ok for check in checks)
    if json:
        render.print_json({"ok": healthy, "checks": [asdict(check) for check in checks]})
    if not healthy:
        raise typer.Exit(1)
