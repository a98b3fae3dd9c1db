"""`ragkit collections`: list, create and delete collections."""

from dataclasses import asdict
from typing import Annotated

import typer

from ragkit import render
from ragkit.settings import load_settings

app = typer.Typer(
    help="List, create and delete collections.", no_args_is_help=True, rich_markup_mode=None
)
NameArgument = Annotated[str, typer.Argument(help="The collection's name.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_(json: JsonOption = False) -> None:
    """List the collections with what is in them."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        found = database.store(settings.tenant).collections()
    if json:
        render.print_json({"collections": [asdict(collection) for collection in found]})
        return
    rows = [[c.name, str(c.documents), str(c.chunks)] for c in found]
    render.print_table(["name", "documents", "chunks"], rows, empty="There are no collections yet.")


@app.command()
def create(name: NameArgument, json: JsonOption = False) -> None:
    """Create a collection; one that exists stays as it is."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        created = database.store(settings.tenant).create_collection(name)
    if json:
        render.print_json(asdict(created))
    else:
        typer.echo(f"Collection {created.name!r} is there, with {created.documents} documents.")


@app.command()
def delete(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> None:
    """Delete a collection and every document in it."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        found = {collection.name: collection for collection in store.collections()}
        documents = found[name].documents if name in found else 0
        if documents and not yes:
            typer.confirm(f"Delete {name!r} with its {documents} documents?", abort=True, err=True)
        store.delete_collection(name)
    if json:
        render.print_json({"deleted": name, "documents": documents})
    else:
        typer.echo(f"Deleted collection {name!r} with {documents} documents.")
