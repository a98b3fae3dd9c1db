"""The word index in PostgreSQL: term postings in segments, written with their documents.

A row holds one term's postings in one segment (see `ragkit.store.segments`), a segment the ids and
lengths of its chunks. Deleted chunks leave a tombstone until a merge drops them, so counts are
exact at any moment. Knows nothing of scoring: see `ragkit.retrieve.bm25`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import Any

from psycopg import Cursor

from ragkit.postings import Posting, Postings, Segment, Term
from ragkit.store import extensions, segment_rows
from ragkit.store import segments as packed
from ragkit.store.access import Hidden
from ragkit.store.merging import MAX_SEGMENTS, merge, segments_to_merge
from ragkit.store.segment_cache import CACHE

__all__ = [
    "MAX_SEGMENTS",
    "POSTINGS",
    "add_segment",
    "bury",
    "merge",
    "moment",
    "read",
    "segments_to_merge",
]

# Segments below this many chunks are searched as one: each costs a query some calls of numpy.
_SMALL_CHUNKS = 4096  # arbitrary
_STATE = """
    SELECT s.ids, s.chunks, s.terms, t.ids, t.chunks, t.terms
    FROM (SELECT array_agg(id ORDER BY chunks DESC, id) AS ids,
            coalesce(sum(chunks), 0)::bigint AS chunks, coalesce(sum(terms), 0)::bigint AS terms
        FROM lexical_segment WHERE tenant = %(tenant)s AND collection_id = %(collection)s) s,
        (SELECT string_agg(int8send(chunk_id), ''::bytea ORDER BY chunk_id) AS ids,
            count(*) AS chunks, coalesce(sum(terms), 0)::bigint AS terms
        FROM lexical_tombstone WHERE tenant = %(tenant)s AND collection_id = %(collection)s) t
"""
# Segments never change and their numbers never come again; every write makes one, every deletion
# tombstones, and what takes tombstones away makes a segment too.
_MOMENT = """
    SELECT concat((SELECT sum(id) FROM lexical_segment
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s), ' ',
        (SELECT count(*) FROM lexical_tombstone
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s))
"""
POSTINGS = """
    SELECT segment_id, term, data FROM lexical_posting
    WHERE tenant = %s AND collection_id = %s AND term = ANY(%s) AND segment_id = ANY(%s)
"""
# Index entries alone are read; the order is that of code points, so a prefix is a range.
_WITH_CHARACTER = """
    SELECT DISTINCT term FROM lexical_posting
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND length(term) <= 2
        AND ((term >= %(character)s AND term < %(after)s)
            OR (term >= '⺀' AND right(term, 1) = %(character)s))
    ORDER BY term
"""
_BURY = """
    INSERT INTO lexical_tombstone (tenant, collection_id, chunk_id, terms)
    SELECT tenant, collection_id, id, terms FROM chunk
    WHERE tenant = %s AND document_id = ANY(%s)
"""


def moment(cursor: Cursor[Any], tenant: str, collection: int) -> str:
    """Name what a snapshot sees of a collection's words: equal names, equal words."""
    values = {"tenant": tenant, "collection": collection}
    row = cursor.execute(_MOMENT, values).fetchone()
    assert row is not None
    return str(row[0])


def add_segment(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    chunks: Sequence[int],
    terms: Sequence[Sequence[str]],
    *,
    index: str = "ragkit",
) -> None:
    """Write the postings of new chunks as one segment; `terms` has the terms of each chunk.

    `chunks` ascend. `index` names the extension that indexes their terms instead.
    """
    import numpy as np

    if not chunks:
        return
    owner = (tenant, collection)
    lengths = np.array([len(of_chunk) for of_chunk in terms], np.int64)
    number = segment_rows.add(cursor, owner, np.array(chunks, np.int64), lengths)
    if index == "ragkit":
        segment_rows.add_postings(cursor, owner, number, packed.invert(terms).items())
    else:
        extensions.add(cursor, owner, chunks, terms)


def bury(cursor: Cursor[Any], tenant: str, documents: Sequence[int]) -> None:
    """Mark documents' chunks as gone; to be called before their rows are deleted."""
    cursor.execute(_BURY, (tenant, list(documents)))


