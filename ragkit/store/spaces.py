"""A collection's embedding spaces: built beside the one in use, switched to, taken away.

It knows nothing of models or of how vectors come to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from psycopg import errors, sql

from ragkit.errors import BusyError, NotFoundError
from ragkit.store import documents, vectors
from ragkit.store.acting import keeps_sessions
from ragkit.store.binding import (
    KeptSpace,
    active,
    bind,
    bound,
    complete,
    kept_space,
    lock_bound,
    remember,
)
from ragkit.store.gaps import Gaps, count_missing, vector_table
from ragkit.store.lending import lent, snapshot, transaction
from ragkit.store.where import Readers
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

    from ragkit.contracts import Vectors

_KEPT: Final = """
    SELECT k.space_id, k.space, k.source, k.first,
        CASE WHEN k.kept IS NULL THEN 'dropped' WHEN k.space_id = c.space_id THEN 'active'
            WHEN k.space_id = c.previous_space_id THEN 'previous'
            WHEN k.complete_at IS NOT NULL THEN 'ready' ELSE 'building' END,
        k.started_at, k.complete_at, c.switched_at
    FROM collection c JOIN collection_space k ON k.tenant = c.tenant AND k.collection_id = c.id
    WHERE c.tenant = %s AND c.id = %s ORDER BY k.started_at, k.space_id
"""
_FORGET: Final = """
    UPDATE collection SET previous_space_id = NULL
    WHERE tenant = %s AND id = %s AND previous_space_id = %s"""
_IS_KEPT: Final = """
    SELECT kept IS NOT NULL FROM collection_space
    WHERE tenant = %s AND collection_id = %s AND space_id = %s FOR NO KEY UPDATE"""
_SWITCH: Final = """
    UPDATE collection SET space_id = %s, previous_space_id = space_id, switched_at = now()
    WHERE tenant = %s AND id = %s AND space_id <> %s
