"""A collection's embedding spaces: built beside the one in use, switched to, dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from psycopg import errors, sql

from ragkit.errors import BusyError, NotFoundError
from ragkit.store import vectors
from ragkit.store.connection.identity import keeps_sessions
from ragkit.store.connection.transactions import lent
from ragkit.store.documents.documents import collection_id
from ragkit.store.session import TenantSessions
from ragkit.store.vectors.active_space import (
    KeptSpace,
    active,
    bind,
    bound,
    complete,
    kept_space,
    lock_bound,
    remember,
)
from ragkit.store.vectors.missing import Gaps, count_missing, vector_table
from ragkit.store.vectors.size import estimated_rows, table_bytes
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.contracts import Vectors
    from ragkit.store.documents.filter_sql import Readers
    from ragkit.store.session import Session

_SPACES: Final = """
    SELECT k.space_id, k.space, k.source, k.first,
        CASE WHEN k.kept IS NULL THEN 'dropped' WHEN k.space_id = c.space_id THEN 'active'
            WHEN k.space_id = c.previous_space_id THEN 'previous'
            WHEN k.complete_at IS NOT NULL THEN 'ready' ELSE 'building' END,
        k.started_at, k.complete_at, c.switched_at
    FROM collection c JOIN collection_space k ON k.tenant = c.tenant AND k.collection_id = c.id
    WHERE c.tenant = %(tenant)s AND c.id = %(collection)s ORDER BY k.started_at, k.space_id
"""
_FORGET: Final = """
    UPDATE collection SET previous_space_id = NULL
    WHERE tenant = %(tenant)s AND id = %(collection)s AND previous_space_id = %(space)s
"""
_IS_KEPT: Final = """
    SELECT kept IS NOT NULL FROM collection_space
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND space_id = %(space)s
    FOR NO KEY UPDATE
"""
_SWITCH: Final = """
    UPDATE collection SET space_id = %(space)s, previous_space_id = space_id, switched_at = now()
    WHERE tenant = %(tenant)s AND id = %(collection)s AND space_id <> %(space)s
"""
_DELETE_VECTORS: Final = sql.SQL("""
    DELETE FROM {} WHERE tenant = %(tenant)s AND collection_id IN (
        SELECT id FROM collection WHERE tenant = %(tenant)s
            AND (id = %(collection)s OR versions_of = %(collection)s))
""")
_NOTE_DROPPED: Final = """
    UPDATE collection_space SET kept = NULL
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND space_id = %(space)s
"""
_OWN_VECTORS: Final = sql.SQL("""
    SELECT count(*) FROM {table} WHERE tenant = %(tenant)s AND collection_id = %(collection)s
