"""The word index in PostgreSQL: term postings in segments, written with their documents.

A row holds one term's postings in one segment (see `ragkit.store.segments`), a segment the ids and
lengths of its chunks. Deleted chunks leave a tombstone until a merge drops them, so counts are
exact at any moment. Knows nothing of scoring: see `ragkit.retrieve.words.bm25`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import Any

from psycopg import Cursor

from ragkit.postings import Posting, Postings, Term
from ragkit.store import segment_rows
from ragkit.store import segments as packed
from ragkit.store.access import Hidden
from ragkit.store.merging import MAX_EMPTY, MAX_SEGMENTS, merge, segments_to_merge
from ragkit.store.rows import first_value
from ragkit.store.segment_cache import CACHE
from ragkit.store.segment_state import State, state
from ragkit.store.where import Readers
from ragkit.text.terms import Terms

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

# Segments never change and their numbers never come again; every write makes one, if an empty one
# for what it deletes, and so does what takes tombstones away or changes who may read a document:
# their numbers tell everything.
_MOMENT = """
    SELECT sum(id) FROM lexical_segment
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""
_EMPTY = """
    SELECT count(*) FROM lexical_segment
    WHERE tenant = %s AND collection_id = %s AND chunks = 0
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
    WITH buried AS (
        INSERT INTO lexical_tombstone (tenant, collection_id, chunk_id, terms)
        SELECT tenant, collection_id, id, terms FROM chunk
        WHERE tenant = %s AND document_id = ANY(%s) RETURNING collection_id)
    SELECT DISTINCT collection_id FROM buried
"""


def moment(cursor: Cursor[Any], tenant: str, collection: int) -> str:
    """Name what a snapshot sees of a collection's words: equal names, equal words."""
    values = {"tenant": tenant, "collection": collection}
    return str(first_value(cursor, _MOMENT, values))


def add_segment(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    chunks: Sequence[int],
    terms: Terms,
) -> None:
    """Write the postings of new chunks, which ascend, as one segment; `terms` are each one's."""
    import numpy as np

    if not chunks:
        return
    owner = (tenant, collection)
    number = segment_rows.add(cursor, owner, np.array(chunks, np.int64), terms.lengths)
    segment_rows.add_postings(cursor, owner, number, packed.invert(terms).items())


def bury(cursor: Cursor[Any], tenant: str, documents: Sequence[int]) -> None:
    """Mark documents' chunks as gone; to be called before their rows are deleted."""
    collections = cursor.execute(_BURY, (tenant, list(documents))).fetchall()
    for (collection,) in collections:
        segment_rows.add_empty(cursor, (tenant, int(collection)))


def has_many_empty(cursor: Cursor[Any], tenant: str, collection: int) -> bool:
    """Tell whether there are so many empty segments that a merge pays."""
    return int(first_value(cursor, _EMPTY, (tenant, collection))) > MAX_EMPTY


def read(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    terms: Sequence[str],
    hidden: Hidden | None = None,
    *,
    readers: Readers = None,
) -> Postings:
    """Fetch what exact BM25 needs of the given terms; `cursor` must stand in one snapshot.

    `hidden` chunks are as good as gone, and so are those that `readers` may not read.
    """
    owner = (tenant, collection)
    now = state(cursor, owner, readers)
    if hidden is not None:
        now = now.without(hidden)
    return Postings(
        chunks=now.chunks,
        total_length=now.total_length,
        segments=now.joined,
        terms=_terms(cursor, owner, now, terms),
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


def _terms(
    cursor: Cursor[Any], owner: tuple[str, int], now: State, terms: Sequence[str]
) -> dict[str, Term]:
    """Find the terms that living chunks have, with how many have each."""
    wanted = list(dict.fromkeys(term for term in terms if "\0" not in term))
    found = {} if now.name is None else _kept_terms(now, wanted)
    lacking = [term for term in wanted if (now.name, term) not in found]
    postings = _fetch_postings(cursor, owner, lacking, now)
    fresh = {(now.name, term): now.term(lists) for term, lists in postings.items()}
    if now.name is not None:
        CACHE.put({key: (one, now.bytes_of(one)) for key, one in fresh.items()})
    found |= fresh
    listed = {term: found[now.name, term] for term in wanted}
    return {term: one for term, one in listed.items() if isinstance(one, Term) and one.containing}


def _kept_terms(now: State, terms: Sequence[str]) -> dict[Hashable, object]:
    """Return the terms that are kept as long as all of their parts are, whose use this is too.

    A term holds its parts: were they dropped meanwhile, their bytes would no longer be counted.
    """
    found = CACHE.get([(now.name, term) for term in terms])
    parts = {term: [(number, term) for number in now.numbers] for term in terms}
    kept = CACHE.get([part for of_term in parts.values() for part in of_term])
    return {
        (now.name, term): found[now.name, term]
        for term in terms
        if (now.name, term) in found and all(part in kept for part in parts[term])
    }


def _fetch_postings(
    cursor: Cursor[Any],
    owner: tuple[str, int],
    terms: Sequence[str],
    now: State,
) -> dict[str, list[Posting | None]]:
    """Fetch each term's posting in each segment."""
    numbers, segments = now.numbers, now.segments
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
