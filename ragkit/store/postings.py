"""The lexical index in PostgreSQL: term postings in segments, written with the document.

A posting is a record of chunk id, raw term frequency and chunk length; a row holds one term's
records of one segment. Deleted chunks leave a tombstone until a merge drops them, so counts are
exact at any moment. Knows nothing of scoring: see `ragkit.retrieve.bm25`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any

from psycopg import Connection, Cursor

from ragkit.contracts import Postings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RECORD = [("chunk", "<i8"), ("frequency", "<i4"), ("length", "<i4")]
_pack = Struct("<qii").pack
MAX_SEGMENTS = 8  # arbitrary: a query reads one row per term and segment
_PURGE_SHARE = 0.1  # arbitrary: tombstones beyond a tenth of a collection are worth a rewrite

_STATISTICS = """
    SELECT coalesce(sum(chunks), 0)::bigint, coalesce(sum(terms), 0)::bigint
    FROM lexical_segment WHERE tenant = %s AND collection_id = %s
"""
_TOMBSTONES = (
    "SELECT chunk_id, terms FROM lexical_tombstone WHERE tenant = %s AND collection_id = %s"
)
POSTINGS = """
    SELECT term, data FROM lexical_posting
    WHERE tenant = %s AND collection_id = %s AND term = ANY(%s) ORDER BY term, segment_id
"""
_BURY = """
    INSERT INTO lexical_tombstone (tenant, collection_id, chunk_id, terms)
    SELECT tenant, collection_id, id, terms FROM chunk WHERE tenant = %s AND document_id = %s
"""
_ADD_SEGMENT = """
    INSERT INTO lexical_segment (tenant, collection_id, id, chunks, terms)
    VALUES (%s, %s, %s, %s, %s)
"""
_MERGE_POSTINGS = """
    WITH old AS (
        DELETE FROM lexical_posting
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND segment_id = ANY(%(old)s)
        RETURNING term, segment_id, data
    )
    INSERT INTO lexical_posting (tenant, collection_id, term, segment_id, data)
    SELECT %(tenant)s, %(collection)s, term, %(new)s,
        string_agg(data, ''::bytea ORDER BY segment_id)
    FROM old GROUP BY term
"""
_MERGE_SEGMENTS = """
    WITH old AS (
        DELETE FROM lexical_segment
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND id = ANY(%(old)s)
        RETURNING chunks, terms
    )
    INSERT INTO lexical_segment (tenant, collection_id, id, chunks, terms)
    SELECT %(tenant)s, %(collection)s, %(new)s, sum(chunks), sum(terms) FROM old
"""
_SEGMENT_ROWS = """
    SELECT term, data FROM lexical_posting
    WHERE tenant = %s AND collection_id = %s AND segment_id = %s
"""
_UPDATE_POSTING = """
    UPDATE lexical_posting SET data = %s
    WHERE tenant = %s AND collection_id = %s AND segment_id = %s AND term = %s
"""
_DELETE_POSTING = """
    DELETE FROM lexical_posting
    WHERE tenant = %s AND collection_id = %s AND segment_id = %s AND term = %s
"""
_SHRINK_SEGMENT = """
    UPDATE lexical_segment SET chunks = chunks - %s, terms = terms - %s
    WHERE tenant = %s AND collection_id = %s AND id = %s
"""
_DELETE_TOMBSTONES = """
    DELETE FROM lexical_tombstone
    WHERE tenant = %s AND collection_id = %s AND chunk_id = ANY(%s)
"""


def add_segment(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    chunks: Sequence[int],
    terms: Sequence[Sequence[str]],
) -> None:
    """Write the postings of new chunks as one segment; `terms` has the terms of each chunk."""
    postings = invert(chunks, terms)
    segment = _next_segment(cursor)
    total = sum(len(of_chunk) for of_chunk in terms)
    cursor.execute(_ADD_SEGMENT, (tenant, collection, segment, len(chunks), total))
    with cursor.copy(
        "COPY lexical_posting (tenant, collection_id, term, segment_id, data)"
        " FROM STDIN (FORMAT BINARY)"
    ) as copy:
        copy.set_types(["text", "int8", "text", "int8", "bytea"])
        for term, data in postings.items():
            copy.write_row((tenant, collection, term, segment, data))


def bury(cursor: Cursor[Any], tenant: str, document: int) -> None:
    """Mark a document's chunks as gone; to be called before their rows are deleted."""
    cursor.execute(_BURY, (tenant, document))


