"""Writing to the store: collections and documents, added, replaced and deleted.

Each method is one transaction, tried again after a deadlock where it locks several rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING

from ragkit.errors import UsageError
from ragkit.store.connection.retry import again_after_conflicts
from ragkit.store.connection.transactions import lent
from ragkit.store.documents import copies, documents, rename, upload_place, versions, write
from ragkit.store.documents.lookups import Lookups
from ragkit.store.documents.sharing import Sharing, set_new
from ragkit.store.jobs import lease
from ragkit.store.vectors.active_space import bind, hold
from ragkit.store.words import postings
from ragkit.text.analysers import analyser, name_from
from ragkit.types import Collection, Document, EmbeddingSpace, NewDocument

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.store.jobs.lease import Held
    from ragkit.store.session import Session
    from ragkit.text.analysers import ChunkTerms

    Done = Sequence[tuple[Held, Mapping[str, object] | None]]  # jobs with figures for the ledger

MAX_NAME_CHARS = 200  # arbitrary: a name is typed by people


class Storing(Lookups):
    """Adds, replaces and deletes collections and documents of one tenant."""

    _analyser: str
    _keep_versions: int

    @abstractmethod
    def _space_id(self, space: EmbeddingSpace) -> int:
        """Return a space's number; a new one is made by the owner of the tables."""

    def create_collection(self, name: str) -> Collection:
        return self.add_collection(name)[0]

    def add_collection(self, name: str, sharing: Sharing | None = None) -> tuple[Collection, bool]:
        """Create a collection, with owner and readers if so requested; tell whether it is new."""
        _check_name(name)
        analyser(self._analyser)  # exists, or no collection is made that cannot be used
        with self._session() as session:
            is_new = documents.add_collection(session, name, {"analyser": self._analyser})
            if is_new and sharing is not None:
                set_new(session, name, sharing)
            collections = documents.collections(session, name)
            if not collections:
                raise UsageError(f"A collection cannot be named {name!r}: choose another name.")
            return collections[0], is_new

    def delete_collection(self, name: str) -> None:
        with self._in_collection(name) as (session, collection):
            documents.delete_collection(session, collection)

    def drop_unused(self, collection: int, run: int | None = None) -> bool:
        """Delete a collection that is not in use, and tell whether it was; `run` is the caller's.

        A collection is in use that has documents, uploads, open jobs, options or readers of its
        own, or another command at work on it.
        """
        with self._session() as session:
            return documents.drop_unused(session, collection, run)

    @again_after_conflicts
    def rename_collection(self, name: str, new: str) -> None:
        """Give a collection another name, in every table that names it.

        Raises NotFoundError, BusyError while files are taken into it, and UsageError for a name
        that is taken or cannot be one.
        """
        _check_name(new)
        with self._in_collection(name) as (session, collection):
            if new != name:
                rename.rename(session, collection, name, new)

    def put_document(
        self,
        collection: str,
        document: NewDocument,
        space: EmbeddingSpace,
        vectors: Vectors,
        *,
        job: Held | None = None,
        source: int | None = None,
        figures: Mapping[str, object] | None = None,
        terms: ChunkTerms | None = None,
    ) -> Document:
        """Add or replace a document; a job is marked done in the same transaction.

        `figures` are stored with the job. `terms` are those of the chunks, where they are known, to
        save making them. `source` is the upload it was made of. The content that
        it replaces stays where another file has the same: see `ragkit.store.documents.copies`.
        Raises LeaseLostError when the job is no longer its holder's, NotFoundError when a later
        upload has replaced this one, IngestError when its sender may not put it there by now,
        OtherModelError for vectors of another space than the collection's.
        """
        done = None if job is None else [(job, figures)]
        entries = [(document, vectors)]
        stored = self._put(collection, entries, space, made=[terms], done=done, source=source)[0]
        if stored is None:
            assert job is not None, "a document without a job is stored"
            raise lease.lost(job)
        return stored

    def put_documents(
        self,
        collection: str,
        entries: Sequence[tuple[NewDocument, Vectors]],
        space: EmbeddingSpace,
    ) -> list[Document]:
        """Add or replace documents, each with its vectors, all in one transaction.

        No URI may stand in it twice.
        """
        stored = self._put(collection, entries, space)
        return [document for document in stored if document is not None]

    def put_results(
        self, collection: str, results: Sequence[write.Result], space: EmbeddingSpace
    ) -> list[Document | None]:
        """Add or replace the documents of several jobs, which are marked done, in one transaction.

        One whose job is no longer its holder's is left out and None; the others are stored. Raises
        what `put_document` raises besides, and then none is stored.
        """
        entries = [(result.document, result.vectors) for result in results]
        done = [(result.job, result.figures) for result in results]
        made = [result.terms for result in results]
        return self._put(collection, entries, space, made=made, done=done)

    @again_after_conflicts
    def _put(
        self,
        collection: str,
        entries: write.Entries,
        space: EmbeddingSpace,
        *,
        made: Sequence[ChunkTerms | None] = (),
        done: Done | None = None,
        source: int | None = None,
    ) -> list[Document | None]:
        """Store entries; None for one whose job, in `done`, is no longer its holder's.

        `made` are the terms of each, if any are known.
        """
        if not entries:
            return []
        write.check(entries, space)
        space_id = self._space_id(space)
        with self._session() as session:
            number, settings = documents.collection_row(session, collection)
            bind(session, number, space_id, space)
            if self._keep_versions:
                versions.add_collection_of_versions(session, number)
        order = sorted(range(len(entries)), key=lambda place: entries[place][0].uri)
        entries = [entries[place] for place in order]
        made = [made[place] for place in order] if made else [None] * len(order)
        batch = write.prepared(entries, made, settings)
        with self._session() as session:
            locked, current = documents.collection_row(session, collection, lock=True)
            if locked != number:
                raise UsageError(f"The collection {collection!r} was just made anew: try again.")
            if name_from(current) != name_from(settings):  # indexed anew meanwhile
                batch = write.prepared(entries, made, current)
            if done is not None:
                done = [done[place] for place in order]
                jobs = [job for job, _ in done]
                is_held = lease.hold_some(session.cursor, session.tenant, jobs)
                order, done = list(compress(order, is_held)), list(compress(done, is_held))
                batch = batch.only(is_held)
            hold(session, number, space_id, space)
            keep = self._keep_versions
            stored = write.write(
                session, number, space_id, batch, keep_versions=keep, source=source
            )
            if done is not None:
                _finish(session, done, stored, batch)
        documents_: list[Document | None] = [None] * len(entries)
        for place, document, pair in zip(order, batch.documents, stored, strict=True):
            documents_[place] = documents.stored_document(document, collection, *pair)
        return documents_

    @again_after_conflicts
    def put_source(
        self,
        collection: str,
        content_hash: str,
        fingerprints: frozenset[str],
        *,
        source: int,
        job: Held,
    ) -> int | None:
        """Keep the document, if it is the one that would be made of an upload; finish its job.

        That is a document with this content and one of these fingerprints. Return its id, or None
        when it has to be made. Raises NotFoundError when a later upload has replaced this one,
        LeaseLostError when the job is no longer its holder's.
        """
        with self._in_collection(collection, lock=True) as (session, number):
            lease.hold(session.cursor, session.tenant, job)
            document = upload_place.put_source(session, number, source, content_hash, fingerprints)
            if document is not None:
                lease.finish(session.cursor, session.tenant, job, document, content_hash)
        return document

    @again_after_conflicts
    def put_copy(
        self,
        collection: str,
        uri: str,
        known: tuple[str, str],
        document: int,
        *,
        similarity: float = 1.0,
        job: Held | None = None,
        figures: Mapping[str, object] | None = None,
    ) -> bool:
        """Note that a file's content is a document's, and finish its job; tell whether it was.

        `known` are the file's content hash and the pipeline's fingerprint; `similarity` below 1 is
        that of a near duplicate. It is not noted where the document is gone or has other content,
        is an upload's, or is shared otherwise than the file's own document: then nothing is done.
        Raises LeaseLostError when the job is no longer its holder's.
        """
        with self._in_collection(collection, lock=True) as (session, number):
            if job is not None:
                lease.hold(session.cursor, session.tenant, job)
            is_noted = copies.put_copy(session, number, uri, known, document, similarity)
            if is_noted and job is not None:
                content_hash = known[0]
                lease.finish(session.cursor, session.tenant, job, document, content_hash, figures)
        return is_noted

    def delete_document(self, collection: str, document: int) -> None:
        self.remove_document(collection, document)

    @again_after_conflicts
    def remove_document(
        self, collection: str, document: int, *, with_copies: bool = False
    ) -> str | None:
        """Delete a document; a worker that has its file is refused to store it again.

        Where another file has the same content, the document becomes that file's, unless
        `with_copies`; return its URI then.
        """
        with self._in_collection(collection, lock=True) as (session, number):
            key = documents.key_of(session, number, document)
            lease.cancel(session.cursor, session.tenant, number, [key])
            documents.lock_document(session, number, document)
            heir = copies.remove(session, document, with_copies=with_copies)
            is_merge_due = postings.has_many_empty(session, number)
        if is_merge_due:
            self._merge(number)
        return heir

    @again_after_conflicts
    def delete_uris(self, collection: str, uris: Sequence[str]) -> int:
        """Delete the documents of these files, copies included; return of how many.

        A worker that has one of them is refused to store it.
        """
        with self._in_collection(collection, lock=True) as (session, number):
            keys = [documents.uri_key(uri) for uri in uris]
            lease.cancel(session.cursor, session.tenant, number, keys)
            deleted = copies.remove_uris(session, number, keys)
            is_merge_due = postings.has_many_empty(session, number)
        if is_merge_due:
            self._merge(number)
        return deleted

    def _merge(self, collection: int) -> None:
        with lent(self._pool) as conn:
            postings.merge(conn, self._tenant, collection, wait=False)


def _finish(
    session: Session, done: Done, stored: Sequence[tuple[int, int]], batch: write.Batch
) -> None:
    """Mark jobs done whose documents were stored."""
    rows = [
        (job, number, document.content_hash, figures)
        for (job, figures), (number, _), document in zip(done, stored, batch.documents, strict=True)
    ]
    lease.finish_some(session.cursor, session.tenant, rows)


def _check_name(name: str) -> None:
    """Raise UsageError for a text that cannot name a collection."""
    if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise UsageError(
            f"A collection cannot be named {name[:40]!r}: use 1 to {MAX_NAME_CHARS} printable"
            " characters."
        )
