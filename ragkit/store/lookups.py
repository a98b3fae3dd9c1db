"""What a store tells of documents that are asked for by name or number, or listed.

`PostgresStore` adds writing and searching to it. Each method is one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from psycopg import Connection, Cursor

from ragkit.store import attempts, copies, documents, naming, options
from ragkit.store.ledger import Ledger
from ragkit.store.lending import transaction
from ragkit.text.analysers import name_from
from ragkit.types import Attempt, Collection, Document, Page

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from ragkit.store.copies import FileCopy
    from ragkit.store.where import Readers


class Lookups:
    """Looks up what is there for `readers` in one tenant's collections; None: an operator, all."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, *, durable: bool, readers: Readers
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._durable = durable
        self._readers = readers

    @property
    def job_ledger(self) -> Ledger:
        """The ledger of this tenant's jobs."""
        return Ledger(self._pool, self._tenant)

    def collections(self) -> Sequence[Collection]:
        with self._transaction() as cursor:
            return documents.collections(cursor, self._tenant, readers=self._readers)

    def documents(self, collection: str) -> Sequence[Document]:
        with self._in(collection) as (cursor, number):
            return documents.documents(cursor, self._tenant, number, self._readers)

    def languages(self, collection: str) -> Mapping[str, int]:
        """Count the documents by their language, "" where it is not known."""
        with self._in(collection) as (cursor, number):
            return documents.languages(cursor, self._tenant, number, self._readers)

    def document(self, document: int) -> Document:
        with self._transaction() as cursor:
            return documents.document(cursor, self._tenant, document, self._readers)

    def analyser(self, collection: str) -> str:
        """Name the analyser of a collection's words: see `ragkit.text.analysers`."""
        with self._transaction() as cursor:
            row = documents.collection_row(cursor, self._tenant, collection, readers=self._readers)
            return name_from(row[1])

    def named(self, collection: str, uris: Sequence[str] | None = None) -> Mapping[str, int]:
        """Map those of these URIs that the collection has to their documents; all for None.

        A file that is stored as a copy is mapped to the document that has its content.
        """
        with self._in(collection) as (cursor, number):
            return documents.named(cursor, self._tenant, number, uris, self._readers)

    def ending(self, collection: str | None, name: str, limit: int = 6) -> Sequence[Document]:
        """List up to `limit` of the documents that a name fits best; None: of all collections."""
        with self._transaction() as cursor:
            number = None if collection is None else self._collection(cursor, collection)
            return naming.ending(cursor, self._tenant, number, name, limit, self._readers)

    def near(self, collection: str, name: str) -> Sequence[str]:
        """List a few URIs of documents that are called nearly so, the closest first."""
        with self._in(collection) as (cursor, number):
            return naming.near(cursor, self._tenant, number, name, self._readers)

    def attempts(self, collection: str, name: str) -> Sequence[Attempt]:
        """List the files on their way in that a name fits, best first, then latest first."""
        with self._in(collection) as (cursor, number):
            return attempts.ending(cursor, self._tenant, number, name, self._readers)

    def text(self, document: int) -> str:
        with self._transaction() as cursor:
            return documents.text(cursor, self._tenant, document, self._readers)

    def pages(self, document: int) -> Sequence[Page]:
        with self._transaction() as cursor:
            return documents.pages(cursor, self._tenant, document, self._readers)

    def metadata(self, document: int) -> Mapping[str, Any]:
        """Return what is said of a document by its parser and its user, by key."""
        with self._transaction() as cursor:
            return documents.metadata(cursor, self._tenant, document, self._readers)

    def known(
        self, collection: str, uris: Sequence[str] | None = None
    ) -> Mapping[str, tuple[str, str]]:
        with self._in(collection) as (cursor, number):
            return documents.known(cursor, self._tenant, number, uris, self._readers)

    def copies(
        self, collection: str, document: int | None = None
    ) -> Mapping[int, Sequence[FileCopy]]:
        """Map documents, or this one, to the files that are stored as copies of them."""
        with self._in(collection) as (cursor, number):
            return copies.copies(cursor, self._tenant, number, document, self._readers)

    def holders(
        self, collection: str, hashes: Sequence[str], fingerprint: str
    ) -> Mapping[str, int]:
        """Map content hashes to a document that has this content, made by the same pipeline.

        Only documents that anybody's file may be a copy of: see `put_copy`.
        """
        with self._in(collection) as (cursor, number):
            return copies.holders(cursor, self._tenant, number, hashes, fingerprint)

    def alike(
        self, collection: str, bands: Sequence[int], *, uploads: bool = False
    ) -> Sequence[tuple[int, str, bytes]]:
        """List documents with one of these bands: (id, URI, signature), of at most a thousand.

        With `uploads`, uploaded ones and those with an owner as well, if they are open to all who
        read the collection; else those that a file may be a copy of.
        """
        with self._in(collection) as (cursor, number):
            return copies.alike(cursor, self._tenant, number, bands, uploads=uploads)

    def ingest_options(self, collection: str) -> Mapping[str, Any]:
        """Return a collection's own options of ingestion: see `ragkit.ingest_options`."""
        with self._transaction() as cursor:
            return options.get(cursor, self._tenant, collection, self._readers)

    def set_ingest_options(
        self, collection: str, options_: Mapping[str, Any], *, unset: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """Change a collection's own options of ingestion, and return them all.

        They are not checked here. What is in the collection is made anew at the next ingestion.
        """
        with self._transaction() as cursor:
            return options.change(
                cursor, self._tenant, collection, options_, unset, readers=self._readers
            )

    def _collection(self, cursor: Cursor[Any], name: str, *, lock: bool = False) -> int:
        """Look a collection up that is there for who asks."""
        readers = self._readers
        return documents.collection_id(cursor, self._tenant, name, lock=lock, readers=readers)

    @contextmanager
    def _in(self, collection: str) -> Iterator[tuple[Cursor[Any], int]]:
        with self._transaction() as cursor:
            yield cursor, self._collection(cursor, collection)

    @contextmanager
    def _transaction(self) -> Iterator[Cursor[Any]]:
        with transaction(self._pool, self._tenant) as cursor:
            if not self._durable:
                cursor.execute("SET LOCAL synchronous_commit = off")
            yield cursor
