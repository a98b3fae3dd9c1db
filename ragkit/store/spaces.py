"""Which embedding spaces a collection has vectors in, and the one that it is searched in.

Writers hold the collection's row shared while they add vectors of its space, so that a switch to
another waits for them and they for it. It knows nothing of models or of how vectors come to be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from psycopg import errors, sql

from ragkit.errors import BusyError, NotFoundError, OtherModelError
from ragkit.store import documents, vectors
from ragkit.store.acting import keeps_sessions
from ragkit.store.gaps import Gaps, count_missing, vector_table
from ragkit.store.lending import lent, snapshot, transaction
from ragkit.store.where import Readers
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

    from ragkit.contracts import Vectors

State = Literal["active", "previous", "ready", "building", "dropped"]

_KEPT: Final = """
    SELECT k.space_id, k.space, k.source, k.first,
        CASE WHEN k.kept IS NULL THEN 'dropped' WHEN k.space_id = c.space_id THEN 'active'
            WHEN k.space_id = c.previous_space_id THEN 'previous'
            WHEN k.complete_at IS NOT NULL THEN 'ready' ELSE 'building' END,
        k.started_at, k.complete_at, c.switched_at
    FROM collection c JOIN collection_space k ON k.tenant = c.tenant AND k.collection_id = c.id
    WHERE c.tenant = %s AND c.id = %s ORDER BY k.started_at, k.space_id
"""
_ACTIVE: Final = """
    SELECT k.space_id, k.space, k.source, k.first, 'active', k.started_at, k.complete_at,
        c.switched_at
    FROM collection c JOIN collection_space k
        ON k.tenant = c.tenant AND k.collection_id = c.id AND k.space_id = c.space_id
    WHERE c.tenant = %s AND c.id = %s AND EXISTS (
        SELECT 1 FROM chunk t WHERE t.tenant = c.tenant AND t.collection_id = c.id)
"""
_BOUND: Final = "SELECT space_id FROM collection WHERE tenant = %s AND id = %s"
_FORGET: Final = """
    UPDATE collection SET previous_space_id = NULL
    WHERE tenant = %s AND id = %s AND previous_space_id = %s"""
_IS_KEPT: Final = """
    SELECT kept IS NOT NULL FROM collection_space
    WHERE tenant = %s AND collection_id = %s AND space_id = %s FOR NO KEY UPDATE"""
_IS_ACTIVE: Final = """
    SELECT c.space_id = (SELECT s.id FROM embedding_space s WHERE
        (s.model, s.revision, s.dimension, s.query_prefix, s.passage_prefix) = (%s, %s, %s, %s, %s))
    FROM collection c WHERE c.tenant = %s AND c.id = %s
"""
_REMEMBER: Final = """
    INSERT INTO collection_space (tenant, collection_id, space_id, kept, space, source, first)
    VALUES (%(tenant)s, %(collection)s, %(id)s, %(id)s, %(space)s, %(source)s, %(first)s)
    ON CONFLICT (tenant, collection_id, space_id) DO UPDATE SET
        source = coalesce(nullif(excluded.source, ''), collection_space.source),
        first = coalesce(excluded.first, collection_space.first),
        complete_at = CASE WHEN collection_space.kept IS NOT NULL
            THEN collection_space.complete_at END,
        kept = excluded.kept
"""
_SWITCH: Final = """
    UPDATE collection SET space_id = %s, previous_space_id = space_id, switched_at = now()
    WHERE tenant = %s AND id = %s AND space_id <> %s
