"""`ragkit config`: print each setting, its value and where it came from; secrets are masked.

Knows nothing of how settings are read or of the other commands.
"""

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragkit.settings_origins import TracedSettings


def config(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show each setting, its value and where it came from; secrets are masked."""
    from ragkit.settings_origins import trace_settings

    traced = trace_settings()
    shown = describe(traced)
    if as_json:
        settings = {name: {"value": value, "origin": origin} for name, value, origin in shown}
        typer.echo(
            json.dumps({"settings": settings, "unknown": dict(traced.unknown)}, ensure_ascii=False)
        )
        return
    width = max(len(name) for name, _, _ in shown)
    for name, value, origin in shown:
        text = "-" if value is None else str(value)
        typer.echo(f"{name:{width}}  {text}  ({origin})")
    for variable, close in traced.unknown.items():
        meant = f": did you mean {close}?" if close else "."
        typer.echo(f"Warning: {variable} is not a setting of ragkit{meant}", err=True)


def describe(traced: "TracedSettings") -> list[tuple[str, str | int | float | None, str]]:
    """List (name, value, origin) of every setting; numbers stay numbers, secrets are masked."""
    from ragkit.masking import masked

    rows: list[tuple[str, str | int | float | None, str]] = []
    for name, origin in traced.origins.items():
        value = getattr(traced.settings, name)
        if value is not None and not isinstance(value, int | float):
            value = masked(name, value)
        rows.append((name, value, origin))
    return rows
