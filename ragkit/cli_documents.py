"""`ragkit documents`: list, show and delete documents, and take old versions back."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit import render
from ragkit.cli_sharing import sharing_json, shown
from ragkit.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragkit.store.copies import FileCopy

app = typer.Typer(
    add_completion=False,
    help="List, show and delete documents.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
CollectionOption = Annotated[str | None, typer.Option(help="The collection.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DocumentArgument = Annotated[int, typer.Argument(help="The document's number, as listed.")]


@app.command("list")
def list_(collection: CollectionOption = None, json: JsonOption = False) -> None:
    """List a collection's documents."""
    from ragkit.store.open import open_database
    from ragkit.store.sharing import Shares, Sharing

    settings = load_settings()
    name = collection or settings.collection
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        found, copies = store.documents(name), store.copies(name)
        shared = Shares(database.pool, settings.tenant).documents(name)
    sharing = [shared.get(one.id, Sharing()) for one in found]
    if json:
        listed = [
            asdict(one) | sharing_json(its) | {"copies": _copies(copies.get(one.id, ()))}
            for one, its in zip(found, sharing, strict=True)
        ]
        render.print_json({"documents": listed})
        return
    columns = ["id", "title", "language", "version", "chunks", "chars", "uri"]
    rows = [
        [*(str(getattr(one, column)) for column in columns), *shown(its)]
        for one, its in zip(found, sharing, strict=True)
    ]
    render.print_table([*columns, "owner", "readers"], rows, empty="The collection is empty.")
    if copies:
        typer.echo("\nStored once, for these files have a document's content:")
        table = [
            [str(one.document), f"{one.similarity:.2f}", one.uri]
            for some in copies.values()
            for one in some
        ]
        render.print_table(["document", "similarity", "uri"], table, empty="")


@app.command()
def show(document: DocumentArgument, json: JsonOption = False) -> None:
    """Print a document's stored text, the one that citations count in."""
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        found, text = store.document(document), store.text(document)
        copies = store.copies(found.collection, document).get(document, ())
        pages, metadata = store.pages(document), store.metadata(document)
    if json:
        paged = [
            {"start": page.start, "page": page.number, "page_label": page.label} for page in pages
        ]
        more = {"text": text, "pages": paged, "copies": _copies(copies)}
        render.print_json(asdict(found) | {"metadata": dict(metadata)} | more)
    else:
        typer.echo(render.printable(text) if sys.stdout.isatty() else text)


@app.command()
def versions(document: DocumentArgument, json: JsonOption = False) -> None:
    """List a document's versions: the current one, and the old ones that were kept."""
    from ragkit.store.history import History
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        found = History(database.pool, settings.tenant).of(document)
    if json:
        times = [
            {"since": one.since.isoformat(), "to": one.to and one.to.isoformat()} for one in found
        ]
        listed = [asdict(one) | its for one, its in zip(found, times, strict=True)]
        render.print_json({"document": document, "versions": listed})
        return
    columns = ["version", "id", "since", "to", "chars", "title"]
    rows = [
        [
            *(str(one.version), str(one.id), one.since.isoformat(timespec="seconds")),
            one.to.isoformat(timespec="seconds") if one.to else "",
            *(str(one.chars), one.title),
        ]
        for one in found
    ]
    render.print_table(columns, rows, empty="It has none.")


@app.command()
def restore(
    document: DocumentArgument,
    version: Annotated[int, typer.Option(help="The version, as `versions` lists it.")],
    json: JsonOption = False,
) -> None:
    """Make an old version of a document the current one again, as a new version."""
    from ragkit.store.history import History
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        made = History(database.pool, settings.tenant).restore(document, version)
    if json:
        render.print_json(asdict(made))
    else:
        typer.echo(f"Document {document} is as version {version} was: now version {made.version}.")


@app.command()
def delete(
    documents: Annotated[list[int], typer.Argument(help="The documents' numbers, as listed.")],
    collection: CollectionOption = None,
    copies: Annotated[
        bool, typer.Option("--copies", help="Also where other files have the same content.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Delete documents everywhere at once: text, vectors, words, old versions.

    A document whose content another file has as well stays for that file, unless --copies is given.
    """
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        found = [store.document(number) for number in documents]  # all, before one is deleted
        heirs = {
            one.id: store.remove_document(collection or one.collection, one.id, with_copies=copies)
            for one in found
        }
    kept = {number: uri for number, uri in heirs.items() if uri is not None}
    if json:
        render.print_json({"deleted": documents, "kept_for": {str(n): u for n, u in kept.items()}})
        return
    typer.echo(f"Deleted {len(documents)} document{'s' if len(documents) > 1 else ''}.")
    for number, uri in kept.items():
        said = f"Its content stays as document {number}: {uri} has the same (--copies deletes it)."
        typer.echo(render.printable_line(said))


def _copies(copies: "Sequence[FileCopy]") -> list[dict[str, object]]:
    return [{"uri": one.uri, "similarity": round(one.similarity, 4)} for one in copies]
