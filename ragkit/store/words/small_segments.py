"""The small segments of a word index, searched as one: each would cost a query calls of numpy.

A writer adds a segment with each document. Segments that were joined, and postings that were read
of them, are extended by the new ones and not made anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

from ragkit.store.words import segment_rows
from ragkit.store.words import segments as packed
from ragkit.store.words.segment_rows import CACHE
from ragkit.text.postings import Posting, Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.store.session import Session
    from ragkit.text.postings import Integers

_NUMBER_BYTES: Final = 150  # of a number, its key and the array around its places
# Each term's postings in the segments from one on. A join of a parameter, so that the terms need
# not have been read as far as each other.
_POSTINGS: Final = """
    SELECT p.segment_id, p.term, p.data
    FROM unnest(%(terms)s::text[], %(firsts)s::integer[]) AS wanted (term, first)
    CROSS JOIN LATERAL (
        SELECT segment_id, term, data FROM lexical_posting
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND term = wanted.term
            AND segment_id = ANY((%(segments)s::bigint[])[wanted.first:])) AS p
"""


@dataclass(frozen=True, slots=True)
class SmallSegments:
    """Several segments as one, whose chunks are by ascending id; none is marked as gone.

    `places` maps the number of each to where its chunks stand in `segment`. The first `base` were
    joined at once; of each later one all chunks come after all before.
    """

    segment: Segment
    places: Mapping[int, NDArray[np.int32]]
    base: int

    @property
    def bytes(self) -> int:
        """Count the bytes of its arrays."""
        places = sum(array.nbytes for array in self.places.values())
        own = self.segment.ids.nbytes + self.segment.lengths.nbytes
        return places + own + _NUMBER_BYTES * len(self.places)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Where a term stands in small segments joined, and how often, as far as these numbers go."""

    numbers: tuple[int, ...]
    places: Integers
    frequencies: Integers


def join_small(session: Session, collection: int, numbers: Sequence[int]) -> SmallSegments | None:
    """Join segments by their numbers: to those of the last call, if all of these are among them.

    None for none.
    """
    if not numbers:
        return None
    key = ("small segments", session.tenant, collection)
    last = CACHE.get([key]).get(key)
    joined, is_earlier = None, False
    if isinstance(last, SmallSegments):
        added = [number for number in numbers if number not in last.places]
        if len(last.places) + len(added) == len(numbers):  # all of the last are among them
            if not added:
                return last
            joined = _append(last, added, segment_rows.fetch(session, collection, added))
        is_earlier = not added
    if joined is None:
        segments = segment_rows.fetch(session, collection, numbers)
        segment, places = packed.join(segments, drop_gone=False)
        joined = SmallSegments(segment, dict(zip(numbers, places, strict=True)), len(numbers))
    if not is_earlier:  # than the last: a snapshot that goes on beside newer ones
        CACHE.put({key: (joined, joined.bytes)})
    return joined


def small_postings(
    session: Session, collection: int, small: SmallSegments, terms: Sequence[str]
) -> dict[str, Posting | None]:
    """Fetch each term's posting in small segments joined; None of a term that is in none."""
    numbers = tuple(small.places)
    keys: dict[str, Hashable] = {term: ("small", numbers[0], term) for term in terms}
    cached = CACHE.get(list(keys.values()))
    listed = {term: _still_true(small, numbers, cached.get(key)) for term, key in keys.items()}
    behind = [term for term, known in listed.items() if known.numbers != numbers]
    if behind:
        firsts = [len(listed[term].numbers) for term in behind]
        read = _fetch(session, collection, small, behind, firsts)
        fresh = {term: _extend(listed[term], numbers, read.get(term)) for term in behind}
        CACHE.put({keys[term]: (known, _bytes(known)) for term, known in fresh.items()})
        listed |= fresh
    lengths = small.segment.lengths
    return {
        term: Posting.of(known.places, known.frequencies, lengths) if len(known.places) else None
        for term, known in listed.items()
    }


def _append(
    last: SmallSegments, numbers: Sequence[int], segments: Sequence[Segment]
) -> SmallSegments | None:
    """Add segments whose chunks come after all others; None where some do not."""
    import numpy as np

    added, places = packed.join(segments, drop_gone=False)
    size = len(last.segment.ids)
    if added.ids[0] <= last.segment.ids[-1]:
        return None
    # By their first chunk, so that of each all come after those before, if that is so of any order.
    order = sorted(range(len(numbers)), key=lambda n: int(segments[n].ids[0]))
    ends = [segments[n].ids[[0, -1]] for n in order]
    if any(end[1] > after[0] for end, after in pairwise(ends)):
        return None
    moved = {numbers[n]: places[n] + np.int32(size) for n in order}
    segment = Segment(
        np.concatenate([last.segment.ids, added.ids]),
        np.concatenate([last.segment.lengths, added.lengths]),
    )
    return SmallSegments(segment, {**last.places, **moved}, last.base)


def _still_true(small: SmallSegments, numbers: tuple[int, ...], known: object) -> _Listed:
    """Return what was read of a term if it holds for the first of these segments; else nothing."""
    import numpy as np

    if isinstance(known, _Listed):
        length = len(known.numbers)
        if small.base <= length <= len(numbers) and numbers[:length] == known.numbers:
            return known
    return _Listed((), np.empty(0, np.int32), np.empty(0, np.uint8))


def _fetch(
    session: Session,
    collection: int,
    small: SmallSegments,
    terms: Sequence[str],
    firsts: Sequence[int],
) -> dict[str, tuple[Integers, Integers]]:
    """Fetch each term's places and frequencies in the segments from its first on, from 0."""
    skipped = min(firsts)
    numbers = list(islice(small.places, skipped, None))
    values = {
        "collection": collection,
        "terms": terms,
        "firsts": [first - skipped + 1 for first in firsts],
        "segments": numbers,
    }
    rows = session.execute(_POSTINGS, values, prepare=True, binary=True).fetchall()
    by_term = sorted((term, number, data) for number, term, data in rows)
    where = {number: small.places[number] for number in numbers}
    moved = packed.move_rows(by_term, where, len(small.segment.ids))
    return {term: packed.columns(data) for term, data in moved}


def _extend(
    known: _Listed, numbers: tuple[int, ...], added: tuple[Integers, Integers] | None
) -> _Listed:
    """Add what was read of further segments, whose places come after the others."""
    import numpy as np

    if added is None:
        return _Listed(numbers, known.places, known.frequencies)
    places, frequencies = added
    if not len(known.places):
        return _Listed(numbers, places, frequencies)
    return _Listed(
        numbers,
        np.concatenate([known.places, places]),
        np.concatenate([known.frequencies, frequencies]),
    )


def _bytes(known: _Listed) -> int:
    return known.places.nbytes + known.frequencies.nbytes
