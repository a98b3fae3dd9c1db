"""Near duplicates: documents that are flagged or left out, as a collection's options say.

A document is compared with those that are stored, and with those on their way to the store.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragkit.text.near_duplicates import bands, signature, similarity
from ragkit.types import NewDocument

if TYPE_CHECKING:
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.store.postgres import PostgresStore

FLAG = "near_duplicate_of"  # the metadata key that names the other document
# From which share of common runs of words on two documents are nearly alike, 0 to 1. Arbitrary.
LEAST = 0.9
# The similarity of other bytes, at most: 1 is kept for copies, which must be equal. An estimate of
# 256 values tells nothing between this and 1.
MOST_ALIKE = 255 / 256


@dataclass(frozen=True, slots=True)
class Twin:
    """The document that another one is most like; without an id it is not stored yet."""

    uri: str
    similarity: float
    id: int | None = None


class Alike:
    """Looks for near duplicates in one collection; its methods may be called by several threads."""

    def __init__(self, store: PostgresStore, collection: str, options: IngestOptions) -> None:
        self._store = store
        self._collection = collection
        self.does_flag = options.near_duplicates == "flag"
        self._under_way: dict[str, NewDocument] = {}
        self._lock = threading.Lock()

    def signed(self, document: NewDocument) -> NewDocument:
        """Return a document with what it is compared by."""
        sign = signature(document.text)
        return replace(document, signature=sign, bands=tuple(bands(sign)))

    def twin(self, document: NewDocument, *, uploads: bool) -> Twin | None:
        """Find the document that a signed one is most like, with `uploads` also among uploads.

        Where there is none, later ones are compared with this one until it is `settled`.
        """
        stored = [
            Twin(uri, similarity(document.signature, sign), number)
            for number, uri, sign in self._store.alike(
                self._collection, document.bands, uploads=uploads
            )
        ]
        with self._lock:
            coming = [
                Twin(candidate.uri, similarity(document.signature, candidate.signature))
                for candidate in self._under_way.values()
                if set(candidate.bands) & set(document.bands)
            ]
            twins = [
                twin
                for twin in (*stored, *coming)
                if twin.uri != document.uri and twin.similarity >= LEAST
            ]
            if twins:
                return max(twins, key=lambda twin: (twin.similarity, twin.id is not None))
            self._under_way[document.uri] = document
            return None

    def settled(self, uri: str) -> None:
        """Forget a document that is stored, or is not to be."""
        with self._lock:
            self._under_way.pop(uri, None)


def flagged(document: NewDocument, twin: Twin) -> NewDocument:
    """Say in a document's metadata which other one it is nearly alike to."""
    near = round(twin.similarity, 3)
    metadata = {**document.metadata, FLAG: twin.uri, "near_duplicate_similarity": near}
    return replace(document, metadata=metadata)