"""


@dataclass(frozen=True, slots=True)
class KeptSpace:
    """A space of a collection's: what it is, what its model is loaded by, and how far it is.

    `first` is how many dimensions were asked for; None means all that the model has.
    """

    id: int
    space: EmbeddingSpace
    source: str
    first: int | None
    state: State
    started_at: datetime
    complete_at: datetime | None
    switched_at: datetime | None


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
        with self._in(collection) as (cursor, owner):
            return [_kept(row) for row in cursor.execute(_KEPT, (self._tenant, owner))]

    def active(self, collection: str) -> KeptSpace | None:
        """Return the space that a collection is searched in; None for one without passages."""
        with self._in(collection) as (cursor, owner):
            return active(cursor, self._tenant, owner)

    def open(
        self, collection: str, space: EmbeddingSpace, *, source: str, first: int | None
    ) -> KeptSpace:
        """Begin a space for a collection, or go on with it; remember what its model is loaded by.

        `source` names the model as `RAGKIT_EMBED_MODEL` would.
        """
        space_id = self._number(space)
        with self._in(collection) as (cursor, owner):
            remember(cursor, self._tenant, owner, space_id, space, source, first)
        return next(kept for kept in self.of(collection) if kept.id == space_id)

    def adopt(
        self, collection: str, space: EmbeddingSpace, *, source: str, first: int | None
    ) -> None:
        """Make a space the own one of a collection without passages. Raises OtherModelError."""
        kept = self.open(collection, space, source=source, first=first)
        with self._in(collection) as (cursor, owner):
            bind(cursor, self._tenant, owner, kept.id, space)

    def gaps(self, collection: str, space_id: int) -> Gaps:
        """Return the passages of a collection that have no vector in a space."""
        return Gaps(self._pool, self._tenant, collection, space_id)

    def nearest(
        self, collection: str, space: EmbeddingSpace, vector: Vectors, k: int
    ) -> list[tuple[int, float]]:
        """Search any space of a collection's, active or not; see `Reader.nearest`."""
        with snapshot(self._pool, self._tenant) as cursor:
            readers = self._readers
            owner = documents.collection_id(cursor, self._tenant, collection, readers=readers)
            return vectors.nearest(cursor, space, self._tenant, owner, vector, k)

    @contextmanager
    def alone(self, collection: str) -> Iterator[None]:
        """Keep others from building a collection's spaces meanwhile.

        Raises BusyError, DatabaseError. Behind PgBouncer nothing is kept: the same work may then be
        done twice, and stored once.
        """
        with self._in(collection) as (_, owner):
            pass
        key = (f"ragkit reembed {self._tenant} {owner}",)
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
        with self._in(collection) as (cursor, owner):
            cursor.execute(
                "UPDATE collection_space SET complete_at = coalesce(complete_at, now())"
                " WHERE tenant = %s AND collection_id = %s AND space_id = %s",
                (self._tenant, owner, space_id),
            )

    def switch(self, collection: str, space_id: int) -> int:
        """Search a collection in another space from now on, if every passage has its vector there.

        Return how many have none; the switch was made when that is 0. It is one statement, under a
        lock that keeps writers out between the count and it; searches go on. Raises NotFoundError
        for a space whose vectors were dropped, BusyError for one whose are being dropped.
        """
        with self._in(collection) as (cursor, owner):
            cursor.execute(_BOUND + " FOR NO KEY UPDATE", (self._tenant, owner))
            try:  # writers would wait as well
                kept = _lock_kept(cursor, self._tenant, owner, space_id, wait=False)
            except errors.LockNotAvailable as error:
                who = f"another process is at work on collection {collection!r} in this space"
                raise BusyError(f"{who}: wait for it") from error
            if not kept:
                raise NotFoundError(
                    f"collection {collection!r} has no vectors in this space any more: build them"
                    " with `ragkit reembed --to MODEL`"
                )
            missing = count_missing(cursor, self._tenant, owner, space_id)
            if not missing:
                cursor.execute(_SWITCH, (space_id, self._tenant, owner, space_id))
            return missing

    def drop(self, collection: str, space_id: int) -> int:
        """Delete a collection's vectors in a space that it is not searched in; return how many.

        Raises BusyError for the one that it is searched in.
        """
        with self._in(collection) as (cursor, owner):
            cursor.execute(_BOUND + " FOR NO KEY UPDATE", (self._tenant, owner))
            self._refuse_active(cursor, collection, owner, space_id)
            cursor.execute(_FORGET, (self._tenant, owner, space_id))
        with self._in(collection) as (cursor, owner):  # writers need not wait for this
            # A switch since then was made, and is seen; none is made from here on.
            _lock_kept(cursor, self._tenant, owner, space_id, wait=True)
            self._refuse_active(cursor, collection, owner, space_id)
            statement = sql.SQL(
                "DELETE FROM {} WHERE tenant = %s AND collection_id IN (SELECT id FROM collection"
                " WHERE tenant = %s AND (id = %s OR versions_of = %s))"
            )
            named = (self._tenant, self._tenant, owner, owner)
            gone = cursor.execute(statement.format(vector_table(space_id)), named).rowcount
            cursor.execute(
                "UPDATE collection_space SET kept = NULL"
                " WHERE tenant = %s AND collection_id = %s AND space_id = %s",
                (self._tenant, owner, space_id),
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
        with self._in(collection) as (cursor, owner):
            query = sql.SQL(
                "SELECT (SELECT count(*) FROM {table} WHERE tenant = %s AND collection_id = %s),"
                " reltuples, (SELECT sum(pg_total_relation_size(t))::bigint FROM ("
                "SELECT oid AS t UNION ALL"
                " SELECT inhrelid FROM pg_inherits WHERE inhparent = oid) p) FROM pg_class"
                " WHERE relname = %s AND pg_table_is_visible(oid)"
            ).format(table=vector_table(space_id))
            name = vectors.table_name(space_id)
            row = cursor.execute(query, (self._tenant, owner, name)).fetchone()
            assert row is not None
            rows, everything, disk = row
            return int(rows), round(disk * rows / max(rows, everything, 1))

    def _refuse_active(
        self, cursor: Cursor[Any], collection: str, owner: int, space_id: int
    ) -> None:
        if _bound(cursor, self._tenant, owner) == space_id:
            raise BusyError(f"collection {collection!r} is searched in this space: move it")

    @contextmanager
    def _in(self, collection: str) -> Iterator[tuple[Cursor[Any], int]]:
        with transaction(self._pool, self._tenant) as cursor:
            readers = self._readers
            yield (
                cursor,
                documents.collection_id(cursor, self._tenant, collection, readers=readers),
            )


def active(cursor: Cursor[Any], tenant: str, collection: int) -> KeptSpace | None:
    """Return the space that a collection is searched in; None for one without passages."""
    row = cursor.execute(_ACTIVE, (tenant, collection)).fetchone()
    return None if row is None else _kept(row)


def remember(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    space_id: int,
    space: EmbeddingSpace,
    source: str = "",
    first: int | None = None,
) -> None:
    """Note that a collection has, or is to have, vectors in a space; what was noted stays."""
    values = {"tenant": tenant, "collection": collection, "id": space_id}
    what = json.dumps(asdict(space), ensure_ascii=False)
    cursor.execute(_REMEMBER, {**values, "space": what, "source": source, "first": first})


def bind(
    cursor: Cursor[Any], tenant: str, collection: int, space_id: int, space: EmbeddingSpace
) -> None:
    """Make a space a collection's own while it has no passages.

    Raises OtherModelError when it is searched in another. For a transaction of its own, before
    `hold`: two writers that bind and hold in one would wait for each other.
    """
    if _bound(cursor, tenant, collection) == space_id:
        return
    cursor.execute(_BOUND + " FOR NO KEY UPDATE", (tenant, collection))
    # A statement of its own: it sees what was committed while the lock was waited for.
    known = active(cursor, tenant, collection)
    if known is not None and known.id != space_id:
        raise other_model(known.space, space)
    remember(cursor, tenant, collection, space_id, space)
    cursor.execute(
        "UPDATE collection SET space_id = %s, previous_space_id = NULL"
        " WHERE tenant = %s AND id = %s",
        (space_id, tenant, collection),
    )
    cursor.execute(
        "UPDATE collection_space SET complete_at = coalesce(complete_at, now())"
        " WHERE tenant = %s AND collection_id = %s AND space_id = %s",
        (tenant, collection, space_id),
    )


def hold(
    cursor: Cursor[Any], tenant: str, collection: int, space_id: int, space: EmbeddingSpace
) -> None:
    """Keep a collection in this space until the transaction ends. Raises OtherModelError."""
    bound = cursor.execute(_BOUND + " FOR SHARE", (tenant, collection)).fetchone()
    if bound is None or bound[0] != space_id:
        known = active(cursor, tenant, collection)
        raise other_model(known.space if known else None, space)


def require(cursor: Cursor[Any], tenant: str, collection: int, space: EmbeddingSpace) -> None:
    """Raise OtherModelError unless a collection is searched in this space, or has no passages."""
    what = (space.model, space.revision, space.dimension, space.query_prefix, space.passage_prefix)
    row = cursor.execute(_IS_ACTIVE, (*what, tenant, collection)).fetchone()
    if row == (True,):
        return
    known = active(cursor, tenant, collection)
    if known is not None and known.space != space:
        raise other_model(known.space, space)


def other_model(known: EmbeddingSpace | None, given: EmbeddingSpace) -> OtherModelError:
    """Say which of its model a collection has and which vectors were to meet it."""
    if known is None:
        return OtherModelError(
            f"the collection has no vectors of {described(given)}: ingest into it, or name another"
        )
    return OtherModelError(
        f"the collection is embedded with {described(known)}, not with {described(given, known)}:"
        f" use the collection's model, or move it to the other with `ragkit reembed --to MODEL`"
    )


def described(space: EmbeddingSpace, beside: EmbeddingSpace | None = None) -> str:
    """Name a space in a few words; what differs from the one beside it is said in full."""
    words = [f"revision {space.revision}", f"{space.dimension} dimensions"]
    if beside is not None and beside.model == space.model:
        for name, mine, its in (
            ("query", space.query_prefix, beside.query_prefix),
            ("passage", space.passage_prefix, beside.passage_prefix),
        ):
            if mine != its:
                words.append(f"{name} prefix {mine!r} where it has {its!r}")
    return f"{space.model} ({', '.join(words)})"


def _lock_kept(
    cursor: Cursor[Any], tenant: str, collection: int, space_id: int, *, wait: bool
) -> bool:
    """Lock what is noted of a space, after the collection if at all; tell if its vectors are kept.

    Raises LockNotAvailable.
    """
    statement = _IS_KEPT if wait else _IS_KEPT + " NOWAIT"
    return cursor.execute(statement, (tenant, collection, space_id)).fetchone() == (True,)


def _bound(cursor: Cursor[Any], tenant: str, collection: int) -> int | None:
    row = cursor.execute(_BOUND, (tenant, collection)).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def _kept(row: Sequence[Any]) -> KeptSpace:
    space_id, space, source, first, state, started, complete, switched = row
    of = EmbeddingSpace(**space)
    return KeptSpace(space_id, of, source, first, state, started, complete, switched)
