"""`ragkit documents`: list, show and delete documents, and take old versions back."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli import render
from ragkit.cli.confirm import YesOption, confirm
from ragkit.cli.sharing_text import sharing_cells, sharing_json
from ragkit.cli.words import counted, say
from ragkit.settings.settings import load_settings
from ragkit.text.printable import printable, printable_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragkit.store.documents.copies import FileCopy
    from ragkit.types import Document

_COLUMNS = {  # of the list, with the field that each shows
    "number": "id",
    "title": "title",
    "language": "language",
    "version": "version",
    "passages": "chunks",
    "characters": "chars",
    "file": "uri",
}
_MAX_ASKED = 5  # documents that are named before they are deleted; arbitrary

app = typer.Typer(
    help="List, show, restore and delete documents.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="Collection of the document or documents.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DocumentArgument = Annotated[
    str, typer.Argument(help="Document: its number, file name, title or path.")
]


@app.command("list")
def list_(collection: CollectionOption = None, json: JsonOption = False) -> None:
    """List a collection's documents."""
    from ragkit.store.documents.sharing import Shares, Sharing
    from ragkit.store.open import open_database

    settings = load_settings()
    name = collection or settings.collection
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        documents, copies = store.documents(name), store.copies(name)
        shared = Shares(database.pool, settings.tenant).documents(name)
    sharing = [shared.get(document.id, Sharing()) for document in documents]
    if json:
        listed = [
            asdict(document)
            | sharing_json(document_sharing)
            | {"copies": _copies(copies.get(document.id, ()))}
            for document, document_sharing in zip(documents, sharing, strict=True)
        ]
        render.print_json({"documents": listed})
        return
    rows = [
        [
            *(str(getattr(document, field)) for field in _COLUMNS.values()),
            *sharing_cells(document_sharing),
        ]
        for document, document_sharing in zip(documents, sharing, strict=True)
    ]
    columns = [say(column) for column in (*_COLUMNS, "owner", "readers")]
    render.print_table(columns, rows, empty=say("The collection is empty."))
    if copies:
        typer.echo("\n" + say("These files have the content of a document that is stored already:"))
        table = [
            [str(copy.document), f"{copy.similarity:.2f}", copy.uri]
            for document_copies in copies.values()
            for copy in document_copies
        ]
        columns = [say(column) for column in ("document", "similarity", "file")]
        render.print_table(columns, table, empty="")


@app.command()
def show(
    document: DocumentArgument, collection: CollectionOption = None, json: JsonOption = False
) -> None:
    """Print the stored text of a document, which the positions in citations refer to."""
    from ragkit.documents.lookup import document_named
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        stored = document_named(store, collection, document)
        text, pages = store.sources([stored.id])[stored.id]
        copies = store.copies(stored.collection, stored.id).get(stored.id, ())
        metadata = store.metadata(stored.id)
    if json:
        paged = [
            {"start": page.start, "page": page.number, "page_label": page.label} for page in pages
        ]
        content = {"text": text, "pages": paged, "copies": _copies(copies)}
        render.print_json(asdict(stored) | {"metadata": dict(metadata)} | content)
    else:
        typer.echo(printable(text) if sys.stdout.isatty() else text)


@app.command()
def versions(
    document: DocumentArgument, collection: CollectionOption = None, json: JsonOption = False
) -> None:
    """List the versions of a document: the current one and the old ones that are kept."""
    from ragkit.documents.lookup import document_named
    from ragkit.store.documents.history import History
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        number = document_named(database.store(settings.tenant), collection, document).id
        stored = History(database.pool, settings.tenant).of(number)
    if json:
        times = [
            {"since": version.since.isoformat(), "to": version.to and version.to.isoformat()}
            for version in stored
        ]
        listed = [asdict(version) | dates for version, dates in zip(stored, times, strict=True)]
        render.print_json({"document": number, "versions": listed})
        return
    columns = [
        say(column) for column in ("version", "number", "since", "to", "characters", "title")
    ]
    rows = [
        [
            *(str(version.version), str(version.id), version.since.isoformat(timespec="seconds")),
            version.to.isoformat(timespec="seconds") if version.to else "",
            *(str(version.chars), version.title),
        ]
        for version in stored
    ]
    render.print_table(columns, rows, empty=say("It has none."))


@app.command()
def restore(
    document: DocumentArgument,
    version: Annotated[
        int, typer.Option(help="Version number, as listed by `ragkit documents versions`.")
    ],
    collection: CollectionOption = None,
    json: JsonOption = False,
) -> None:
    """Restore an old version of a document, as a new version."""
    from ragkit.documents.lookup import document_named
    from ragkit.store.documents.history import History
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        number = document_named(database.store(settings.tenant), collection, document).id
        restored = History(database.pool, settings.tenant).restore(number, version)
    if json:
        render.print_json(asdict(restored))
    else:
        text = "Document {number}: version {old} is restored, as version {new}."
        typer.echo(say(text, number=number, old=version, new=restored.version))


@app.command()
def delete(
    documents: Annotated[
        list[str], typer.Argument(help="Documents: their numbers, file names, titles or paths.")
    ],
    collection: CollectionOption = None,
    yes: YesOption = False,
    copies: Annotated[
        bool,
        typer.Option("--copies", help="Delete them even if other files have the same content."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Delete documents with their text, vectors, index entries and old versions.

    If another file has the same content, the document stays for that file unless you give
    --copies.
    """
    from ragkit.documents.lookup import document_named
    from ragkit.store.open import open_database

    settings = load_settings()
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        named = [document_named(store, collection, name) for name in documents]
        selected = list({document.id: document for document in named}.values())
        if not yes:
            _confirm(selected)
        heirs = {
            document.id: store.remove_document(document.collection, document.id, with_copies=copies)
            for document in selected
        }
    inherited = {number: uri for number, uri in heirs.items() if uri is not None}
    if json:
        kept_for = {str(number): uri for number, uri in inherited.items()}
        render.print_json({"deleted": list(heirs), "kept_for": kept_for})
        return
    typer.echo(say("Deleted: {documents}", documents=counted(len(selected), "document")))
    for number, uri in inherited.items():
        text = "Its content stays as document {number}: {uri} has the same (--copies deletes it)."
        typer.echo(printable_line(say(text, number=number, uri=uri)))


def _confirm(documents: "Sequence[Document]") -> None:
    names = ", ".join(f"{document.id} ({document.uri})" for document in documents[:_MAX_ASKED])
    unnamed = len(documents) - _MAX_ASKED
    if unnamed > 0:
        names += " " + say("and {number} more", number=unnamed)
    number = counted(len(documents), "document")
    question = say("Delete {documents}: {names}?", documents=number, names=names)
    confirm(printable_line(question))


def _copies(copies: "Sequence[FileCopy]") -> list[dict[str, object]]:
    return [{"uri": copy.uri, "similarity": round(copy.similarity, 4)} for copy in copies]
