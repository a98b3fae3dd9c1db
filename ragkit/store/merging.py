"""Merging segments of the word index: fewer of them, and nothing of chunks that are gone.

Segments are never changed: a merge writes a new one and deletes the old ones in one transaction,
so readers and writers beside it see the ones or the other. It knows nothing of queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from psycopg import Connection, Cursor

from ragkit.store import segment_rows
from ragkit.store import segments as packed
from ragkit.store.lending import begun
from ragkit.store.rows import first_value

MAX_SEGMENTS = 8  # arbitrary: a query reads one row per term and segment
MAX_EMPTY = 64  # arbitrary: a deletion leaves one, and so do others; a query reads the number
_PURGE_SHARE = 0.1  # arbitrary: tombstones beyond a tenth of a collection are worth a rewrite
_BATCH_ROWS = 50_000  # arbitrary; a batch is held in memory, and each is a COPY of its own
_BATCH_BYTES = 32 << 20
_FETCH_ROWS = 5_000  # arbitrary: some rows are long

_LOCK = "SELECT pg_advisory_xact_lock(hashtext(%s), %s::int)"
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext(%s), %s::int)"
_STATE = """
    SELECT id, chunks FROM lexical_segment
    WHERE tenant = %s AND collection_id = %s ORDER BY chunks, id
"""
_BURIED = "SELECT count(*) FROM lexical_tombstone WHERE tenant = %s AND collection_id = %s"
_TOMBSTONES = (
    "SELECT chunk_id FROM lexical_tombstone WHERE tenant = %s AND collection_id = %s ORDER BY 1"
)
_ROWS = """
    SELECT term, segment_id, data FROM lexical_posting
    WHERE tenant = %s AND collection_id = %s AND segment_id = ANY(%s) ORDER BY term
"""
_DELETE = (
    "DELETE FROM lexical_posting WHERE tenant = %s AND collection_id = %s AND segment_id = ANY(%s)",
    "DELETE FROM lexical_segment WHERE tenant = %s AND collection_id = %s AND id = ANY(%s)",
)
_DELETE_TOMBSTONES = """
    DELETE FROM lexical_tombstone
    WHERE tenant = %s AND collection_id = %s AND chunk_id = ANY(%s)
"""


def merge(conn: Connection[Any], tenant: str, collection: int, *, wait: bool = True) -> None:
    """Merge small segments and drop buried chunks where that pays; safe beside readers and writers.

    It is a transaction of its own, on a connection in autocommit mode with none begun. Unless it is
    to `wait`, it leaves a collection that another one merges.
    """
    owner = (tenant, collection)
    with begun(conn, tenant) as cursor:
        # One merge at a time. What is read after the lock is seen as it is then, and stays: nobody
        # else changes or deletes a segment.
        if wait:
            lock(cursor, tenant, collection)
        elif not first_value(cursor, _TRY_LOCK, _name(tenant, collection)):
            return
        rows = cursor.execute(_STATE, owner).fetchall()
        empty = [int(number) for number, chunks in rows if not chunks]
        sizes = [(int(number), int(chunks)) for number, chunks in rows if chunks]
        if first_value(cursor, _BURIED, owner) > _PURGE_SHARE * sum(chunks for _, chunks in sizes):
            _rewrite(conn, cursor, owner, [*empty, *(number for number, _ in sizes)], last=True)
        elif len(sizes) > MAX_SEGMENTS:
            _rewrite(conn, cursor, owner, [*empty, *segments_to_merge(sizes)])
        elif len(empty) > MAX_EMPTY:
            _rewrite(conn, cursor, owner, empty)


def lock(cursor: Cursor[Any], tenant: str, collection: int) -> None:
    """Keep merges of a collection waiting until the transaction ends."""
    cursor.execute(_LOCK, _name(tenant, collection))


def _name(tenant: str, collection: int) -> tuple[str, int]:
    return f"ragkit merge {tenant}", collection


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


def _rewrite(
    conn: Connection[Any],
    cursor: Cursor[Any],
    owner: tuple[str, int],
    old: list[int],
    *,
    last: bool = False,
) -> None:
    """Make one segment of several, without the chunks that are gone.

    Nothing stays of it where none is left and they were the `last`, of those of the collection.
    """
    import numpy as np

    dead = np.array([chunk for (chunk,) in cursor.execute(_TOMBSTONES, owner)], np.int64)
    parts = segment_rows.mark_gone(segment_rows.fetch(cursor, owner, old), dead)
    joined, moved = packed.join(parts, drop_gone=True)
    if len(joined.ids):
        number = segment_rows.add(cursor, owner, joined.ids, joined.lengths)
        where = dict(zip(old, moved, strict=True))
        size = len(joined.ids)
        with conn.cursor("merge", binary=True) as rows:  # streamed: it may outgrow memory
            rows.itersize = _FETCH_ROWS
            rows.execute(_ROWS, (*owner, old))
            for batch in _batches(rows):
                moved_rows = packed.move_rows(batch, where, size)
                segment_rows.add_postings(cursor, owner, number, moved_rows)
    elif not last:
        segment_rows.add_empty(cursor, owner)  # numbers left over are not those of an earlier state
    for statement in _DELETE:
        cursor.execute(statement, (*owner, old))
    buried = [int(chunk) for one in parts if one.gone is not None for chunk in one.ids[one.gone]]
    cursor.execute(_DELETE_TOMBSTONES, (*owner, buried))


def _batches(rows: Iterable[tuple[str, int, bytes]]) -> Iterator[list[tuple[str, int, bytes]]]:
    """Cut rows into batches of whole terms."""
    batch: list[tuple[str, int, bytes]] = []
    held = 0
    for row in rows:
        full = len(batch) >= _BATCH_ROWS or held >= _BATCH_BYTES
        if full and row[0] != batch[-1][0]:
            yield batch
            batch, held = [], 0
        batch.append(row)
        held += len(row[2])
    if batch:
        yield batch
