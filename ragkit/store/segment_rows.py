"""Segments of the word index as rows: writing new ones, reading those there are.

It knows neither which segments a search may see nor when they are merged.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from psycopg import Cursor

from ragkit.postings import Segment
from ragkit.store import segments as packed
from ragkit.store.loading import loading
from ragkit.store.segment_cache import CACHE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.postings import Integers

_ADD = """
    INSERT INTO lexical_segment (tenant, collection_id, id, chunks, terms, ids, lengths)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
_POSTING_COLUMNS = {
    "tenant": "text",
    "collection_id": "int8",
    "term": "text",
    "segment_id": "int8",
    "data": "bytea",
}
_SEGMENTS = """
    SELECT id, ids, lengths FROM lexical_segment
    WHERE tenant = %s AND collection_id = %s AND id = ANY(%s)
"""


def add(
    cursor: Cursor[Any],
    owner: tuple[str, int],
    ids: NDArray[np.int64],
    lengths: Integers,
) -> int:
    """Add a segment of these chunks, by ascending id; return its number.

    Numbers are drawn, never the same again in whatever database: see `SegmentCache`.
    """
    import numpy as np

    number = secrets.randbits(63)
    about = packed.pack_segment(ids, lengths)
    cursor.execute(_ADD, (*owner, number, len(ids), int(lengths.sum(dtype=np.int64)), *about))
    return number


def add_empty(cursor: Cursor[Any], owner: tuple[str, int]) -> None:
    """Add a segment without chunks: a sign that something else about the segments has changed."""
    cursor.execute(_ADD, (*owner, secrets.randbits(63), 0, 0, b"", b""))


def add_postings(
    cursor: Cursor[Any],
    owner: tuple[str, int],
    number: int,
    postings: Iterable[tuple[str, bytes]],
) -> None:
    """Add terms' postings in a segment."""
    with loading(cursor, "lexical_posting", _POSTING_COLUMNS) as load:
        for term, data in postings:
            load.write_row((*owner, term, number, data))


def fetch(cursor: Cursor[Any], owner: tuple[str, int], numbers: Sequence[int]) -> list[Segment]:
    """Fetch segments by their numbers, in this order; which chunks are gone is not said yet."""
    kept = CACHE.get(numbers)
    missing = [number for number in numbers if number not in kept]
    if missing:
        fresh: dict[Hashable, tuple[object, int]] = {}
        cursor.execute(_SEGMENTS, (*owner, missing), binary=True)
        for number, ids, lengths in cursor:
            one = packed.unpack_segment(ids, lengths)
            fresh[number] = (one, one.ids.nbytes + one.lengths.nbytes)
        CACHE.put(fresh)
        kept |= {number: one for number, (one, _) in fresh.items()}
    found = [kept[number] for number in numbers]
    return [one for one in found if isinstance(one, Segment)]


def mark_gone(segments: Sequence[Segment], dead: NDArray[np.int64]) -> list[Segment]:
    """Say in each segment which of its chunks are among the dead ones, besides those gone."""
    if not len(dead):
        return list(segments)
    return [Segment(one.ids, one.lengths, _gone(one, dead)) for one in segments]


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
