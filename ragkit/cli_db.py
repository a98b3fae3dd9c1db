"""`ragkit db`: show, start and stop the embedded database. Knows nothing of what is in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit import render
from ragkit.errors import UsageError
from ragkit.settings import Settings, load_settings

if TYPE_CHECKING:
    from ragkit.store.embedded import ServerStatus

app = typer.Typer(
    help="Show, start and stop the embedded database.", no_args_is_help=True, rich_markup_mode=None
)
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def status(json: JsonOption = False) -> None:
    """Show the database's state, without starting it."""
    from ragkit.store import embedded

    settings = load_settings()
    if settings.database_url is not None:
        _print(_server_by_url(settings.database_url.get_secret_value()), json)
    else:
        _print(_shape(embedded.status(settings.home)), json)


@app.command()
def start(json: JsonOption = False) -> None:
    """Start the embedded database, and keep it running until `ragkit db stop`."""
    from ragkit.store import embedded

    _print(_shape(embedded.start(_own(load_settings()).home)), json)


@app.command()
def stop(json: JsonOption = False) -> None:
    """Stop the embedded database, cutting the connections of its users."""
    from ragkit.store import embedded

    before = embedded.stop(_own(load_settings()).home)
    if json:
        cut = before.connections or 0
        render.print_json({"stopped": before.running, "connections_cut": cut})
    elif not before.running:
        typer.echo(f"The embedded database in {before.folder} was not running.")
    else:
        cut_text = f", cutting {before.connections} connections" if before.connections else ""
        typer.echo(f"Stopped the embedded database in {before.folder}{cut_text}.")


def _own(settings: Settings) -> Settings:
    if settings.database_url is not None:
        raise UsageError(
            "RAGKIT_DATABASE_URL names a server, which ragkit neither starts nor stops: use"
            " that server's own commands, or unset the variable."
        )
    return settings


def _shape(found: ServerStatus) -> dict[str, Any]:
    return {"kind": "embedded"} | asdict(found) | {"folder": str(found.folder)}


def _server_by_url(url: str) -> dict[str, Any]:
    from ragkit.store.connect import connect, describe

    with connect(url) as conn:
        facts = describe(conn)
        row = conn.execute("SELECT pg_database_size(current_database())").fetchone()
        info = conn.info
        assert row is not None
        return {
            "kind": "server",
            "running": True,
            "host": info.host,
            "port": info.port,
            "database": info.dbname,
            "user": info.user,
            "size_bytes": row[0],
            "version": facts.postgres,
            "pgvector": facts.pgvector,
            "pgvector_available": facts.pgvector_available,
            "connections": facts.connections,
        }


def _print(found: dict[str, Any], json: bool) -> None:
    if json:
        render.print_json(found)
        return
    shown = {name: value for name, value in found.items() if value is not None}
    shown["size"] = f"{shown.pop('size_bytes') / 1e6:.1f} MB"
    rows = [[name.replace("_", " "), _text(value)] for name, value in shown.items()]
    render.print_table(["database", ""], rows, empty="")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
