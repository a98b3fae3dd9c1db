"""The store on PostgreSQL: the `Store` contract, each write one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from psycopg import Connection

from ragkit.errors import UsageError
from ragkit.store import vectors
from ragkit.store.as_of import AsOfReader
from ragkit.store.connection.transactions import lent
from ragkit.store.documents import versions
from ragkit.store.documents.filter_sql import Readers
from ragkit.store.reader import PostgresReader
from ragkit.store.storing import MAX_NAME_CHARS, Storing
from ragkit.store.vectors.collection_spaces import Spaces
from ragkit.store.words import postings, reindex
from ragkit.text.analyse import ANALYSER
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from ragkit.store.connection.replica import Replica
    from ragkit.store.session import Session

__all__ = ["MAX_NAME_CHARS", "PostgresStore"]


class PostgresStore(Storing):
    """Keep one tenant's collections in PostgreSQL.

    `durable=False` lets a commit return before it is on disk: after a crash of the machine the
    latest documents may be missing, never torn. `ragkit ingest` uses it, and ends durably. `owner`
    opens a connection of the tables' owner, which new spaces and indexes need; without it the
    pool's own connections do. `readers` are the caller's principals, who find nothing that they may
    not read; None: an operator. `analyser` names that of new collections, `layout` is that of new
    embedding spaces. `keep_versions` is how many old versions of a document stay when a newer one
    replaces it. Snapshots are of `replica` while it has seen every write.
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
        self._space: EmbeddingSpace | None = None
        self._replica = replica
        self._analyser = analyser
        self._layout = layout
        self._owner = owner or partial(lent, pool)

    def as_of(self, moment: datetime) -> Self:
        """Return this store with snapshots that are searched as of a moment: see `AsOfReader`.

        Passages are cited from the version that they were found in. Raises UsageError for a moment
        without a time zone.
        """
        if moment.tzinfo is None:
            raise UsageError(f"{moment.isoformat()} has no time zone: add one, such as +00:00")
        store = copy(self)
        store._as_of = moment
        return store

    def in_space(self, space: EmbeddingSpace) -> Self:
        """Return this store with snapshots that search in `space`, active or not.

        For trying a model before a collection is switched to it; passages that have no vector there
        are not found by meaning.
        """
        store = copy(self)
        store._space = space
        return store

    def finish_load(
        self,
        collection: str,
        space: EmbeddingSpace,
        on_progress: Callable[[vectors.BuildProgress], None] | None = None,
    ) -> None:
        """Do what pays once after many writes: merge segments, build the index, flush.

        `on_progress` is called from another thread while an index is built.
        """
        with self._in_collection(collection) as (session, number):
            version_collection = versions.collection_of_versions(session, number)
        with lent(self._pool) as conn:
            postings.merge(conn, self._tenant, number)
            if version_collection is not None:
                postings.merge(conn, self._tenant, version_collection)
        with self._owner() as conn:
            conn.execute("ANALYZE document, chunk, lexical_posting")
            watch = self._owner
            vectors.tidy(conn, space, self._tenant, number, watch=watch, on_progress=on_progress)

    def set_effort(self, space: EmbeddingSpace, effort: int | None) -> None:
        """Set how hard a space's index is searched from now on; None leaves it to ragkit."""
        with self._session() as session:
            space_id = vectors.find_space(session.cursor, space)
            if space_id is not None:
                vectors.set_effort(session.cursor, space_id, effort)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresReader]:
        with self._snapshot() as session:
            if self._as_of is None:
                yield PostgresReader(session, self._space)
            else:
                yield AsOfReader(session, self._as_of)

    def renew_words(self, collection: str) -> bool:
        """Index a collection's words by its analyser's successor; tell if there is one."""
        with self._in_collection(collection) as (session, number):
            return reindex.renew(session, number)

    def active_space(self, collection: str) -> EmbeddingSpace | None:
        active = self.spaces.active(collection)
        return None if active is None else self._space or active.space

    @property
    def spaces(self) -> Spaces:
        """The embedding spaces of this tenant's collections."""
        return Spaces(
            self._pool,
            self._tenant,
            number=self._space_id,
            owner=self._owner,
            readers=self._readers,
        )

    def _space_id(self, space: EmbeddingSpace) -> int:
        with self._session() as session:
            space_id = vectors.find_space(session.cursor, space)
        if space_id is not None:
            return space_id
        with self._owner() as conn:
            return vectors.ensure_space(conn, space, self._layout)

    def _snapshot(self) -> AbstractContextManager[Session]:
        if self._replica is not None:
            return self._replica.session(self._tenant, self._readers)
        return super()._snapshot()
