"""Ready documents written in one go: rows, chunks, vectors and words, and what they take over.

It knows nothing of who may write and of what keeps others out meanwhile: `PostgresStore` sees to
both, and to the transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError
from ragkit.store import copies, documents, metadata, postings, sent, vectors, versions
from ragkit.store.chunks import copy_chunks
from ragkit.text.analysers import analyser, name_from, terms_by
from ragkit.text.passage import words_of
from ragkit.text.terms import Terms
from ragkit.types import EmbeddingSpace, NewDocument

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.contracts import Vectors
    from ragkit.store.holding import Held
    from ragkit.store.versions import Analyse

Entries = Sequence[tuple[NewDocument, "Vectors"]]  # each document with a vector per chunk


@dataclass(frozen=True, slots=True)
class Result:
    """What a job has come to: a document with a vector per chunk, and figures for the ledger."""

    job: Held
    document: NewDocument
    vectors: Vectors
    figures: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents by their URIs, with the vectors and the terms of all their chunks in that order.

    `vectors` has shape (chunks, dimension); `analyse` makes terms of the collection's words.
    """

    documents: Sequence[NewDocument]
    vectors: Vectors
    terms: Terms
    analyse: Analyse

    def only(self, kept: Sequence[bool]) -> Batch:
        """Return those of the documents that are to be kept."""
        import numpy as np

        if all(kept):
            return self
        each = np.repeat(kept, [len(one.chunks) for one in self.documents])
        return replace(
            self,
            documents=list(compress(self.documents, kept)),
            vectors=self.vectors[each],
            terms=self.terms.only(each),
        )


def check(entries: Entries, space: EmbeddingSpace) -> None:
    """Raise UsageError unless every chunk has a finite vector of the space's dimension."""
    import numpy as np

    for document, rows in entries:
        expected = (len(document.chunks), space.dimension)
        if rows.shape != expected:
            raise UsageError(
                f"{document.uri} has vectors of shape {rows.shape}, expected {expected}:"
                " one row per chunk of the space's dimension."
            )
        if not np.isfinite(rows).all():
            raise UsageError(f"{document.uri} has vectors with NaN or infinite values.")


def prepared(entries: Entries, settings: Mapping[str, Any]) -> Batch:
    """Do what takes time and no database; `settings` are those that the collection keeps.

    Entries come by their URIs: in one order everywhere, so that two writers of the same documents
    do not deadlock.
    """
    import numpy as np

    new = [document for document, _ in entries]
    name = name_from(settings)
    return Batch(
        new,
        np.concatenate([rows for _, rows in entries]),
        terms_by(name)([words_of(one.text, chunk) for one in new for chunk in one.chunks]),
        analyser(name),
    )


def write(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    space_id: int,
    batch: Batch,
    *,
    keep_versions: int = 0,
    source: int | None = None,
) -> list[tuple[int, int]]:
    """Add or replace documents; return each one's id and version.

    So many old versions are kept of each. `source` is the upload that the only document was made
    of; raises what `sent.put_upload` raises of it.
    """
    if not batch.documents:
        return []
    if keep_versions:
        versions.keep(cursor)
    new = batch.documents
    if source is None:
        content = {documents.uri_key(one.uri): one.content_hash for one in new}
        left = copies.hand_over(cursor, tenant, collection, content)
        stored = documents.put_documents(cursor, tenant, collection, new)
        copies.share(cursor, tenant, collection, left)
    else:
        stored = [sent.put_upload(cursor, tenant, collection, new[0], source)]
    numbers = [number for number, _ in stored]
    metadata.note(cursor, tenant, collection, numbers, [one.metadata for one in new])
    replaced = [number for number, version in stored if version > 1]
    if replaced:
        versions.move(cursor, tenant, collection, replaced, batch.analyse)
        versions.drop_beyond(cursor, tenant, replaced, keep_versions)
        copies.drop_stale(cursor, tenant, replaced)
    copies.add_bands(cursor, tenant, collection, numbers, new)
    lengths = batch.terms.lengths.tolist()
    numbered = list(zip(numbers, new, strict=True))
    ids = copy_chunks(cursor, tenant, collection, numbered, lengths)
    of = [number for number, one in numbered for _ in one.chunks]
    vectors.copy_vectors(cursor, space_id, tenant, collection, ids, batch.vectors, of)
    postings.add_segment(cursor, tenant, collection, ids, batch.terms)
    return stored