"""


class Spaces:
    """One tenant's embedding spaces; methods raise NotFoundError for an unknown collection.

    `number` returns a space's number, having made its table first when it is new. `owner` opens a
    connection of the tables' owner.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        tenant: str,
        *,
        number: Callable[[EmbeddingSpace], int],
        owner: Callable[[], AbstractContextManager[Connection[Any]]],
        readers: Readers = None,
    ) -> None:
        self._readers = readers
        self._pool = pool
        self._tenant = tenant
        self._number = number
        self._owner = owner

    def of(self, collection: str) -> Sequence[KeptSpace]:
        """List a collection's spaces by their beginning, dropped ones as well."""
        with self._in(collection) as (cursor, collection_id):
            return [kept_space(row) for row in cursor.execute(_KEPT, (self._tenant, collection_id))]

    def active(self, collection: str) -> KeptSpace | None:
        """Return the space that a collection is searched in; None for one without passages."""
        with self._in(collection) as (cursor, collection_id):
            return active(cursor, self._tenant, collection_id)

    def open(
        self, collection: str, space: EmbeddingSpace, *, source: str, first: int | None
    ) -> KeptSpace:
        """Begin a space for a collection, or go on with it; remember what its model is loaded by.

        `source` names the model as `RAGKIT_EMBED_MODEL` would.
        """
        space_id = self._number(space)
        with self._in(collection) as (cursor, collection_id):
            remember(cursor, self._tenant, collection_id, space_id, space, source, first)
        return next(kept for kept in self.of(collection) if kept.id == space_id)

    def adopt(
        self, collection: str, space: EmbeddingSpace, *, source: str, first: int | None
    ) -> None:
        """Make a space the own one of a collection without passages. Raises OtherModelError."""
        kept = self.open(collection, space, source=source, first=first)
        with self._in(collection) as (cursor, collection_id):
            bind(cursor, self._tenant, collection_id, kept.id, space)

    def gaps(self, collection: str, space_id: int) -> Gaps:
        """Return the passages of a collection that have no vector in a space."""
        return Gaps(self._pool, self._tenant, collection, space_id)

    def nearest(
        self, collection: str, space: EmbeddingSpace, vector: Vectors, k: int
    ) -> list[tuple[int, float]]:
        """Search any space of a collection's, active or not; see `Reader.nearest`."""
        with snapshot(self._pool, self._tenant) as cursor:
            collection_id = self._collection(cursor, collection)
            return vectors.nearest(cursor, space, self._tenant, collection_id, vector, k)

    @contextmanager
    def alone(self, collection: str) -> Iterator[None]:
        """Keep others from building a collection's spaces meanwhile.

        Raises BusyError, DatabaseError. Behind PgBouncer nothing is kept: the same work may then be
        done twice, and stored once.
        """
        with self._in(collection) as (_, collection_id):
            pass
        key = (f"ragkit reembed {self._tenant} {collection_id}",)
        with lent(self._pool) as conn:
            keeps = keeps_sessions(conn)
            lock = "SELECT pg_try_advisory_lock(hashtext('ragkit reembed'), hashtext(%s))"
            if keeps and conn.execute(lock, key).fetchone() == (False,):
                raise BusyError(
                    f"another process is embedding collection {collection!r} anew: wait for it"
                )
            try:
                yield
            finally:
                if keeps and not conn.closed:
                    unlock = "SELECT pg_advisory_unlock(hashtext('ragkit reembed'), hashtext(%s))"
                    conn.execute(unlock, key)

    def complete(self, collection: str, space_id: int) -> None:
        """Say that every passage has its vector in a space."""
        with self._in(collection) as (cursor, collection_id):
            complete(cursor, self._tenant, collection_id, space_id)

    def switch(self, collection: str, space_id: int) -> int:
        """Search a collection in another space from now on, if every passage has its vector there.

        Return how many have none; the switch was made when that is 0. It is one statement, under a
        lock that keeps writers out between the count and it; searches go on. Raises NotFoundError
        for a space whose vectors were dropped, BusyError for one whose are being dropped.
        """
        with self._in(collection) as (cursor, collection_id):
            lock_bound(cursor, self._tenant, collection_id)
            try:  # writers would wait as well
                kept = _lock_kept(cursor, self._tenant, collection_id, space_id, wait=False)
            except errors.LockNotAvailable as error:
                who = f"another process is at work on collection {collection!r} in this space"
                raise BusyError(f"{who}: wait for it") from error
            if not kept:
                raise NotFoundError(
                    f"collection {collection!r} has no vectors in this space any more: build them"
                    " with `ragkit index reembed --to MODEL`"
                )
            missing = count_missing(cursor, self._tenant, collection_id, space_id)
            if not missing:
                cursor.execute(_SWITCH, (space_id, self._tenant, collection_id, space_id))
            return missing

    def drop(self, collection: str, space_id: int) -> int:
        """Delete a collection's vectors in a space that it is not searched in; return how many.

        Raises BusyError for the one that it is searched in.
        """
        with self._in(collection) as (cursor, collection_id):
            lock_bound(cursor, self._tenant, collection_id)
            self._refuse_active(cursor, collection, collection_id, space_id)
            cursor.execute(_FORGET, (self._tenant, collection_id, space_id))
        with self._in(collection) as (cursor, collection_id):  # writers need not wait for this
            # A switch since then was made, and is seen; none is made from here on.
            _lock_kept(cursor, self._tenant, collection_id, space_id, wait=True)
            self._refuse_active(cursor, collection, collection_id, space_id)
            statement = sql.SQL(
                "DELETE FROM {} WHERE tenant = %s AND collection_id IN (SELECT id FROM collection"
                " WHERE tenant = %s AND (id = %s OR versions_of = %s))"
            )
            named = (self._tenant, self._tenant, collection_id, collection_id)
            gone = cursor.execute(statement.format(vector_table(space_id)), named).rowcount
            cursor.execute(
                "UPDATE collection_space SET kept = NULL"
                " WHERE tenant = %s AND collection_id = %s AND space_id = %s",
                (self._tenant, collection_id, space_id),
            )
        return gone

    def drop_unused(self, space_id: int) -> bool:
        """Drop the table of a space that nobody has vectors in; tell whether it was done.

        Foreign keys see the collections of every tenant, whomever this one may see.
        """
        with self._owner() as conn:
            try:
                with conn.transaction(), conn.cursor() as cursor:
                    cursor.execute("DELETE FROM embedding_space WHERE id = %s", (space_id,))
                    table = vector_table(space_id)
                    cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
            except errors.ForeignKeyViolation:
                return False
        return True

    def size(self, collection: str, space_id: int) -> tuple[int, int]:
        """Return how many vectors a collection has in a space, and their share of its bytes."""
        with self._in(collection) as (cursor, collection_id):
            query = sql.SQL(
                "SELECT (SELECT count(*) FROM {table} WHERE tenant = %s AND collection_id = %s),"
                " reltuples, (SELECT sum(pg_total_relation_size(t))::bigint FROM ("
                "SELECT oid AS t UNION ALL"
                " SELECT inhrelid FROM pg_inherits WHERE inhparent = oid) p) FROM pg_class"
                " WHERE relname = %s AND pg_table_is_visible(oid)"
            ).format(table=vector_table(space_id))
            name = vectors.table_name(space_id)
            row = cursor.execute(query, (self._tenant, collection_id, name)).fetchone()
            assert row is not None
            rows, everything, disk = row
            return int(rows), round(disk * rows / max(rows, everything, 1))

    def _refuse_active(
        self, cursor: Cursor[Any], collection: str, collection_id: int, space_id: int
    ) -> None:
        if bound(cursor, self._tenant, collection_id) == space_id:
            raise BusyError(f"collection {collection!r} is searched in this space: move it")

    @contextmanager
    def _in(self, collection: str) -> Iterator[tuple[Cursor[Any], int]]:
        with transaction(self._pool, self._tenant) as cursor:
            yield cursor, self._collection(cursor, collection)

    def _collection(self, cursor: Cursor[Any], name: str) -> int:
        """Look a collection up that is there for who asks."""
        readers = self._readers
        return documents.collection_id(cursor, self._tenant, name, readers=readers)


def _lock_kept(
    cursor: Cursor[Any], tenant: str, collection: int, space_id: int, *, wait: bool
) -> bool:
    """Lock what is noted of a space, after the collection if at all; tell if its vectors are kept.

    Raises LockNotAvailable.
    """
    statement = _IS_KEPT if wait else _IS_KEPT + " NOWAIT"
    return cursor.execute(statement, (tenant, collection, space_id)).fetchone() == (True,)
