"""`ragkit documents`: list, show and delete documents."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from ragkit import render
from ragkit.settings import load_settings

app = typer.Typer(
    help="List, show and delete documents.", no_args_is_help=True, rich_markup_mode=None
)
CollectionOption = Annotated[str | None, typer.Option(help="The collection.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DocumentArgument = Annotated[int, typer.Argument(help="The document's number, as listed.")]


@app.command("list")
def list_(collection: CollectionOption = None, json: JsonOption = False) -> None:
    """List a collection's documents."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        found = database.store(settings.tenant).documents(collection or settings.collection)
    if json:
        render.print_json({"documents": [asdict(document) for document in found]})
        return
    columns = ["id", "title", "language", "version", "chunks", "chars", "uri"]
    rows = [[str(getattr(document, column)) for column in columns] for document in found]
    render.print_table(columns, rows, empty="The collection is empty.")


@app.command()
def show(document: DocumentArgument, json: JsonOption = False) -> None:
    """Print a document's stored text, the one that citations count in."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        found, text = store.document(document), store.text(document)
    if json:
        render.print_json(asdict(found) | {"text": text})
    else:
        typer.echo(render.printable(text) if sys.stdout.isatty() else text)


@app.command()
def delete(
    documents: Annotated[list[int], typer.Argument(help="The documents' numbers, as listed.")],
    collection: CollectionOption = None,
    json: JsonOption = False,
) -> None:
    """Delete documents everywhere at once: text, vectors, words."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        found = [store.document(number) for number in documents]  # all, before one is deleted
        for document in found:
            store.delete_document(collection or document.collection, document.id)
    if json:
        render.print_json({"deleted": documents})
    else:
        typer.echo(f"Deleted {len(documents)} document{'s' if len(documents) > 1 else ''}.")
