"""`ragkit keys`: create, list and revoke access keys."""

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit import render
from ragkit.settings import load_settings

if TYPE_CHECKING:
    from ragkit.store.keys import StoredKey

app = typer.Typer(
    help="Create, list and revoke access keys.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def create(
    name: Annotated[str, typer.Option(help="What the key is for, to know it again.")],
    tenant: Annotated[str | None, typer.Option(help="Default: RAGKIT_TENANT.")] = None,
    principal: Annotated[
        str | None, typer.Option(help="Whose conversations. Default: RAGKIT_PRINCIPAL.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="read, write, admin or metrics; give several one by one. Default: read."),
    ] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(help="A collection it may use; give several one by one. Default: all."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="A group whose documents it may read; give several one by one."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="90d|DATE", help="Default: when it is revoked.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Create a key and print it, this once: only its hash is kept."""
    from ragkit import keys
    from ragkit.store.open import open_database

    settings = load_settings()
    expires_at = keys.expiry(expires) if expires is not None else None
    with open_database(settings) as database:
        made = keys.create(
            database,
            name=name,
            tenant=settings.tenant if tenant is None else tenant,
            principal=settings.principal if principal is None else principal,
            scopes=scope or ("read",),
            collections=collection or None,
            expires_at=expires_at,
            groups=group or (),
        )
    if json:
        shown = asdict(made.access) | {"name": name, "expires_at": _time(expires_at)}
        render.print_json({"key": made.secret} | shown)
        return
    typer.echo(made.secret)
    typer.echo(
        f"Key {made.access.id}: keep it now, it is not shown again. `ragkit keys revoke"
        f" {made.access.id}` ends it.",
        err=True,
    )


@app.command("list")
def list_(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's.")] = None,
    json: JsonOption = False,
) -> None:
    """List the keys of every tenant: what each may do, and whether it is valid."""
    from ragkit import keys
    from ragkit.store.open import open_database

    with open_database(load_settings()) as database:
        found = keys.list_keys(database, tenant=tenant)
    if json:
        render.print_json({"keys": [_key_json(key) for key in found]})
        return
    columns = ["id", "name", "tenant", "principal", "groups", "scopes", "collections", "state"]
    rows = [_row(key) for key in found]
    columns += ["expires", "last used"]
    render.print_table(columns, rows, empty="There are no keys yet.")


@app.command()
def revoke(
    number: Annotated[int, typer.Argument(metavar="ID", help="The key's number, as listed.")],
    json: JsonOption = False,
) -> None:
    """Make a key invalid at once."""
    from ragkit import keys
    from ragkit.store.open import open_database

    with open_database(load_settings()) as database:
        keys.revoke(database, number)
    if json:
        render.print_json({"revoked": number})
    else:
        typer.echo(f"Revoked key {number}.")


def _row(key: "StoredKey") -> list[str]:
    return [
        str(key.id),
        key.name,
        key.tenant,
        key.principal,
        ", ".join(key.groups),
        " ".join(key.scopes),
        "all" if key.collections is None else ", ".join(key.collections),
        key.state,
        _time(key.expires_at) or "never",
        _time(key.last_used_at) or "never",
    ]


def _key_json(key: "StoredKey") -> dict[str, Any]:
    return {
        name: _time(value) if isinstance(value, datetime) else value
        for name, value in asdict(key).items()
    }


def _time(value: datetime | None) -> str | None:
    return value.isoformat(timespec="seconds") if value is not None else None