""")


class Spaces(TenantSessions):
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
        super().__init__(pool, tenant, readers)
        self._number = number
        self._owner = owner

    def of(self, collection: str) -> Sequence[KeptSpace]:
        """List a collection's spaces by their beginning, dropped ones as well."""
        with self._in_collection(collection) as (session, number):
            rows = session.execute(_SPACES, {"collection": number})
            return [kept_space(row) for row in rows]

    def active(self, collection: str) -> KeptSpace | None:
        """Return the space that a collection is searched in; None for one without passages."""
        with self._in_collection(collection) as (session, number):
            return active(session, number)

    def open(
        self, collection: str, space: EmbeddingSpace, *, source: str, first: int | None
    ) -> KeptSpace:
        """Begin a space for a collection, or go on with it; remember its model's source.

        `source` names the model as `RAGKIT_EMBED_MODEL` would.
        """
        space_id = self._number(space)
        with self._in_collection(collection) as (session, number):
            remember(session, number, space_id, space, source, first)
        return next(item for item in self.of(collection) if item.id == space_id)

    def adopt(
        self, collection: str, space: EmbeddingSpace, *, source: str, first: int | None
    ) -> None:
        """Make a space the active one of a collection without passages. Raises OtherModelError."""
        opened = self.open(collection, space, source=source, first=first)
        with self._in_collection(collection) as (session, number):
            bind(session, number, opened.id, space)

    def gaps(self, collection: str, space_id: int) -> Gaps:
        """Return the passages of a collection that have no vector in a space."""
        return Gaps(self._pool, self._tenant, collection, space_id)

    def nearest(
        self, collection: str, space: EmbeddingSpace, vector: Vectors, k: int
    ) -> list[tuple[int, float]]:
        """Search any space of a collection, active or not; see `Reader.nearest`."""
        with self._snapshot() as session:
            number = collection_id(session, collection)
            return vectors.nearest(session, space, number, vector, k)

    @contextmanager
    def alone(self, collection: str) -> Iterator[None]:
        """Keep other processes from building a collection's spaces meanwhile.

        Raises BusyError, DatabaseError. Behind PgBouncer no lock is held: the same work may then be
        done twice, and stored once.
        """
        with self._in_collection(collection) as (_, number):
            pass
        key = (f"ragkit reembed {self._tenant} {number}",)
        with lent(self._pool) as conn:
            has_lock = keeps_sessions(conn)
            lock = "SELECT pg_try_advisory_lock(hashtext('ragkit reembed'), hashtext(%s))"
            if has_lock and conn.execute(lock, key).fetchone() == (False,):
                raise BusyError(
                    f"another process is embedding collection {collection!r} anew: wait for it"
                )
            try:
                yield
            finally:
                if has_lock and not conn.closed:
                    unlock = "SELECT pg_advisory_unlock(hashtext('ragkit reembed'), hashtext(%s))"
                    conn.execute(unlock, key)

    def complete(self, collection: str, space_id: int) -> None:
        """Note that every passage has its vector in a space."""
        with self._in_collection(collection) as (session, number):
            complete(session, number, space_id)

    def switch(self, collection: str, space_id: int) -> int:
        """Search a collection in another space from now on, if every passage has its vector there.

        Return how many have none; the switch was made when that is 0. It is one statement, under a
        lock that keeps writers out between the count and it; searches go on. Raises NotFoundError
        for a space whose vectors were dropped, BusyError for one whose are being dropped.
        """
        with self._in_collection(collection) as (session, number):
            lock_bound(session, number)
            try:  # writers would wait as well
                is_kept = _lock_space(session, number, space_id, wait=False)
            except errors.LockNotAvailable as error:
                process = f"another process is at work on collection {collection!r} in this space"
                raise BusyError(f"{process}: wait for it") from error
            if not is_kept:
                raise NotFoundError(
                    f"collection {collection!r} has no vectors in this space any more: build them"
                    " with `ragkit index reembed --to MODEL`"
                )
            missing = count_missing(session, number, space_id)
            if not missing:
                session.execute(_SWITCH, {"collection": number, "space": space_id})
            return missing

    def drop(self, collection: str, space_id: int) -> int:
        """Delete a collection's vectors in a space that it is not searched in; return how many.

        Raises BusyError for the one that it is searched in.
        """
        with self._in_collection(collection) as (session, number):
            lock_bound(session, number)
            _refuse_active(session, collection, number, space_id)
            session.execute(_FORGET, {"collection": number, "space": space_id})
        with self._in_collection(collection) as (session, number):  # writers need not wait for this
            # A switch since then is committed, and visible; none is made from here on.
            _lock_space(session, number, space_id, wait=True)
            _refuse_active(session, collection, number, space_id)
            values = {"collection": number, "space": space_id}
            statement = _DELETE_VECTORS.format(vector_table(space_id))
            deleted = session.execute(statement, values).rowcount
            session.execute(_NOTE_DROPPED, values)
        return deleted

    def drop_unused(self, space_id: int) -> bool:
        """Drop the table of a space that no collection has vectors in; tell whether it was done.

        Foreign keys see the collections of every tenant, also those that this one may not see.
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
        with self._in_collection(collection) as (session, number):
            table = vectors.find_table(session.cursor, space_id)
            assert table is not None, "the collection has vectors in it"
            counted = _OWN_VECTORS.format(table=table.identifier)
            rows = int(session.value(counted, {"collection": number}))
            total = max(rows, estimated_rows(session.cursor, table), 1)
            return rows, round(table_bytes(session.cursor, table) * rows / total)


def _refuse_active(session: Session, collection: str, number: int, space_id: int) -> None:
    if bound(session, number) == space_id:
        raise BusyError(f"collection {collection!r} is searched in this space: move it")


def _lock_space(session: Session, collection: int, space_id: int, *, wait: bool) -> bool:
    """Lock the note of a space, after the collection if at all; tell if its vectors are kept.

    Raises LockNotAvailable.
    """
    statement = _IS_KEPT if wait else _IS_KEPT + " NOWAIT"
    return session.row(statement, {"collection": collection, "space": space_id}) == (True,)
