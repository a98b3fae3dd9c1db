"""The store on PostgreSQL: the `Store` contract, each write one transaction.

Composes documents, vectors and postings; it knows nothing of parsing, embedding or scoring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from psycopg import Connection, Cursor, IsolationLevel

from ragkit.errors import UsageError
from ragkit.store import documents, jobs, postings
from ragkit.store import vectors as spaces
from ragkit.store.lending import connection, transaction
from ragkit.store.reader import PostgresReader
from ragkit.text.analyse import analyse
from ragkit.types import Collection, Document, EmbeddingSpace, NewDocument, Page

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from ragkit.contracts import Vectors

MAX_NAME_CHARS = 200  # arbitrary: a name is typed by people


class PostgresStore:
    """Keep one tenant's collections in PostgreSQL.

    `durable=False` lets a commit return before it is on disk: after a crash of the machine the
    latest documents may be missing, never torn. `ragkit ingest` uses it, and ends durably.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        *,
        tenant: str = "default",
        durable: bool = True,
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._durable = durable

    def create_collection(self, name: str) -> Collection:
        return self.add_collection(name)[0]

    def add_collection(self, name: str) -> tuple[Collection, bool]:
        """Create a collection; tell whether it is new."""
        if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
            raise UsageError(
                f"A collection cannot be named {name[:40]!r}: use 1 to {MAX_NAME_CHARS} printable"
                " characters."
            )
        with self._transaction() as cursor:
            new = documents.add_collection(cursor, self._tenant, name)
            return documents.collections(cursor, self._tenant, name)[0], new

    def collections(self) -> Sequence[Collection]:
        with self._transaction() as cursor:
            return documents.collections(cursor, self._tenant)

    def delete_collection(self, name: str) -> None:
        with self._transaction() as cursor:
            collection = documents.collection_id(cursor, self._tenant, name)
            cursor.execute(
                "DELETE FROM collection WHERE tenant = %s AND id = %s", (self._tenant, collection)
            )

    def put_document(
        self,
        collection: str,
        document: NewDocument,
        space: EmbeddingSpace,
        vectors: Vectors,
        *,
        job: int | None = None,
        source: int | None = None,
    ) -> Document:
        """Add or replace a document; a job given is marked done in the same transaction.

        `source` is the upload it was made of. Raises NotFoundError when a later upload has taken
        its place.
        """
        _check(document, space, vectors)
        terms = [analyse(document.text[chunk.start : chunk.end]) for chunk in document.chunks]
        with connection(self._pool) as conn:
            space_id = spaces.ensure_space(conn, space)
        with self._transaction() as cursor:
            tenant = self._tenant
            owner = documents.collection_id(cursor, tenant, collection, lock=True)
            number, version = documents.put_document(cursor, tenant, owner, document, source)
            if version > 1:
                postings.bury(cursor, tenant, number)
                documents.delete_chunks(cursor, tenant, number)
            lengths = [len(of_chunk) for of_chunk in terms]
            ids = documents.copy_chunks(cursor, tenant, owner, number, document.chunks, lengths)
            spaces.copy_vectors(cursor, space_id, tenant, owner, ids, vectors)
            postings.add_segment(cursor, tenant, owner, ids, terms)
            if job is not None:
                jobs.finish(cursor, tenant, job, number)
        return Document(
            id=number,
            uri=document.uri,
            title=document.title,
            collection=collection,
            language=document.language,
            version=version,
            chunks=len(document.chunks),
            chars=len(document.text),
        )

    def put_source(
        self, collection: str, uri: str, known: tuple[str, str], *, source: int, job: int
    ) -> int | None:
        """Keep the document as it is, if it is what would be made of an upload, and finish its job.

        `known` are the content hash and the pipeline's fingerprint. Return the document's id, or
        None when it has to be made. Raises NotFoundError when a later upload has taken its place.
        """
        with self._transaction() as cursor:
            owner = documents.collection_id(cursor, self._tenant, collection, lock=True)
            number = documents.put_source(cursor, self._tenant, owner, uri, source, known)
            if number is not None:
                jobs.finish(cursor, self._tenant, job, number)
        return number

    def delete_document(self, collection: str, document: int) -> None:
        with self._transaction() as cursor:
            owner = documents.collection_id(cursor, self._tenant, collection, lock=True)
            documents.lock_document(cursor, self._tenant, owner, document)
            postings.bury(cursor, self._tenant, document)
            documents.delete_document(cursor, self._tenant, document)

    def documents(self, collection: str) -> Sequence[Document]:
        with self._transaction() as cursor:
            owner = documents.collection_id(cursor, self._tenant, collection)
            return documents.documents(cursor, self._tenant, owner)

    def document(self, document: int) -> Document:
        with self._transaction() as cursor:
            return documents.document(cursor, self._tenant, document)

    def text(self, document: int) -> str:
        with self._transaction() as cursor:
            return documents.text(cursor, self._tenant, document)

    def pages(self, document: int) -> Sequence[Page]:
        with self._transaction() as cursor:
            return documents.pages(cursor, self._tenant, document)

    def known(self, collection: str) -> Mapping[str, tuple[str, str]]:
        with self._transaction() as cursor:
            owner = documents.collection_id(cursor, self._tenant, collection)
            return documents.known(cursor, self._tenant, owner)

    def finish_load(self, collection: str, space: EmbeddingSpace) -> None:
        """Do what pays once after many writes: merge segments, build the HNSW index, flush."""
        with self._transaction() as cursor:
            owner = documents.collection_id(cursor, self._tenant, collection)
        with connection(self._pool) as conn:
            postings.merge(conn, self._tenant, owner)
            conn.execute("ANALYZE document, chunk, lexical_posting")
            spaces.build_index(conn, space)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresReader]:
        with connection(self._pool) as conn:
            conn.isolation_level = IsolationLevel.REPEATABLE_READ
            conn.read_only = True
            try:
                with conn.transaction(), conn.cursor() as cursor:
                    cursor.execute("SELECT 1")  # the snapshot begins here, not at the first search
                    yield PostgresReader(cursor, self._tenant)
            finally:
                if not conn.closed:
                    conn.isolation_level = None
                    conn.read_only = None

    @property
    def job_ledger(self) -> jobs.Ledger:
        """The ledger of this tenant's jobs."""
        return jobs.Ledger(self._pool, self._tenant)

    @contextmanager
    def _transaction(self) -> Iterator[Cursor[Any]]:
        with transaction(self._pool) as cursor:
            if not self._durable:
                cursor.execute("SET LOCAL synchronous_commit = off")
            yield cursor


def _check(document: NewDocument, space: EmbeddingSpace, vectors: Vectors) -> None:
    import numpy as np

    expected = (len(document.chunks), space.dimension)
    if vectors.shape != expected:
        raise UsageError(
            f"{document.uri} has vectors of shape {vectors.shape}, expected {expected}:"
            " one row per chunk of the space's dimension."
        )
    if not np.isfinite(vectors).all():
        raise UsageError(f"{document.uri} has vectors with NaN or infinite values.")
