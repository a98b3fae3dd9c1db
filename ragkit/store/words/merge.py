"""Merge segments of the word index: fewer segments, without the chunks that are gone.

Segments are never changed: a merge writes a new one and deletes the old ones in one transaction,
so readers and writers see the old ones or the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ragkit.store.session import begin_on
from ragkit.store.words import segment_rows
from ragkit.store.words import segments as packed

if TYPE_CHECKING:
    from psycopg import Connection

    from ragkit.store.session import Session

MAX_SEGMENTS = 8  # arbitrary: a query reads one row per term and segment
MAX_EMPTY = 64  # arbitrary: a deletion leaves one; a query reads their numbers
_PURGE_SHARE = 0.1  # arbitrary: tombstones beyond a tenth of a collection are worth a rewrite
_BATCH_ROWS = 50_000  # arbitrary; a batch is held in memory, and each is a COPY of its own
_BATCH_BYTES = 32 << 20
_FETCH_ROWS = 5_000  # arbitrary: some rows are long

_LOCK = "SELECT pg_advisory_xact_lock(hashtext(%(name)s), %(collection)s::int)"
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext(%(name)s), %(collection)s::int)"
_STATE = """
    SELECT id, chunks FROM lexical_segment
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s ORDER BY chunks, id
"""
_BURIED = """
    SELECT count(*) FROM lexical_tombstone
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""
_TOMBSTONES = """
    SELECT chunk_id FROM lexical_tombstone
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s ORDER BY 1
"""
_ROWS = """
    SELECT term, segment_id, data FROM lexical_posting
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND segment_id = ANY(%(segments)s)
    ORDER BY term
"""
_DELETE = (
    "DELETE FROM lexical_posting WHERE tenant = %(tenant)s AND collection_id = %(collection)s"
    " AND segment_id = ANY(%(segments)s)",
    "DELETE FROM lexical_segment WHERE tenant = %(tenant)s AND collection_id = %(collection)s"
    " AND id = ANY(%(segments)s)",
)
_DELETE_TOMBSTONES = """
    DELETE FROM lexical_tombstone
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND chunk_id = ANY(%(chunks)s)
"""


def merge(conn: Connection[Any], tenant: str, collection: int, *, wait: bool = True) -> None:
    """Merge small segments and drop buried chunks where that pays; safe beside readers and writers.

    It is a session of its own, on a connection in autocommit mode. Unless it is to `wait`, it
    leaves a collection alone that another process is merging.
    """
    with begin_on(conn, tenant) as session:
        # One merge at a time. What is read after the lock is current and stays so: only a merge
        # deletes a segment.
        if wait:
            lock(session, collection)
        elif not session.value(_TRY_LOCK, _key(session, collection)):
            return
        values = {"collection": collection}
        rows = session.execute(_STATE, values).fetchall()
        empty = [int(number) for number, chunks in rows if not chunks]
        sizes = [(int(number), int(chunks)) for number, chunks in rows if chunks]
        if session.value(_BURIED, values) > _PURGE_SHARE * sum(chunks for _, chunks in sizes):
            _rewrite(session, collection, [*empty, *(number for number, _ in sizes)], last=True)
        elif len(sizes) > MAX_SEGMENTS:
            _rewrite(session, collection, [*empty, *segments_to_merge(sizes)])
        elif len(empty) > MAX_EMPTY:
            _rewrite(session, collection, empty)


def lock(session: Session, collection: int) -> None:
    """Keep merges of a collection waiting until the session ends."""
    session.execute(_LOCK, _key(session, collection))


def _key(session: Session, collection: int) -> dict[str, object]:
    return {"name": f"ragkit merge {session.tenant}", "collection": collection}


def segments_to_merge(sizes: Sequence[tuple[int, int]]) -> list[int]:
    """Choose segments, smallest first, as long as the next is no more than twice what is chosen.

    Sizes then grow geometrically, and a chunk is rewritten O(log n) times.

    >>> segments_to_merge([(1, 1), (2, 1), (3, 3), (4, 90)])
    [1, 2, 3]
    """
    chosen: list[int] = []
    total = 0
    for segment, chunks in sizes:
        if len(chosen) >= 2 and chunks > 2 * total:
            break
        chosen.append(segment)
        total += chunks
    return chosen


def _rewrite(session: Session, collection: int, numbers: list[int], *, last: bool = False) -> None:
    """Make one segment of several, without the chunks that are gone.

    Where no chunk remains and the segments were the collection's `last`, there is none then.
    """
    import numpy as np

    values = {"collection": collection, "segments": numbers}
    dead = np.array([row[0] for row in session.execute(_TOMBSTONES, values)], np.int64)
    parts = segment_rows.mark_gone(segment_rows.fetch(session, collection, numbers), dead)
    joined, moved = packed.join(parts, drop_gone=True)
    if len(joined.ids):
        number = segment_rows.add(session, collection, joined.ids, joined.lengths)
        places = dict(zip(numbers, moved, strict=True))
        conn = session.cursor.connection
        with conn.cursor("merge", binary=True) as rows:  # streamed: it may outgrow memory
            rows.itersize = _FETCH_ROWS
            rows.execute(_ROWS, {**values, "tenant": session.tenant})
            for batch in _batches(rows):
                moved_rows = packed.move_rows(batch, places, len(joined.ids))
                segment_rows.add_postings(session, collection, number, moved_rows)
    elif not last:
        # The remaining numbers are not those of an earlier state.
        segment_rows.add_empty(session, collection)
    for statement in _DELETE:
        session.execute(statement, values)
    gone = [(part.ids, part.gone) for part in parts if part.gone is not None]
    buried = [int(chunk) for ids, mask in gone for chunk in ids[mask]]
    session.execute(_DELETE_TOMBSTONES, {**values, "chunks": buried})


def _batches(rows: Iterable[tuple[str, int, bytes]]) -> Iterator[list[tuple[str, int, bytes]]]:
    """Cut rows into batches of whole terms."""
    batch: list[tuple[str, int, bytes]] = []
    size_bytes = 0
    for row in rows:
        full = len(batch) >= _BATCH_ROWS or size_bytes >= _BATCH_BYTES
        if full and row[0] != batch[-1][0]:
            yield batch
            batch, size_bytes = [], 0
        batch.append(row)
        size_bytes += len(row[2])
    if batch:
        yield batch
