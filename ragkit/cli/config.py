"""`ragkit config`: the settings, where each value came from; secrets are masked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli.words import say

if TYPE_CHECKING:
    from ragkit.settings.sources import TracedSettings

    Row = tuple[str, str | int | float | None, str]


def config(
    all: Annotated[
        bool, typer.Option("--all", help="Show the settings that have their default values, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the settings that are set and the most common ones; secrets are masked."""
    from ragkit.settings.reference import USUAL
    from ragkit.settings.sources import trace_settings

    traced = trace_settings()
    rows = describe(traced)
    if as_json:
        settings = {name: {"value": value, "origin": origin} for name, value, origin in rows}
        typer.echo(
            json.dumps({"settings": settings, "unknown": dict(traced.unknown)}, ensure_ascii=False)
        )
        return
    rows_shown = [row for row in rows if all or row[2] != "default" or row[0] in USUAL]
    _print_tables(rows_shown)
    if len(rows_shown) < len(rows):
        text = "{number} more settings have their default values: `ragkit config --all` shows them."
        typer.echo("\n" + say(text, number=len(rows) - len(rows_shown)))
    for variable, close in traced.unknown.items():
        text = "Warning: {variable} is not a setting of ragkit."
        suggestion = " " + say("Did you mean {name}?", name=close) if close else ""
        typer.echo(say(text, variable=variable) + suggestion, err=True)


def describe(traced: TracedSettings) -> list[Row]:
    """List (name, value, origin) of every setting; numbers stay numbers, secrets are masked."""
    from ragkit.settings.secrets import masked

    rows: list[Row] = []
    for name, origin in traced.origins.items():
        value = getattr(traced.settings, name)
        if value is not None and not isinstance(value, int | float):
            value = masked(name, value)
        rows.append((name, value, origin))
    return rows


def _print_tables(rows: Iterable[Row]) -> None:
    """Print the settings as ragkit.toml has them, by table."""
    from ragkit.settings.reference import TABLES
    from ragkit.settings.tables import place
    from ragkit.text.printable import printable_line

    lines = [(*place(name), name, value, origin) for name, value, origin in rows]
    width = max(len(key) for _, key, *_ in lines)
    printed = ""
    for table, key, name, value, origin in lines:
        if table != printed:
            typer.echo(f"\n[{table}]")
            printed = table
        default = TABLES[table][name].default or "none"
        text = say(default) if value is None else str(value)
        typer.echo(printable_line(f"{key:{width}}  {text}  ({say(origin)})"))