def read(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    terms: Sequence[str],
    hidden: Hidden | None = None,
) -> Postings:
    """Fetch what exact BM25 needs of the given terms; `cursor` must stand in one snapshot.

    `hidden` chunks are as good as gone.
    """
    import numpy as np

    owner = (tenant, collection)
    values = {"tenant": tenant, "collection": collection}
    row = cursor.execute(_STATE, values, binary=True).fetchone()
    assert row is not None
    numbers: list[int] = row[0] or []
    wanted = list(dict.fromkeys(term for term in terms if "\0" not in term))
    dead = np.frombuffer(row[3] or b"", ">i8").astype(np.int64)
    if hidden is not None:
        dead = np.union1d(dead, hidden.chunks)
    segments = segment_rows.mark_gone(segment_rows.fetch(cursor, owner, numbers), dead)
    found = _fetch_postings(cursor, owner, wanted, numbers, segments)
    together, lists = _with_small_ones_joined(segments, found)
    living = {
        term: Term(sum(map(_living, together, postings)), postings)
        for term, postings in lists.items()
    }
    return Postings(
        chunks=row[1] - row[4] - (0 if hidden is None else len(hidden.chunks)),
        total_length=row[2] - row[5] - (0 if hidden is None else hidden.terms),
        segments=together,
        terms={term: found for term, found in living.items() if found.containing},
    )


def with_character(cursor: Cursor[Any], tenant: str, collection: int, character: str) -> list[str]:
    """List the terms of at most two characters that begin or end with this one."""
    values = {
        "tenant": tenant,
        "collection": collection,
        "character": character,
        "after": chr(ord(character) + 1),
    }
    return [str(row[0]) for row in cursor.execute(_WITH_CHARACTER, values)]


def _fetch_postings(
    cursor: Cursor[Any],
    owner: tuple[str, int],
    terms: Sequence[str],
    numbers: Sequence[int],
    segments: Sequence[Segment],
) -> dict[str, list[Posting | None]]:
    """Fetch each term's posting in each segment."""
    kept = CACHE.get([(number, term) for term in terms for number in numbers])
    missing = {
        term: tuple(number for number in numbers if (number, term) not in kept) for term in terms
    }
    lengths = {number: one.lengths for number, one in zip(numbers, segments, strict=True)}
    order = sorted(terms, key=missing.__getitem__)
    for lacking, group in groupby(order, key=missing.__getitem__):
        if not lacking:
            continue
        some = list(group)
        fresh: dict[Hashable, tuple[object, int]] = {
            (number, term): (None, 0) for term in some for number in lacking
        }
        cursor.execute(POSTINGS, (*owner, some, list(lacking)), binary=True)
        for number, term, data in cursor:
            one = packed.unpack_posting(data, lengths[number])
            fresh[number, term] = (one, len(data) + one.peaks.nbytes)
        CACHE.put(fresh)
        kept |= {key: one for key, (one, _) in fresh.items()}
    return {term: [_as_posting(kept[number, term]) for number in numbers] for term in terms}


def _as_posting(kept: object) -> Posting | None:
    return kept if isinstance(kept, Posting) else None


def _with_small_ones_joined(
    segments: list[Segment], found: dict[str, list[Posting | None]]
) -> tuple[list[Segment], dict[str, list[Posting | None]]]:
    """Join the small segments, which stand last, into one."""
    large = sum(len(segment.ids) >= _SMALL_CHUNKS for segment in segments)
    if len(segments) - large < 2:
        return segments, found
    joined, moved = packed.join(segments[large:], drop_gone=False)
    lists: dict[str, list[Posting | None]] = {}
    for term, postings in found.items():
        small = [
            (*one.listed(), to)
            for one, to in zip(postings[large:], moved, strict=True)
            if one is not None
        ]
        last = Posting.of(*packed.move(small), joined.lengths) if small else None
        lists[term] = [*postings[:large], last]
    return [*segments[:large], joined], lists


def _living(segment: Segment, posting: Posting | None) -> int:
    """Count a segment's chunks that have a term and are not gone."""
    import numpy as np

    if posting is None:
        return 0
    if posting.places is None:
        held = posting.frequencies > 0
        return int(np.count_nonzero(held if segment.gone is None else held & ~segment.gone))
    dead = 0 if segment.gone is None else int(np.count_nonzero(segment.gone[posting.places]))
    return len(posting.places) - dead
