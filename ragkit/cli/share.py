"""`ragkit share`: show and change who owns a collection or a document, and who may read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.cli.sharing_text import tell
from ragkit.cli.words import say
from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit.store.documents.sharing import Change


def share(
    principals: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHO]...", help="user:NAME or group:NAME; leave out to show who may read it."
        ),
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection to share.")
    ] = None,
    document: Annotated[
        str | None,
        typer.Option(
            "--document", "-d", help="Document to share: its number, file name, title or path."
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove WHO from the readers.")] = False,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Let everybody in the tenant read it.")
    ] = False,
    private: Annotated[bool, typer.Option("--private", help="Let only its owner read it.")] = False,
    owner: Annotated[
        str | None, typer.Option(metavar="WHO", help="Make WHO the owner; '' removes the owner.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let only these users and groups read a collection or a document.

    The readers of a document must also be able to read its collection.
    """
    from ragkit.documents.lookup import document_named
    from ragkit.settings.settings import load_settings
    from ragkit.store.documents.sharing import Shares
    from ragkit.store.open import open_database

    if (collection is None) == (document is None):
        raise UsageError("name what to share: give --collection NAME or --document NAME")
    change = _change(tuple(principals or ()), remove, everybody, private, owner)
    settings = load_settings()
    with open_database(settings) as database:
        shares = Shares(database.pool, settings.tenant)
        key: dict[str, Any]
        if document is not None:
            number = document_named(database.store(settings.tenant), None, document).id
            sharing = shares.document(number, change)
            key, title = {"document": number}, say("Document {number}", number=number)
        else:
            assert collection is not None
            sharing = shares.collection(collection, change)
            key, title = {"collection": collection}, say("Collection {name!r}", name=collection)
    tell(title, key, sharing, json=json)


def _change(
    principals: tuple[str, ...], remove: bool, everybody: bool, private: bool, owner: str | None
) -> Change | None:
    """Return the change that the options describe, or None for a query. Raises UsageError."""
    from ragkit.store.documents.sharing import Change

    if everybody + private + bool(principals) > 1:
        raise UsageError("give one of: user:NAME or group:NAME, --everybody, --private")
    if remove and not principals:
        raise UsageError("--remove needs the users and groups to remove, such as user:ada")
    if everybody or private:
        return Change(readers=None if everybody else (), owner=owner)
    if not principals:
        return None if owner is None else Change(owner=owner)
    if remove:
        return Change(remove=principals, owner=owner)
    return Change(add=principals, owner=owner)
