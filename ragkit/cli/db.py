"""`ragkit db`: the database's state, tables and roles, backups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.cli import render
from ragkit.cli.words import counted, say, sentence
from ragkit.errors import UsageError
from ragkit.settings.settings import Settings, load_settings

if TYPE_CHECKING:
    from psycopg import Connection

    from ragkit.store.admin.backup import Content
    from ragkit.store.server.embedded import ServerStatus

app = typer.Typer(
    help="Manage the database: status, tables and roles, backups.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def status(json: JsonOption = False) -> None:
    """Show the state of the database without starting it."""
    from ragkit.store.server import embedded

    settings = load_settings()
    if settings.database_url is not None:
        _print(_server_by_url(settings), json)
    else:
        _print(_shape(embedded.status(settings.home)), json)


@app.command()
def start(json: JsonOption = False) -> None:
    """Start the embedded database; it runs until `ragkit db stop`."""
    from ragkit.store.server import embedded

    _print(_shape(embedded.start(_without_server(load_settings()).home)), json)


@app.command()
def stop(json: JsonOption = False) -> None:
    """Stop the embedded database and close its connections."""
    from ragkit.store.server import embedded

    stopped = embedded.stop(_without_server(load_settings()).home)
    if json:
        cut = stopped.connections or 0
        render.print_json({"stopped": stopped.running, "connections_cut": cut})
    elif not stopped.running:
        typer.echo(say("The embedded database in {folder} is not running.", folder=stopped.folder))
    else:
        typer.echo(say("Stopped the embedded database in {folder}.", folder=stopped.folder))
        if stopped.connections:
            typer.echo(say("Closed connections: {number}", number=stopped.connections))


@app.command()
def prepare(
    citus: Annotated[
        bool, typer.Option("--citus", help="Distribute the tables over a Citus cluster.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Bring the tables up to date and grant rights.

    Programs run as the role in RAGKIT_DATABASE_URL, which is created if necessary; the role in
    RAGKIT_DATABASE_OWNER_URL owns the tables. With RAGKIT_TENANTS=on, row-level security is
    enabled. With --citus, the rows of each tenant are stored on one node of the cluster; the
    database must not be in use meanwhile.
    """
    from ragkit.store.open import prepare_database

    done = prepare_database(load_settings(), citus=citus)
    if json:
        render.print_json({"done": done})
    else:
        for line in done:
            typer.echo(sentence(line))


@app.command()
def move(
    tenant: Annotated[str, typer.Argument(help="Tenant to move.")],
    node: Annotated[str, typer.Argument(help="Node of the cluster, as HOST:PORT.")],
    json: JsonOption = False,
) -> None:
    """Move a tenant to another node of a Citus cluster.

    If other tenants share its shards, it gets shards of its own. With wal_level=logical on every
    node, the tenant can be read and written meanwhile.
    """
    from ragkit.store.connection.citus import move_tenant
    from ragkit.store.open import open_database

    host, _, port = node.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"{node!r} is no node: name it as HOST:PORT, as `ragkit db status` does.")
    with open_database(load_settings()) as database, database.owner() as conn:
        moved = move_tenant(conn, tenant, host, int(port))
    if json:
        render.print_json({"tenant": tenant, "node": node, "moved": moved})
    elif moved:
        typer.echo(say("Moved tenant {name} to {node}.", name=tenant, node=node))
    else:
        typer.echo(say("Tenant {name} is on {node} already.", name=tenant, node=node))


@app.command()
def backup(
    folder: Annotated[Path, typer.Argument(help="Folder to create for the backup.")],
    json: JsonOption = False,
) -> None:
    """Save the whole database, also while it is in use.

    The backup includes row counts and search results, which `restore` compares.
    """
    from ragkit.store.admin import backup as backups

    with _address() as url:
        content = backups.back_up(url, folder)
    done = say("Saved: {folder}", folder=folder)
    _print_content(content, done, len(content.searches), folder=folder, json=json)


