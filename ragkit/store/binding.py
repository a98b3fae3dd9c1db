"""The embedding space that a collection is searched in: bound to it, held, and required of others.

Writers hold the collection's row shared while they add vectors of its space, so that a switch to
another waits for them and they for it. It knows nothing of how a collection comes by another space:
see `ragkit.store.spaces`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from ragkit.errors import OtherModelError
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from psycopg import Cursor

State = Literal["active", "previous", "ready", "building", "dropped"]

_ACTIVE: Final = """
    SELECT k.space_id, k.space, k.source, k.first, 'active', k.started_at, k.complete_at,
        c.switched_at
    FROM collection c JOIN collection_space k
        ON k.tenant = c.tenant AND k.collection_id = c.id AND k.space_id = c.space_id
    WHERE c.tenant = %s AND c.id = %s AND EXISTS (
        SELECT 1 FROM chunk t WHERE t.tenant = c.tenant AND t.collection_id = c.id)
"""
_BOUND: Final = "SELECT space_id FROM collection WHERE tenant = %s AND id = %s"
_IS_ACTIVE: Final = """
    SELECT c.space_id = (SELECT s.id FROM embedding_space s WHERE
        (s.model, s.revision, s.dimension, s.query_prefix, s.passage_prefix) = (%s, %s, %s, %s, %s))
    FROM collection c WHERE c.tenant = %s AND c.id = %s
"""
_COMPLETE: Final = """
    UPDATE collection_space SET complete_at = coalesce(complete_at, now())
    WHERE tenant = %s AND collection_id = %s AND space_id = %s
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


def active(cursor: Cursor[Any], tenant: str, collection: int) -> KeptSpace | None:
    """Return the space that a collection is searched in; None for one without passages."""
    row = cursor.execute(_ACTIVE, (tenant, collection)).fetchone()
    return None if row is None else kept_space(row)


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
    if bound(cursor, tenant, collection) == space_id:
        return
    lock_bound(cursor, tenant, collection)
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
    complete(cursor, tenant, collection, space_id)


def complete(cursor: Cursor[Any], tenant: str, collection: int, space_id: int) -> None:
    """Note that every passage of a collection has its vector in a space."""
    cursor.execute(_COMPLETE, (tenant, collection, space_id))


def hold(
    cursor: Cursor[Any], tenant: str, collection: int, space_id: int, space: EmbeddingSpace
) -> None:
    """Keep a collection in this space until the transaction ends. Raises OtherModelError."""
    row = cursor.execute(_BOUND + " FOR SHARE", (tenant, collection)).fetchone()
    if row is None or row[0] != space_id:
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
        f" use the collection's model, or move it to the other with"
        " `ragkit index reembed --to MODEL`"
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


def bound(cursor: Cursor[Any], tenant: str, collection: int) -> int | None:
    """Return the number of the space that a collection is bound to, passages or none."""
    row = cursor.execute(_BOUND, (tenant, collection)).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def lock_bound(cursor: Cursor[Any], tenant: str, collection: int) -> None:
    """Keep the collection's space as it is until the transaction ends; no writer holds it then."""
    cursor.execute(_BOUND + " FOR NO KEY UPDATE", (tenant, collection))


def kept_space(row: Sequence[Any]) -> KeptSpace:
    """Read a row of a collection's spaces."""
    space_id, space, source, first, state, started, complete, switched = row
    of = EmbeddingSpace(**space)
    return KeptSpace(space_id, of, source, first, state, started, complete, switched)
