"""Add documents to a knowledge base, by calling the ingestion package by name."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from ragkit.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragkit.contracts import Store
    from ragkit.knowledge.embedders import Embedders

PART: Final = "ragkit_ingest"  # the core imports no part: it is loaded when something is added


class IngestResult(Protocol):
    """What an ingestion did, by number of documents; `ragkit_ingest.IngestReport` is one.

    Each of the `failures` has a `uri`, the `stage` (read, parse, chunk, embed, store) and the
    `reason`.
    """

    @property
    def added(self) -> int: ...
    @property
    def updated(self) -> int: ...
    @property
    def unchanged(self) -> int: ...
    @property
    def failures(self) -> Sequence[Any]: ...


class Adding:
    """The part of a knowledge base that adds documents to its `collection`.

    `owner` are the settings' models, some of them loaded already; None: nothing may be added.
    """

    collection: str
    owner: Embedders | None

    def add(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        text: str | None = None,
        title: str = "",
        sync: bool = False,
    ) -> IngestResult:
        """Take a file or folder in, or a `text` under its `title`; it can be asked about at once.

        What is unchanged costs one hash; a text with the title of another replaces it. With `sync`,
        documents whose files have vanished from the folder are deleted. The result counts the
        documents `added`, `updated` and `unchanged`; a file that fails is one of its `failures`.
        Raises NotFoundError for a path that is not there, ModelError, DatabaseError,
        and UsageError where the knowledge base was not made by `open`, which alone may write.
        """
        if self.owner is None:
            raise UsageError("Only a knowledge base that KnowledgeBase.open() made adds documents.")
        if (path is None) == (text is None):
            raise UsageError(
                'add takes either a path or a text: add("contracts"), or'
                ' add(text="...", title="Leave policy").'
            )
        if sync and path is None:
            raise UsageError("sync is for a folder: a text vanishes from nowhere.")
        if path is not None and title:
            raise UsageError("a title is for a text: a file has its own, or its name.")
        part = import_module(PART)
        result: IngestResult = part.ingest(
            _checked(path) if path is not None else part.Text(text, title),
            settings=self.owner.settings,
            collection=self.collection,
            embedders=self.owner,
            sync=sync,
        )
        return result


def refuse_empty_collection(store: Store, collection: str) -> None:
    """Raise NotFoundError when a collection has no documents, as no query can find any."""
    if not any(row.documents for row in store.collections() if row.name == collection):
        raise NotFoundError(
            f"Collection {collection!r} has no documents: take some in with `ragkit ingest"
            f" PATH --collection {collection}`, or name another one."
        )


def _checked(path: str | os.PathLike[str]) -> str:
    """Return a path that is there, or an address. Raises NotFoundError."""
    place = os.fspath(path)
    is_address = "://" in place and len(place.split()) == 1
    if not is_address and ("\0" in place or not os.path.lexists(place)):
        raise NotFoundError(
            f"There is no file or folder {place!r:.80}: check the path. A text is added with"
            ' add(text="...", title="Leave policy").'
        )
    return place
