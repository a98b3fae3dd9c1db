"""Segments of the word index as rows: written and read."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ragkit.store.connection import columns
from ragkit.store.server.tuning import this_machine
from ragkit.store.words import segments as packed
from ragkit.system.lru_cache import LruCache
from ragkit.text.postings import Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.store.session import Session
    from ragkit.text.postings import Integers

# Decoded parts of the word index, by bytes. A segment never changes and its number is random, never
# used again, so what is kept is right for as long as anyone asks for that number. So is what
# somebody may read of several, under all their numbers: whatever changes that adds one. Which there
# are is asked in each transaction, elsewhere.
# The terms of 100 questions to ten million chunks take 670 MB. Arbitrary.
MAX_BYTES: Final = max(256 << 20, this_machine().memory_bytes // 16)
OVERHEAD: Final = 300  # bytes: about what the objects around an array take
CACHE: Final[LruCache[Hashable, object]] = LruCache(MAX_BYTES, overhead=OVERHEAD)

_ADD = """
    INSERT INTO lexical_segment (tenant, collection_id, id, chunks, terms, ids, lengths)
    VALUES (%(tenant)s, %(collection)s, %(id)s, %(chunks)s, %(terms)s, %(ids)s, %(lengths)s)
"""
_SEGMENTS = """
    SELECT id, ids, lengths FROM lexical_segment
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND id = ANY(%(numbers)s)
"""


def add(session: Session, collection: int, ids: NDArray[np.int64], lengths: Integers) -> int:
    """Add a segment of these chunks, by ascending id; return its number.

    Numbers are random, never the same again in whatever database: see `CACHE`.
    """
    import numpy as np

    packed_ids, packed_lengths = packed.pack_segment(ids, lengths)
    terms = int(lengths.sum(dtype=np.int64))
    return _insert(session, collection, (len(ids), terms, packed_ids, packed_lengths))


def add_empty(session: Session, collection: int) -> None:
    """Add a segment without chunks: a sign that something else about the segments has changed."""
    _insert(session, collection, (0, 0, b"", b""))


def add_postings(
    session: Session, collection: int, number: int, postings: Iterable[tuple[str, bytes]]
) -> None:
    """Add terms' postings in a segment."""
    rows = list(postings)
    table_columns = {
        "term": columns.Texts([term for term, _ in rows]),
        "segment_id": columns.Same("int8", number),
        "data": columns.Bytes([data for _, data in rows]),
    }
    columns.add_rows(session, collection, "lexical_posting", table_columns, len(rows))


def fetch(session: Session, collection: int, numbers: Sequence[int]) -> list[Segment]:
    """Fetch segments by their numbers, in this order, without marks of chunks that are gone."""
    cached = CACHE.get(numbers)
    missing = [number for number in numbers if number not in cached]
    if missing:
        values = {"collection": collection, "numbers": missing}
        decoded: dict[Hashable, tuple[object, int]] = {}
        for number, ids, lengths in session.execute(_SEGMENTS, values, binary=True):
            segment = packed.unpack_segment(ids, lengths)
            decoded[number] = (segment, segment.ids.nbytes + segment.lengths.nbytes)
        CACHE.put(decoded)
        cached |= {number: segment for number, (segment, _) in decoded.items()}
    segments = [cached[number] for number in numbers]
    return [segment for segment in segments if isinstance(segment, Segment)]


def mark_gone(segments: Sequence[Segment], dead: NDArray[np.int64]) -> list[Segment]:
    """Mark the dead chunks in each segment as gone, besides those marked already."""
    if not len(dead):
        return list(segments)
    return [Segment(segment.ids, segment.lengths, _gone(segment, dead)) for segment in segments]


def _insert(session: Session, collection: int, columns: tuple[int, int, bytes, bytes]) -> int:
    number = secrets.randbits(63)
    chunks, terms, ids, lengths = columns
    values = {"collection": collection, "id": number, "chunks": chunks, "terms": terms}
    session.execute(_ADD, {**values, "ids": ids, "lengths": lengths})
    return number


def _gone(segment: Segment, dead: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    import numpy as np

    places = np.searchsorted(segment.ids, dead)
    inside = places < len(segment.ids)
    places, dead = places[inside], dead[inside]
    places = places[segment.ids[places] == dead]
    if not len(places):
        return segment.gone
    gone = segment.all_gone().copy()
    gone[places] = True
    return gone