def read(cursor: Cursor[Any], tenant: str, collection: int, terms: Sequence[str]) -> Postings:
    """Fetch what exact BM25 needs of the given terms; `cursor` must stand in one snapshot."""
    import numpy as np

    row = cursor.execute(_STATISTICS, (tenant, collection)).fetchone()
    assert row is not None
    dead = cursor.execute(_TOMBSTONES, (tenant, collection)).fetchall()
    gone = np.array([chunk for chunk, _ in dead], dtype=np.int64)
    pieces: dict[str, list[NDArray[np.void]]] = {}
    cursor.execute(POSTINGS, (tenant, collection, list(set(terms))), binary=True)
    for term, data in cursor:
        pieces.setdefault(term, []).append(np.frombuffer(data, dtype=_RECORD))
    found = {term: _alive(np.concatenate(records), gone) for term, records in pieces.items()}
    return Postings(
        chunks=row[0] - len(dead),
        total_length=row[1] - sum(length for _, length in dead),
        terms={
            term: (
                records["chunk"].astype(np.int64),
                records["frequency"].astype(np.int32),
                records["length"].astype(np.int32),
            )
            for term, records in found.items()
            if len(records)
        },
    )


def merge(conn: Connection[Any], tenant: str, collection: int) -> None:
    """Merge small segments and drop buried chunks where that pays; safe beside readers and writers.

    Needs a connection in autocommit mode.
    """
    lock = (f"ragkit merge {tenant}", collection)
    with conn.cursor() as cursor:
        # Taken before the snapshot: one merge at a time, two would fight over the same rows.
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s), %s::int)", lock)
        try:
            with conn.transaction():
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                _merge(conn, cursor, tenant, collection)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(hashtext(%s), %s::int)", lock)


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


def invert(chunks: Sequence[int], terms: Sequence[Sequence[str]]) -> dict[str, bytearray]:
    """Turn chunks with their terms into each term's records, in the order of the chunks."""
    postings: dict[str, bytearray] = {}
    for chunk, of_chunk in zip(chunks, terms, strict=True):
        for term, frequency in Counter(of_chunk).items():
            record = _pack(chunk, frequency, len(of_chunk))
            postings.setdefault(term, bytearray()).extend(record)
    return postings


def _merge(conn: Connection[Any], cursor: Cursor[Any], tenant: str, collection: int) -> None:
    cursor.execute(
        "SELECT id, chunks FROM lexical_segment WHERE tenant = %s AND collection_id = %s"
        " ORDER BY chunks, id",
        (tenant, collection),
    )
    sizes = [(int(segment), int(chunks)) for segment, chunks in cursor]
    dead = cursor.execute(_TOMBSTONES, (tenant, collection)).fetchall()
    if len(dead) > _PURGE_SHARE * sum(chunks for _, chunks in sizes):
        segment = _join_segments(cursor, tenant, collection, [segment for segment, _ in sizes])
        _purge(conn, cursor, (tenant, collection, segment), dead)
    elif len(sizes) > MAX_SEGMENTS:
        _join_segments(cursor, tenant, collection, segments_to_merge(sizes))


def _alive(records: NDArray[np.void], gone: NDArray[np.int64]) -> NDArray[np.void]:
    import numpy as np

    if len(gone):
        records = records[~np.isin(records["chunk"], gone)]
    order = np.argsort(records["chunk"], kind="stable")
    return records[order]


def _next_segment(cursor: Cursor[Any]) -> int:
    row = cursor.execute("SELECT nextval('lexical_segment_id')").fetchone()
    assert row is not None
    return int(row[0])


def _join_segments(cursor: Cursor[Any], tenant: str, collection: int, old: list[int]) -> int:
    """Make one segment of several; return its number."""
    if len(old) == 1:
        return old[0]
    new = _next_segment(cursor)
    values = {"tenant": tenant, "collection": collection, "old": old, "new": new}
    cursor.execute(_MERGE_POSTINGS, values)
    cursor.execute(_MERGE_SEGMENTS, values)
    return new


def _purge(
    conn: Connection[Any],
    cursor: Cursor[Any],
    key: tuple[str, int, int],
    dead: list[tuple[int, int]],
) -> None:
    """Drop buried chunks from a collection's only segment, and their tombstones."""
    import numpy as np

    gone = np.array([chunk for chunk, _ in dead], dtype=np.int64)
    with conn.cursor("purge", binary=True) as rows:  # streamed: a collection may outgrow memory
        rows.execute(_SEGMENT_ROWS, key)
        for term, data in rows:
            records = np.frombuffer(data, dtype=_RECORD)
            kept = records[~np.isin(records["chunk"], gone)]
            if not len(kept):
                cursor.execute(_DELETE_POSTING, (*key, term))
            elif len(kept) < len(records):
                cursor.execute(_UPDATE_POSTING, (kept.tobytes(), *key, term))
    cursor.execute(_SHRINK_SEGMENT, (len(dead), sum(length for _, length in dead), *key))
    cursor.execute(_DELETE_TOMBSTONES, (*key[:2], gone.tolist()))
