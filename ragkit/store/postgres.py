"""The store on PostgreSQL: the `Store` contract, each write one transaction.

Composes documents, vectors and postings; it knows nothing of parsing, embedding or scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from datetime import datetime
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, Self

from psycopg import Connection, Cursor

from ragkit.errors import UsageError
from ragkit.store import (
    copies,
    documents,
    holding,
    postings,
    renaming,
    renewing,
    sent,
    vectors,
    versions,
    writing,
)
from ragkit.store.again import again_after_conflicts
from ragkit.store.as_of import AsOfReader
from ragkit.store.binding import bind, hold
from ragkit.store.lending import connection, lent, snapshot
from ragkit.store.lookups import Lookups
from ragkit.store.reader import PostgresReader
from ragkit.store.sharing import Sharing, own
from ragkit.store.spaces import Spaces
from ragkit.store.where import Readers
from ragkit.text.analyse import ANALYSER
from ragkit.text.analysers import analyser, name_from
from ragkit.types import Collection, Document, EmbeddingSpace, NewDocument

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from ragkit.contracts import Vectors
    from ragkit.store.holding import Held
    from ragkit.store.replica import Replica

MAX_NAME_CHARS = 200  # arbitrary: a name is typed by people


class PostgresStore(Lookups):
    """Keep one tenant's collections in PostgreSQL.

    `durable=False` lets a commit return before it is on disk: after a crash of the machine the
    latest documents may be missing, never torn. `ragkit ingest` uses it, and ends durably. `owner`
    opens a connection of the tables' owner, which new spaces and indexes need; the pool's own
    connections do unless told. `readers` are the principals who ask: what they may not read is not
    there for them. None: an operator, who sees all. `analyser` names that of new
    collections, `layout` is that of new embedding spaces. `keep_versions` is how many old
    versions of a document stay when a newer one takes its place. Snapshots are of `replica` while
    it has seen every write.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        *,
        tenant: str = "default",
        durable: bool = True,
        owner: Callable[[], AbstractContextManager[Connection[Any]]] | None = None,
        readers: Readers = None,
        analyser: str = ANALYSER,
        layout: vectors.Layout | None = None,
        keep_versions: int = 0,
        replica: Replica | None = None,
    ) -> None:
        super().__init__(pool, tenant, durable=durable, readers=readers)
        self._keep_versions = keep_versions
        self._as_of: datetime | None = None
        self._replica = replica
        self._analyser = analyser
        self._layout = layout
        self._owner = owner or partial(lent, pool)

    def create_collection(self, name: str) -> Collection:
        return self.add_collection(name)[0]

    def add_collection(self, name: str, sharing: Sharing | None = None) -> tuple[Collection, bool]:
        """Create a collection, with an owner and readers if so wanted; tell whether it is new."""
        _check_name(name)
        analyser(self._analyser)  # there, or nothing is made that cannot be used
        settings = {"analyser": self._analyser}
        with self._transaction() as cursor:
            new = documents.add_collection(cursor, self._tenant, name, settings)
            if new and sharing is not None:
                own(cursor, self._tenant, name, sharing)
            found = documents.collections(cursor, self._tenant, name, self._readers)
            if not found:
                raise UsageError(f"A collection cannot be named {name!r}: choose another name.")
            return found[0], new

    def delete_collection(self, name: str) -> None:
        with self._transaction() as cursor:
            collection = self._collection(cursor, name)
            cursor.execute(
                "DELETE FROM collection WHERE tenant = %s AND id = %s", (self._tenant, collection)
            )

    def drop_unused(self, collection: int, run: int | None = None) -> bool:
        """Delete a collection that nobody uses, and tell whether it was; `run` is the caller's own.

        One is in use that has documents, uploads, jobs that wait or run, options or readers of its
        own, or another command at work on it.
        """
        with self._transaction() as cursor:
            return documents.drop_unused(cursor, self._tenant, collection, run)

    @again_after_conflicts
    def rename_collection(self, name: str, new: str) -> None:
        """Give a collection another name, everywhere that it is named.

        Raises NotFoundError, BusyError while files are taken into it, and UsageError for a name
        that is taken or cannot be one.
        """
        _check_name(new)
        with self._transaction() as cursor:
            collection = self._collection(cursor, name)
            if new != name:
                renaming.rename(cursor, self._tenant, collection, name, new)

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
    ) -> Document:
        """Add or replace a document; a job given is marked done in the same transaction.

        `figures` are kept with the job. `source` is the upload it was made of. What it replaces
        stays where another file has the same content: see `ragkit.store.copies`. Raises
        LeaseLostError when the job is no longer its holder's, NotFoundError when a later upload has
        taken its place, IngestError when its sender may not put it there by now, OtherModelError
        for vectors of another space than the collection's.
        """
        done = None if job is None else [(job, figures)]
        stored = self._put(collection, [(document, vectors)], space, done=done, source=source)[0]
        if stored is None:
            assert job is not None, "what has no job is stored"
            raise holding.lost(job)
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
        return [one for one in self._put(collection, entries, space) if one is not None]

    def put_results(
        self, collection: str, results: Sequence[writing.Result], space: EmbeddingSpace
    ) -> list[Document | None]:
        """Add or replace the documents of several jobs, which are marked done, in one transaction.

        One whose job is no longer its holder's is left out and None; the others are stored. Raises
        what `put_document` raises besides, and then none is.
        """
        entries = [(one.document, one.vectors) for one in results]
        return self._put(collection, entries, space, done=[(r.job, r.figures) for r in results])

    @again_after_conflicts
    def _put(
        self,
        collection: str,
        entries: writing.Entries,
        space: EmbeddingSpace,
        *,
        done: Sequence[tuple[Held, Mapping[str, object] | None]] | None = None,
        source: int | None = None,
    ) -> list[Document | None]:
        """Store entries; None for one whose job, told by `done`, is no longer its holder's."""
        if not entries:
            return []
        writing.check(entries, space)
        tenant, keep_versions = self._tenant, self._keep_versions
        space_id = self._space(space)
        with self._transaction() as cursor:
            collection_id, settings = documents.collection_row(
                cursor, tenant, collection, readers=self._readers
            )
            bind(cursor, tenant, collection_id, space_id, space)
            if keep_versions:
                versions.make_beside(cursor, tenant, collection_id)
        order = sorted(range(len(entries)), key=lambda place: entries[place][0].uri)
        batch = writing.prepared([entries[place] for place in order], settings)
        with self._transaction() as cursor:
            locked = documents.collection_row(
                cursor, tenant, collection, lock=True, readers=self._readers
            )
            if locked[0] != collection_id:
                raise UsageError(f"The collection {collection!r} was just made anew: try again.")
            if name_from(locked[1]) != name_from(settings):  # indexed anew meanwhile
                batch = writing.prepared([entries[place] for place in order], locked[1])
            if done is not None:
                done = [done[place] for place in order]
                held = holding.hold_some(cursor, tenant, [job for job, _ in done])
                order, done = list(compress(order, held)), list(compress(done, held))
                batch = batch.only(held)
            hold(cursor, tenant, collection_id, space_id, space)
            of_batch = (cursor, tenant, collection_id, space_id, batch)
            stored = writing.write(*of_batch, keep_versions=keep_versions, source=source)
            if done is not None:
                each = zip(done, stored, batch.documents, strict=True)
                ended = [(job, its[0], one.content_hash, of) for (job, of), its, one in each]
                holding.finish_some(cursor, tenant, ended)
        made: list[Document | None] = [None] * len(entries)
        for place, one, of in zip(order, batch.documents, stored, strict=True):
            made[place] = documents.stored(one, collection, *of)
        return made

    @again_after_conflicts
    def put_source(
        self, collection: str, known: tuple[str, str], *, source: int, job: Held
    ) -> int | None:
        """Keep the document as it is, if it is what would be made of an upload, and finish its job.

        `known` are the content hash and the pipeline's fingerprint. Return the document's id, or
        None when it has to be made. Raises NotFoundError when a later upload has taken its place,
        LeaseLostError when the job is no longer its holder's.
        """
        with self._transaction() as cursor:
            collection_id = self._collection(cursor, collection, lock=True)
            holding.hold(cursor, self._tenant, job)
            number = sent.put_source(cursor, self._tenant, collection_id, source, known)
            if number is not None:
                holding.finish(cursor, self._tenant, job, number, known[0])
        return number

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
        """Note that a file's content is a document's, and finish its job; tell whether it could be.

        `known` are the file's content hash and the pipeline's fingerprint; `similarity` below 1 is
        that of a near duplicate. It cannot be where the document is gone or has other content, is
        an upload's, or is shared otherwise than the file's own document: then nothing is done.
        Raises LeaseLostError when the job is no longer its holder's.
        """
        with self._transaction() as cursor:
            collection_id = self._collection(cursor, collection, lock=True)
            if job is not None:
                holding.hold(cursor, self._tenant, job)
            noted = copies.put_copy(
                cursor, self._tenant, collection_id, uri, known, document, similarity
            )
            if noted and job is not None:
                holding.finish(cursor, self._tenant, job, document, known[0], figures)
        return noted

    def delete_document(self, collection: str, document: int) -> None:
        self.remove_document(collection, document)

    @again_after_conflicts
    def remove_document(
        self, collection: str, document: int, *, with_copies: bool = False
    ) -> str | None:
        """Delete a document; whoever works on its file is refused to store it again.

        Where another file has the same content, that file takes the document over, unless
        `with_copies`; return its URI then.
        """
        with self._transaction() as cursor:
            collection_id = self._collection(cursor, collection, lock=True)
            key = documents.key_of(cursor, self._tenant, collection_id, document, self._readers)
            holding.cancel(cursor, self._tenant, collection_id, [key])
            documents.lock_document(cursor, self._tenant, collection_id, document, self._readers)
            heir = copies.remove(cursor, self._tenant, document, with_copies=with_copies)
            tidy = postings.has_many_empty(cursor, self._tenant, collection_id)
        if tidy:
            self._tidy(collection_id)
        return heir

    @again_after_conflicts
    def delete_uris(self, collection: str, uris: Sequence[str]) -> int:
        """Delete what was made of these files, copies included; return of how many.

        Whoever works on one of them is refused to store it.
        """
        with self._transaction() as cursor:
            collection_id = self._collection(cursor, collection, lock=True)
            keys = [documents.uri_key(uri) for uri in uris]
            holding.cancel(cursor, self._tenant, collection_id, keys)
            gone = copies.remove_uris(cursor, self._tenant, collection_id, keys, self._readers)
            tidy = postings.has_many_empty(cursor, self._tenant, collection_id)
        if tidy:
            self._tidy(collection_id)
        return gone

    def _tidy(self, collection: int) -> None:
        with lent(self._pool) as conn:
            postings.merge(conn, self._tenant, collection, wait=False)

    def as_of(self, moment: datetime) -> Self:
        """Return this store whose snapshots are searched as of a moment: see `AsOfReader`.

        All else is as ever: what is found is cited from the version that it was found in. Raises
        UsageError for a moment without a time zone.
        """
        if moment.tzinfo is None:
            raise UsageError(f"{moment.isoformat()} has no time zone: add one, such as +00:00")
        other = copy(self)
        other._as_of = moment
        return other

    def finish_load(
        self,
        collection: str,
        space: EmbeddingSpace,
        on_progress: Callable[[vectors.BuildProgress], None] | None = None,
    ) -> None:
        """Do what pays once after many writes: merge what is recent, build the index, flush.

        `on_progress` is called from another thread while an index is built.
        """
        with self._transaction() as cursor:
            collection_id = self._collection(cursor, collection)
            old = versions.beside(cursor, self._tenant, collection_id)
        with lent(self._pool) as conn:
            for one in (collection_id, old):
                if one is not None:
                    postings.merge(conn, self._tenant, one)
        with self._owner() as conn:
            conn.execute("ANALYZE document, chunk, lexical_posting")
            watch = self._owner
            vectors.tidy(
                conn, space, self._tenant, collection_id, watch=watch, on_progress=on_progress
            )

    def set_effort(self, space: EmbeddingSpace, effort: int | None) -> None:
        """Search a space's index that hard from now on; None leaves it to ragkit."""
        with self._transaction() as cursor:
            known = vectors.find_space(cursor, space)
            if known is not None:
                vectors.set_effort(cursor, known, effort)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresReader]:
        with self._snapshot() as cursor:
            if self._as_of is None:
                yield PostgresReader(cursor, self._tenant, self._readers)
            else:
                yield AsOfReader(cursor, self._tenant, self._readers, self._as_of)

    def renew_words(self, collection: str) -> bool:
        """Index a collection's words by the analyser in place of its own; tell if there is one."""
        with connection(self._pool, self._tenant) as conn, conn.cursor() as cursor:
            number = self._collection(cursor, collection)
            return renewing.renew(conn, cursor, self._tenant, number)

    def active_space(self, collection: str) -> EmbeddingSpace | None:
        kept = self.spaces.active(collection)
        return None if kept is None else kept.space

    @property
    def spaces(self) -> Spaces:
        """The embedding spaces of this tenant's collections."""
        return Spaces(
            self._pool, self._tenant, number=self._space, owner=self._owner, readers=self._readers
        )

    def _space(self, space: EmbeddingSpace) -> int:
        """Return a space's number; one that is new is made by the owner of the tables."""
        with self._transaction() as cursor:
            known = vectors.find_space(cursor, space)
        if known is not None:
            return known
        with self._owner() as conn:
            return vectors.ensure_space(conn, space, self._layout)

    def _snapshot(self) -> AbstractContextManager[Cursor[Any]]:
        if self._replica is not None:
            return self._replica.snapshot(self._tenant)
        return snapshot(self._pool, self._tenant)


def _check_name(name: str) -> None:
    """Raise UsageError for what no collection can be named."""
    if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise UsageError(
            f"A collection cannot be named {name[:40]!r}: use 1 to {MAX_NAME_CHARS} printable"
            " characters."
        )
