"""`ragkit doctor`: every check on a line, with a remedy where one is needed."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli.words import say, sentence

if TYPE_CHECKING:
    from ragkit.upkeep.doctor import Check


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check the database, indexes, models and data; exit code 1 if something is wrong."""
    from ragkit.cli import render
    from ragkit.settings.settings import load_settings
    from ragkit.upkeep.doctor import examine

    settings = load_settings()
    checks = []
    for check in examine(settings):
        checks.append(check)
        if not json:
            _print(check)
    healthy = all(check.ok for check in checks)
    if json:
        render.print_json({"ok": healthy, "checks": [asdict(check) for check in checks]})
    if not healthy:
        raise typer.Exit(1)


def _print(check: "Check") -> None:
    state = "FAIL" if not check.ok else "warn" if check.warning else "ok  "
    name, result = sentence(check.name), sentence(check.found)
    typer.echo(say("{state}  {name}: {text}", state=say(state), name=name, text=result))
    if check.remedy:
        kind = say("note" if check.ok and not check.warning else "remedy")
        typer.echo(say("      {name}: {text}", name=kind, text=sentence(check.remedy)))
