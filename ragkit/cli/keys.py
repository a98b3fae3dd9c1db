"""`ragkit keys`: create, list and revoke access keys."""

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.cli import render
from ragkit.cli.words import say
from ragkit.settings.settings import load_settings

if TYPE_CHECKING:
    from ragkit.store.people.keys import StoredKey

app = typer.Typer(
    help="Create, list and revoke access keys.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_COLUMNS = (
    *("id", "name", "tenant", "user", "groups", "scopes", "collections", "state"),
    *("expires", "last used"),
)
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def create(
    name: Annotated[str | None, typer.Argument(help="What the key is for, such as laptop.")] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Tenant of the key (default: the setting RAGKIT_TENANT).")
    ] = None,
    principal: Annotated[
        str | None,
        typer.Option(help="User that the key acts for (default: the setting RAGKIT_PRINCIPAL)."),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="What the key may do: read, write, admin or metrics (repeatable; default: read)."
        ),
    ] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(help="Collection that the key may use (repeatable; default: all)."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="Group whose documents the key may read (repeatable)."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="90d|DATE", help="When the key expires, as days or a date (default: never)."
        ),
    ] = None,
    name_option: Annotated[str | None, typer.Option("--name", hidden=True)] = None,
    json: JsonOption = False,
) -> None:
    """Create a key and print it. It is shown only once: ragkit stores only its hash."""
    from ragkit.access import keys
    from ragkit.store.open import open_database

    name = _name(name, name_option)
    settings = load_settings()
    expires_at = keys.expiry(expires) if expires is not None else None
    with open_database(settings) as database:
        created = keys.create(
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
        values = asdict(created.access) | {"name": name, "expires_at": _time(expires_at)}
        render.print_json({"key": created.secret} | values)
        return
    typer.echo(created.secret)
    text = "Key {id}: save it now, it is not shown again. `ragkit keys revoke {id}` revokes it."
    typer.echo(say(text, id=created.access.id), err=True)


@app.command("list")
def list_(
    tenant: Annotated[str | None, typer.Option(help="Only keys of this tenant.")] = None,
    json: JsonOption = False,
) -> None:
    """List the keys of all tenants, what they may do and whether they are valid."""
    from ragkit.access import keys
    from ragkit.store.open import open_database

    with open_database(load_settings()) as database:
        stored = keys.list_keys(database, tenant=tenant)
    if json:
        render.print_json({"keys": [_key_json(key) for key in stored]})
        return
    columns = [say(name) for name in _COLUMNS]
    render.print_table(columns, [_row(key) for key in stored], empty=say("There are no keys yet."))


@app.command()
def revoke(
    number: Annotated[
        int, typer.Argument(metavar="ID", help="Key number, as listed by `ragkit keys list`.")
    ],
    json: JsonOption = False,
) -> None:
    """Revoke a key at once."""
    from ragkit.access import keys
    from ragkit.store.open import open_database

    with open_database(load_settings()) as database:
        keys.revoke(database, number)
    if json:
        render.print_json({"revoked": number})
    else:
        typer.echo(say("Revoked key {number}.", number=number))


def _name(argument: str | None, option: str | None) -> str:
    """Return the name that was given as an argument, or by --name as in older versions."""
    from ragkit.errors import UsageError

    if (argument is None) == (option is None):
        raise UsageError("give the key one name, such as `ragkit keys create laptop`")
    return argument or option or ""


def _row(key: "StoredKey") -> list[str]:
    return [
        str(key.id),
        key.name,
        key.tenant,
        key.principal,
        ", ".join(key.groups),
        " ".join(key.scopes),
        say("all") if key.collections is None else ", ".join(key.collections),
        say(key.state),
        _time(key.expires_at) or say("never"),
        _time(key.last_used_at) or say("never"),
    ]


def _key_json(key: "StoredKey") -> dict[str, Any]:
    return {
        name: _time(value) if isinstance(value, datetime) else value
        for name, value in asdict(key).items()
    }


def _time(value: datetime | None) -> str | None:
    return value.isoformat(timespec="seconds") if value is not None else None
