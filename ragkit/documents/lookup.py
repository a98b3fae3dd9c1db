"""Find a document by what a person calls it: its number, file name, title or path, or a part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from ragkit.documents.names import closest, fit_document
from ragkit.errors import NOTHING_INGESTED, NotFoundError, UsageError

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.types import Document

MAX_SHOWN: Final = 5  # documents that a name may mean; arbitrary


@runtime_checkable
class Naming(Protocol):
    """A store that finds documents by a name without listing all: see `ragkit.documents.names`."""

    def ending(self, collection: str | None, name: str, limit: int = 6) -> Sequence[Document]:
        """List up to `limit` of the documents that a name fits best; None: of all collections."""
        ...

    def near(self, collection: str, name: str) -> Sequence[str]:
        """List a few URIs of documents that are called nearly so, the closest first."""
        ...


def named(store: Store, collection: str | None, name: str) -> Document | None:
    """Find the document that a name means; None for `collection`: in all of them.

    Raises UsageError for a name that fits several documents equally well, or that is none.
    """
    name = name.strip()
    if not name or "\0" in name:
        raise UsageError("name a document: by its number, its file's name, its title or its path")
    document = numbered(store, name)
    if document is not None and collection in {None, document.collection}:
        return document
    fitting = fitting_best(store, collection, name)
    if len(fitting) > 1:
        listed = ", ".join(f"{document.id} ({document.uri})" for document in fitting[:MAX_SHOWN])
        number = str(len(fitting))
        if len(fitting) > MAX_SHOWN:
            number, listed = f"more than {MAX_SHOWN}", f"{listed}, ..."
        raise UsageError(f"{name!r} may be {number} documents: {listed}; name one by its number")
    return fitting[0] if fitting else None


def document_named(store: Store, collection: str | None, name: str) -> Document:
    """Find the document that a name means. Raises NotFoundError, and what `named` raises."""
    document = named(store, collection, name)
    if document is not None:
        return document
    collections = [row.name for row in store.collections()]
    if not collections:
        raise NotFoundError(NOTHING_INGESTED)
    close = _close(store, [row for row in collections if collection in {None, row}], name)
    but = f", but {', '.join(map(repr, close))}" if close else ""
    raise NotFoundError(
        f"There is no document {name!r}{but}: `ragkit documents list` shows them all."
    )


def _close(store: Store, collections: Sequence[str], name: str) -> list[str]:
    """List the few documents in these collections whose name is most like this one."""
    if not isinstance(store, Naming):
        return []
    return closest(
        name, (uri for collection in collections for uri in store.near(collection, name))
    )


def numbered(store: Store, name: str) -> Document | None:
    """Look a document up whose number a name is."""
    if not name.isdecimal() or len(name) >= 19:
        return None
    try:
        return store.document(int(name))
    except NotFoundError:
        return None


def fitting_best(store: Store, collection: str | None, name: str) -> Sequence[Document]:
    """List the documents that a name fits best, at most one more than can be shown."""
    if isinstance(store, Naming):
        return store.ending(collection, name, MAX_SHOWN + 1)
    names = [row.name for row in store.collections()] if collection is None else [collection]
    documents = [document for row in names for document in store.documents(row)]
    fits = [(fit_document(row.uri, row.title, name), row) for row in documents]
    best = min((level for level, _ in fits if level is not None), default=None)
    fitting = [document for level, document in fits if level is not None and level == best]
    return fitting[: MAX_SHOWN + 1]
