"""Write documents with their chunks, vectors and words, and move what they replace.

Locks, and who may write, are the affair of `PostgresStore`, as is the transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError
from ragkit.store import vectors
from ragkit.store.documents import copies, documents, metadata, upload_place, versions
from ragkit.store.documents.chunks import copy_chunks
from ragkit.store.words import postings
from ragkit.text.analysers import ChunkTerms, analyser, join_terms, name_from, terms_by
from ragkit.text.passage import words_of
from ragkit.text.terms import Terms
from ragkit.types import EmbeddingSpace, NewDocument

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.store.documents.versions import Analyse
    from ragkit.store.jobs.lease import Held
    from ragkit.store.session import Session

Entries = Sequence[tuple[NewDocument, "Vectors"]]  # each document with a vector per chunk


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a job: a document with a vector per chunk, and figures for the ledger.

    `terms` are those of its chunks, where whoever split the text has made them.
    """

    job: Held
    document: NewDocument
    vectors: Vectors
    figures: Mapping[str, object] | None = None
    terms: ChunkTerms | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents by their URIs, with the vectors and the terms of all their chunks in that order.

    `vectors` has shape (chunks, dimension); `analyse` makes terms of the collection's words.
    """

    documents: Sequence[NewDocument]
    vectors: Vectors
    terms: Terms
    analyse: Analyse

    def only(self, selected: Sequence[bool]) -> Batch:
        """Return the selected documents of the batch."""
        import numpy as np

        if all(selected):
            return self
        chunks = np.repeat(selected, [len(document.chunks) for document in self.documents])
        return replace(
            self,
            documents=list(compress(self.documents, selected)),
            vectors=self.vectors[chunks],
            terms=self.terms.only(chunks),
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


def prepared(
    entries: Entries, made: Sequence[ChunkTerms | None], settings: Mapping[str, Any]
) -> Batch:
    """Prepare a batch without the database; `settings` are the collection's own.

    Entries come by their URIs: in one order everywhere, so that two writers of the same documents
    do not deadlock. `made` are the terms of each, where they are known; those of another analyser
    than the collection's are made anew.
    """
    import numpy as np

    documents = [document for document, _ in entries]
    name = name_from(settings)
    vectors = np.concatenate([rows for _, rows in entries])
    return Batch(documents, vectors, _terms(documents, made, name), analyser(name))


def _terms(documents: Sequence[NewDocument], made: Sequence[ChunkTerms | None], name: str) -> Terms:
    """Return the terms of all chunks by the analyser of this name."""
    ready = [terms.terms for terms in made if terms is not None and terms.analyser == name]
    if len(ready) < len(documents):
        words = [words_of(item.text, chunk) for item in documents for chunk in item.chunks]
        return terms_by(name)(words)
    counts = [
        (len(of.lengths), len(document.chunks))
        for of, document in zip(ready, documents, strict=True)
    ]
    assert all(terms == chunks for terms, chunks in counts), "terms are those of each chunk"
    return ready[0] if len(ready) == 1 else join_terms(ready)


def write(
    session: Session,
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
    new_documents = batch.documents
    if not new_documents:
        return []
    stored = _put(session, collection, new_documents, bool(keep_versions), source)
    numbers = [number for number, _ in stored]
    metadata.note(session, collection, numbers, [item.metadata for item in new_documents])
    replaced = [number for number, version in stored if version > 1]
    if replaced:
        versions.move(session, collection, replaced, batch.analyse, keeps=bool(keep_versions))
        versions.drop_beyond(session, replaced, keep_versions)
        copies.drop_stale(session, replaced)
    copies.add_bands(session, collection, numbers, new_documents)
    numbered = list(zip(numbers, new_documents, strict=True))
    chunks = copy_chunks(session, collection, numbered, batch.terms.lengths.tolist())
    owners = [number for number, document in numbered for _ in document.chunks]
    vectors.copy_vectors(session, space_id, collection, chunks, batch.vectors, owners)
    postings.add_segment(session, collection, chunks, batch.terms)
    return stored


def _put(
    session: Session,
    collection: int,
    new_documents: Sequence[NewDocument],
    keeps_versions: bool,
    source: int | None,
) -> list[tuple[int, int]]:
    """Insert or overwrite the documents' rows; return each one's id and version."""
    if source is not None:
        document = new_documents[0]
        stored = upload_place.put_upload(
            session, collection, document, source, keeps_versions=keeps_versions
        )
        return [stored]
    hashes = {documents.uri_key(item.uri): item.content_hash for item in new_documents}
    former = copies.hand_over(session, collection, hashes)
    if keeps_versions:
        versions.keep(session, collection, list(hashes))
    pairs = documents.put_documents(session, collection, new_documents)
    copies.share(session, collection, former)
    return pairs
