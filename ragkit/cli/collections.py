"""`ragkit collections`: list, create and delete them; their metadata keys and options."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli import render
from ragkit.cli.confirm import YesOption, confirm
from ragkit.cli.sharing_text import sharing_cells, sharing_json
from ragkit.cli.words import counted, say, sentence
from ragkit.errors import NOTHING_INGESTED
from ragkit.settings.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ragkit.filters.tree import KeyType

app = typer.Typer(
    help="List, create, rename and delete collections; set their metadata keys and options.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
NameArgument = Annotated[str, typer.Argument(help="Name of the collection.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_(json: JsonOption = False) -> None:
    """List the collections, their sizes and who may read them."""
    from ragkit.store.documents.sharing import Shares, Sharing
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        collections = database.store(settings.tenant).collections()
        shared = Shares(database.pool, settings.tenant).collections()
    sharing = [shared.get(collection.name, Sharing()) for collection in collections]
    if json:
        listed = [
            asdict(collection) | sharing_json(collection_sharing)
            for collection, collection_sharing in zip(collections, sharing, strict=True)
        ]
        render.print_json({"collections": listed})
        return
    rows = [
        [
            collection.name,
            str(collection.documents),
            str(collection.chunks),
            *sharing_cells(collection_sharing),
        ]
        for collection, collection_sharing in zip(collections, sharing, strict=True)
    ]
    columns = [say(column) for column in ("name", "documents", "passages", "owner", "readers")]
    render.print_table(columns, rows, empty=sentence(NOTHING_INGESTED))


@app.command()
def create(name: NameArgument, json: JsonOption = False) -> None:
    """Create a collection; an existing one is left unchanged."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        created = database.store(settings.tenant).create_collection(name)
    if json:
        render.print_json(asdict(created))
    else:
        documents = counted(created.documents, "document")
        text = "Collection {name!r} is ready, with {documents}."
        typer.echo(say(text, name=created.name, documents=documents))


@app.command()
def rename(
    name: NameArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="New name.")],
    json: JsonOption = False,
) -> None:
    """Rename a collection; documents, conversations and access keys keep referring to it."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        database.store(settings.tenant).rename_collection(name, new_name)
    if json:
        render.print_json({"renamed": name, "name": new_name})
    else:
        typer.echo(say("Collection {name!r} is now called {new!r}.", name=name, new=new_name))


@app.command()
def delete(
    name: NameArgument,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Delete a collection and all its documents."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        collections = {collection.name: collection for collection in store.collections()}
        documents = collections[name].documents if name in collections else 0
        if documents and not yes:
            number = counted(documents, "document")
            text = "Delete collection {name!r} with its {documents}?"
            confirm(say(text, name=name, documents=number))
        store.delete_collection(name)
    if json:
        render.print_json({"deleted": name, "documents": documents})
    else:
        text = "Deleted collection {name!r} with its {documents}."
        typer.echo(say(text, name=name, documents=counted(documents, "document")))


@app.command()
def declare(
    name: NameArgument,
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY[:text|number|date]...",
            help="Metadata keys used in filters (default type: text).",
        ),
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option(help="Key to remove from the declared ones (repeatable).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Declare metadata keys so that filters on them use an index, or list the declared keys."""
    from ragkit.store.documents.metadata import MetadataKeys
    from ragkit.store.open import open_database

    declarations = dict(_declared(text) for text in keys or ())
    settings = load_settings()
    with open_database(settings) as database:
        declaring = MetadataKeys(database.pool, settings.tenant)
        forgotten = declaring.forget(name, forget) if forget else []
        if declarations:
            declaring.declare(name, declarations)
        keys_declared = declaring.declared(name)
    for key in forget or ():
        if key not in forgotten:
            message = f"ragkit: {key!r} is no declared key of {name!r}: there was nothing to forget"
            typer.echo(message, err=True)
    if json:
        render.print_json(
            {"collection": name, "keys": [asdict(key_row) for key_row in keys_declared]}
        )
        return
    rows = [
        [key_row.key, key_row.type, str(key_row.documents), str(key_row.others)]
        for key_row in keys_declared
    ]
    columns = [say(column) for column in ("key", "type", "documents", "of another type")]
    empty = say("Collection {name!r} has no declared keys.", name=name)
    render.print_table(columns, rows, empty=empty)


@app.command()
def options(
    name: NameArgument,
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE...", help="Options for reading and splitting files."),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(help="Option to reset to the value in the settings (repeatable)."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Set or show how the files of a collection are read and split.

    Options of a collection take precedence over the settings. Stored files are processed again
    at the next `ragkit ingest`.
    """
    from ragkit.settings import ingest_options
    from ragkit.store.open import open_database

    settings = load_settings()
    values = dict(_option(text) for text in changes or ())
    options_set = {
        key: ingest_options.checked(key, value, settings) for key, value in values.items()
    }
    _check_unset(unset or (), options_set)
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        if options_set or unset:
            options_stored = store.set_ingest_options(name, options_set, unset=unset or ())
        else:
            options_stored = store.ingest_options(name)
    every = ingest_options.options_of(settings, options_stored).as_json()
    if json:
        render.print_json({"collection": name, "own": options_stored, "options": every})
        return
    rows = [
        [key, "" if value is None else str(value), say("set here") if key in options_stored else ""]
        for key, value in every.items()
    ]
    render.print_table([say("option"), say("value"), ""], rows, empty="")


def _option(text: str) -> tuple[str, str]:
    """Read KEY=VALUE."""
    from ragkit.errors import UsageError

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"{text!r} is no option: write KEY=VALUE, such as splitter=structural")
    return key, value


def _check_unset(unset: "Sequence[str]", options_set: "Mapping[str, object]") -> None:
    from ragkit.errors import UsageError
    from ragkit.settings.ingest_options import NAMES

    for key in unset:
        if key not in NAMES:
            raise UsageError(f"There is no option {key!r}: these are {', '.join(NAMES)}.")
        if key in options_set:
            raise UsageError(f"{key!r} is set and unset at once: give one of both")


def _declared(text: str) -> "tuple[str, KeyType]":
    """Read KEY or KEY:TYPE."""
    from ragkit.errors import UsageError
    from ragkit.store.documents.metadata import TYPES

    key, colon, kind = text.rpartition(":")
    if not colon:
        return text, "text"
    if kind not in TYPES:
        raise UsageError(f"{kind!r} of {text!r} is no type: use {', '.join(TYPES)}")
    return key, kind