@app.command()
def restore(
    folder: Annotated[Path, typer.Argument(help="Folder that `ragkit db backup` created.")],
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the restored rows even if they differ from the backup."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Restore a backup into an empty database, and check it.

    Rows and search results must be the same as in the backup. If rows differ, the differences
    are listed and the database is emptied again; if only search results differ, the rows stay.
    """
    from ragkit.store.admin import backup as backups

    saved = backups.read_content(folder)  # before a database is made for it
    with _address() as url:
        content = backups.restore(url, folder, keep=keep)
    same_searches = len(saved.searches.keys() & content.searches.keys())
    done = say("Restored: {folder}", folder=folder)
    _print_content(content, done, same_searches, folder=folder, json=json)


@contextmanager
def _address() -> Iterator[str]:
    """Yield the address of the settings' database, as the role that owns its tables."""
    settings = load_settings()
    url = settings.database_owner_url or settings.database_url
    if url is not None:
        yield url.get_secret_value()
        return
    from ragkit.store.server.embedded import EmbeddedServer

    with EmbeddedServer.open(settings.home) as server:
        yield server.url


def _print_content(content: Content, done: str, searches: int, *, folder: Path, json: bool) -> None:
    rows = {name: rows for name, (rows, _) in content.tables.items()}
    if json:
        summary = {"folder": str(folder), "tables": rows, "searches": searches}
        render.print_json(summary)
        return
    documents = counted(rows.get("document", 0), "document")
    passages = counted(rows.get("chunk", 0), "passage")
    text = "{documents}, {passages}, {rows} rows in all; test searches: {searches}"
    numbers = {"rows": sum(rows.values()), "searches": searches}
    typer.echo(f"{done}\n" + say(text, documents=documents, passages=passages, **numbers))


def _without_server(settings: Settings) -> Settings:
    if settings.database_url is not None:
        raise UsageError(
            "RAGKIT_DATABASE_URL names a server, which ragkit neither starts nor stops: use"
            " that server's own commands, or unset the variable."
        )
    return settings


def _shape(status: ServerStatus) -> dict[str, Any]:
    return {"kind": "embedded"} | asdict(status) | {"folder": str(status.folder)}


def _server_by_url(settings: Settings) -> dict[str, Any]:
    from ragkit.store.connection.citus import nodes
    from ragkit.store.connection.connect import connect, describe

    assert settings.database_url is not None
    pooler = settings.database_pooler == "transaction"
    with connect(settings.database_url.get_secret_value(), pooler=pooler) as conn:
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
            "read_replica": _replica(settings, conn),
            "nodes": [asdict(node) | {"said": str(node)} for node in nodes(conn)] or None,
        }


def _replica(settings: Settings, primary: Connection[Any]) -> dict[str, Any] | None:
    """Look at the standby that the settings name; None where they name none."""
    from ragkit.store.connection.replica import look

    if settings.database_replica_url is None:
        return None
    url = settings.database_replica_url.get_secret_value()
    pooler, tenants = settings.database_pooler == "transaction", settings.tenants == "on"
    status = look(url, primary, pooler=pooler, tenants=tenants)
    return {"readable": not status.problem, **asdict(status), "said": str(status)}


def _print(values: dict[str, Any], json: bool) -> None:
    if json:
        render.print_json(values)
        return
    present = {name: value for name, value in values.items() if value is not None}
    present["started"] = present.pop("running")
    present["size"] = f"{present.pop('size_bytes') / 1e6:.1f} MB"
    present["kind"] = say(present["kind"])
    cluster = present.pop("nodes", ())
    rows = [[say(name.replace("_", " ")), _text(value)] for name, value in present.items()]
    for node in cluster:
        kind = "coordinator" if node["is_coordinator"] else "node"
        rows.append([say(kind), f"{node['host']}:{node['port']}: {node['said']}"])
    render.print_table([say("database"), ""], rows, empty="")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    if isinstance(value, dict):
        return str(value["said"])
    return str(value)
