"""The embedding space that a collection is searched in: set, locked, and required of searches.

Writers lock the collection's row shared while they add vectors of its space, so that a switch to
another waits for them and they for it. Switching is in `ragkit.store.vectors.collection_spaces`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from ragkit.embed.find import shown_name
from ragkit.errors import OtherModelError
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.store.session import Session

State = Literal["active", "previous", "ready", "building", "dropped"]

_ACTIVE: Final = """
    SELECT k.space_id, k.space, k.source, k.first, 'active', k.started_at, k.complete_at,
        c.switched_at
    FROM collection c JOIN collection_space k
        ON k.tenant = c.tenant AND k.collection_id = c.id AND k.space_id = c.space_id
    WHERE c.tenant = %(tenant)s AND c.id = %(collection)s AND EXISTS (
        SELECT 1 FROM chunk t WHERE t.tenant = c.tenant AND t.collection_id = c.id)
"""
_BOUND: Final = """
    SELECT space_id FROM collection WHERE tenant = %(tenant)s AND id = %(collection)s
"""
_BIND: Final = """
    UPDATE collection SET space_id = %(space)s, previous_space_id = NULL
    WHERE tenant = %(tenant)s AND id = %(collection)s
"""
_IS_ACTIVE: Final = """
    SELECT c.space_id = (SELECT s.id FROM embedding_space s WHERE
        (s.model, s.revision, s.dimension, s.query_prefix, s.passage_prefix)
            = (%(model)s, %(revision)s, %(dimension)s, %(query_prefix)s, %(passage_prefix)s))
    FROM collection c WHERE c.tenant = %(tenant)s AND c.id = %(collection)s
"""
_COMPLETE: Final = """
    UPDATE collection_space SET complete_at = now() WHERE tenant = %(tenant)s
        AND collection_id = %(collection)s AND space_id = %(space)s AND complete_at IS NULL
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
    """A space of a collection, the source that its model is loaded by, and its state.

    `first` is how many dimensions were requested; None means all that the model has.
    """

    id: int
    space: EmbeddingSpace
    source: str
    first: int | None
    state: State
    started_at: datetime
    complete_at: datetime | None
    switched_at: datetime | None

    @property
    def name(self) -> str:
        """The model's name for people; see `ragkit.embed.find.shown_name`."""
        return shown_name(self.space.model, self.space.revision, self.source)


def active(session: Session, collection: int) -> KeptSpace | None:
    """Return the space that a collection is searched in; None for one without passages."""
    row = session.row(_ACTIVE, {"collection": collection})
    return None if row is None else kept_space(row)


def remember(
    session: Session,
    collection: int,
    space_id: int,
    space: EmbeddingSpace,
    source: str = "",
    first: int | None = None,
) -> None:
    """Note that a collection has, or is to have, vectors in a space; earlier notes stay."""
    columns = json.dumps(asdict(space), ensure_ascii=False)
    values = {"collection": collection, "id": space_id, "space": columns}
    session.execute(_REMEMBER, {**values, "source": source, "first": first})


def bind(session: Session, collection: int, space_id: int, space: EmbeddingSpace) -> None:
    """Make a space the active one of a collection that has no passages.

    Raises OtherModelError when it is searched in another. For a session of its own, before `hold`:
    two writers that bind and hold in one would wait for each other.
    """
    if bound(session, collection) == space_id:
        return
    lock_bound(session, collection)
    # A statement of its own: it sees what was committed while the lock was waited for.
    present = active(session, collection)
    if present is not None and present.id != space_id:
        raise other_model(present.space, space)
    remember(session, collection, space_id, space)
    session.execute(_BIND, {"collection": collection, "space": space_id})
    complete(session, collection, space_id)


def complete(session: Session, collection: int, space_id: int) -> None:
    """Note that every passage of a collection has its vector in a space."""
    session.execute(_COMPLETE, {"collection": collection, "space": space_id})


def hold(session: Session, collection: int, space_id: int, space: EmbeddingSpace) -> None:
    """Keep a collection in this space until the session ends. Raises OtherModelError."""
    row = session.row(_BOUND + " FOR SHARE", {"collection": collection})
    if row is None or row[0] != space_id:
        present = active(session, collection)
        raise other_model(present.space if present else None, space)


def require(session: Session, collection: int, space: EmbeddingSpace) -> None:
    """Raise OtherModelError unless a collection is searched in this space, or has no passages."""
    if session.row(_IS_ACTIVE, {**asdict(space), "collection": collection}) == (True,):
        return
    present = active(session, collection)
    if present is not None and present.space != space:
        raise other_model(present.space, space)


def other_model(present: EmbeddingSpace | None, other: EmbeddingSpace) -> OtherModelError:
    """Say which model a collection has, and which other one the vectors are of."""
    if present is None:
        return OtherModelError(
            f"the collection has no vectors of {described(other)}: ingest into it, or name another"
        )
    if replace(present, dimension=other.dimension) == other:
        return OtherModelError(
            f"the collection has {present.dimension} dimensions of {present.model}, which now gives"
            f" {other.dimension}: it is another model under that name, or RAGKIT_EMBED_DIMENSION is"
            " another: put that back, or move the collection with `ragkit index reembed --to MODEL`"
        )
    return OtherModelError(
        f"the collection is embedded with {described(present)}, not with"
        f" {described(other, present)}: use the collection's model, or move it to the other with"
        " `ragkit index reembed --to MODEL`"
    )


def described(space: EmbeddingSpace, reference: EmbeddingSpace | None = None) -> str:
    """Name a space in a few words, and prefixes that differ from those of a reference."""
    words = [f"revision {space.revision}", f"{space.dimension} dimensions"]
    if reference is not None and reference.model == space.model:
        for name, prefix, expected in (
            ("query", space.query_prefix, reference.query_prefix),
            ("passage", space.passage_prefix, reference.passage_prefix),
        ):
            if prefix != expected:
                words.append(f"{name} prefix {prefix!r} where it has {expected!r}")
    return f"{space.model} ({', '.join(words)})"


def bound(session: Session, collection: int) -> int | None:
    """Return the number of the space that a collection is bound to, passages or none."""
    row = session.row(_BOUND, {"collection": collection})
    return None if row is None or row[0] is None else int(row[0])


def lock_bound(session: Session, collection: int) -> None:
    """Keep the collection's space as it is until the session ends; no writer holds it then."""
    session.execute(_BOUND + " FOR NO KEY UPDATE", {"collection": collection})


def kept_space(row: Sequence[Any]) -> KeptSpace:
    """Read a row of a collection's spaces."""
    space_id, columns, *values = row
    return KeptSpace(space_id, EmbeddingSpace(**columns), *values)
