"""Lookups of documents by name or number, and lists of them.

`PostgresStore` adds writing and searching. Each method is one session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from psycopg import Connection

from ragkit.store.documents import copies, documents, names, options
from ragkit.store.jobs import attempts
from ragkit.store.jobs.ledger import Ledger
from ragkit.store.session import TenantSessions, open_session
from ragkit.text.analysers import name_from
from ragkit.types import Attempt, Collection, Document, Page

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from ragkit.store.documents.copies import FileCopy
    from ragkit.store.documents.filter_sql import Readers
    from ragkit.store.session import Session


class Lookups(TenantSessions):
    """Looks up what `readers` may read in one tenant's collections; None: an operator."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, *, durable: bool, readers: Readers
    ) -> None:
        super().__init__(pool, tenant, readers)
        self._durable = durable

    @property
    def job_ledger(self) -> Ledger:
        """The ledger of this tenant's jobs."""
        return Ledger(self._pool, self._tenant)

    def collections(self) -> Sequence[Collection]:
        with self._session() as session:
            return documents.collections(session)

    def documents(self, collection: str) -> Sequence[Document]:
        with self._in_collection(collection) as (session, number):
            return documents.documents(session, number)

    def languages(self, collection: str) -> Mapping[str, int]:
        """Count the documents by their language, "" where it is not recorded."""
        with self._in_collection(collection) as (session, number):
            return documents.languages(session, number)

    def document(self, document: int) -> Document:
        with self._session() as session:
            return documents.document(session, document)

    def analyser(self, collection: str) -> str:
        """Name the analyser of a collection's words: see `ragkit.text.analysers`."""
        with self._session() as session:
            return name_from(documents.collection_row(session, collection)[1])

    def named(self, collection: str, uris: Sequence[str] | None = None) -> Mapping[str, int]:
        """Map those of these URIs that the collection has to their documents; all for None.

        A file that is stored as a copy is mapped to the document that has its content.
        """
        with self._in_collection(collection) as (session, number):
            return documents.documents_by_uri(session, number, uris)

    def ending(self, collection: str | None, name: str, limit: int = 6) -> Sequence[Document]:
        """List up to `limit` of the documents that a name fits best; None: of all collections."""
        with self._session() as session:
            number = None if collection is None else documents.collection_id(session, collection)
            return names.ending(session, number, name, limit)

    def near(self, collection: str, name: str) -> Sequence[str]:
        """List a few URIs of documents with nearly this name, the closest first."""
        with self._in_collection(collection) as (session, number):
            return names.near(session, number, name)

    def attempts(self, collection: str, name: str) -> Sequence[Attempt]:
        """List the files on their way in that a name fits, best first, then latest first."""
        with self._in_collection(collection) as (session, number):
            return attempts.ending(session.cursor, self._tenant, number, name, self._readers)

    def text(self, document: int) -> str:
        with self._session() as session:
            return documents.text(session, document)

    def sources(self, documents_: Iterable[int]) -> Mapping[int, tuple[str, Sequence[Page]]]:
        with self._session() as session:
            return documents.sources(session, list(documents_))

    def metadata(self, document: int) -> Mapping[str, Any]:
        """Return a document's metadata, from its parser and its user, by key."""
        with self._session() as session:
            return documents.metadata(session, document)

    def known(
        self, collection: str, uris: Sequence[str] | None = None
    ) -> Mapping[str, tuple[str, str]]:
        with self._in_collection(collection) as (session, number):
            return documents.hashes_by_uri(session, number, uris)

    def copies(
        self, collection: str, document: int | None = None
    ) -> Mapping[int, Sequence[FileCopy]]:
        """Map documents, or this one, to the files that are stored as copies of them."""
        with self._in_collection(collection) as (session, number):
            return copies.copies(session, number, document)

    def holders(
        self, collection: str, hashes: Sequence[str], fingerprint: str
    ) -> Mapping[str, int]:
        """Map content hashes to a document that has this content, made by the same pipeline.

        Only documents that any file may be a copy of: see `put_copy`.
        """
        with self._in_collection(collection) as (session, number):
            return copies.holders(session, number, hashes, fingerprint)

    def alike(
        self, collection: str, bands: Sequence[int], *, uploads: bool = False
    ) -> Sequence[tuple[int, str, bytes]]:
        """List documents with one of these bands: (id, URI, signature), of at most a thousand.

        With `uploads`, uploaded ones and those with an owner as well, if they are open to all who
        read the collection; else those that a file may be a copy of.
        """
        with self._in_collection(collection) as (session, number):
            return copies.alike(session, number, bands, uploads=uploads)

    def ingest_options(self, collection: str) -> Mapping[str, Any]:
        """Return a collection's own options of ingestion: see `ragkit.settings.ingest_options`."""
        with self._session() as session:
            return options.get(session, collection)

    def set_ingest_options(
        self, collection: str, options_: Mapping[str, Any], *, unset: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """Change a collection's own options of ingestion, and return them all.

        They are not checked here. The collection's documents are made anew at the next ingestion.
        """
        with self._session() as session:
            return options.change(session, collection, options_, unset)

    def _session(self) -> AbstractContextManager[Session]:
        return open_session(self._pool, self._tenant, self._readers, durable=self._durable)
