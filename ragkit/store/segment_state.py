"""What a snapshot sees of a word index: its segments, which of their chunks are gone, and how much
that leaves, to everybody or to some readers. Kept in memory from one query to the next, as long as
nothing is written and nothing shared otherwise.

It knows nothing of terms, but for where the postings of joined segments are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from sys import getsizeof
from typing import TYPE_CHECKING, Any

from psycopg import Cursor

from ragkit.postings import Posting, Segment, Term
from ragkit.store import access, segment_rows
from ragkit.store import segments as packed
from ragkit.store.access import Hidden
from ragkit.store.segment_cache import CACHE
from ragkit.store.where import Readers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Segments below this many chunks are searched as one: each costs a query some calls of numpy.
_SMALL_CHUNKS = 4096  # arbitrary
_NUMBER_BYTES = 40  # of Python's
_STATE = """
    SELECT array_agg(id ORDER BY chunks DESC, id), count(*) FILTER (WHERE chunks > 0),
        coalesce(sum(chunks), 0)::bigint, coalesce(sum(terms), 0)::bigint
    FROM lexical_segment WHERE tenant = %s AND collection_id = %s
"""
_TOMBSTONES = """
    SELECT string_agg(int8send(chunk_id), ''::bytea ORDER BY chunk_id), count(*),
        coalesce(sum(terms), 0)::bigint
    FROM lexical_tombstone WHERE tenant = %s AND collection_id = %s
"""


@dataclass(frozen=True, slots=True)
class State:
    """A collection's segments as a snapshot sees them, each with which of its chunks are gone.

    `joined`: the small ones, which stand last, as one, in which `moved` says for each of them where
    its places are. `every` has the numbers of the empty ones as well. `name` is what it and its
    terms are kept under, None of one that is not kept.
    """

    name: Hashable
    every: tuple[int, ...]
    numbers: Sequence[int]
    segments: Sequence[Segment]
    joined: Sequence[Segment]
    moved: Sequence[NDArray[np.int32]]
    chunks: int
    total_length: int

    @classmethod
    def of(
        cls, every: tuple[int, ...], segments: Sequence[Segment], dead: NDArray[np.int64]
    ) -> State:
        """Mark and join segments; how much they hold is not said yet."""
        marked = segment_rows.mark_gone(segments, dead)
        joined, moved = _with_small_ones_joined(marked)
        numbers = every[: len(segments)]
        return cls(every or None, every, numbers, marked, joined, moved, 0, 0)

    def without(self, hidden: Hidden, name: Hashable = None) -> State:
        """Return what is left for somebody from whom some chunks are hidden."""
        return replace(
            self,
            name=name,
            joined=segment_rows.mark_gone(self.joined, hidden.chunks),
            chunks=self.chunks - len(hidden.chunks),
            total_length=self.total_length - hidden.terms,
        )

    @property
    def bytes(self) -> int:
        """Count what it holds of its own; the segments themselves are kept besides."""
        gone = [one.gone for one in (*self.segments, *self.joined) if one.gone is not None]
        own = [*gone, *self.moved]
        last = sum(one.ids.nbytes + one.lengths.nbytes for one in self.joined if self.moved)
        return sum(array.nbytes for array in own) + last + _NUMBER_BYTES * len(self.every)

    def term(self, postings: Sequence[Posting | None]) -> Term:
        """Make a term of its postings in the segments."""
        lists = self._in_joined(postings)
        return Term(sum(map(_living, self.joined, lists)), lists)

    def bytes_of(self, term: Term) -> int:
        """Count what a term holds besides the postings of the segments, which are kept anyway."""
        last = term.postings[-1] if self.moved else None
        if last is None or last.places is None:
            return 0
        return last.places.nbytes + last.frequencies.nbytes + last.peaks.nbytes

    def _in_joined(self, postings: Sequence[Posting | None]) -> Sequence[Posting | None]:
        if not self.moved:
            return postings
        large = len(self.joined) - 1
        small = [
            (*one.listed(), to)
            for one, to in zip(postings[large:], self.moved, strict=True)
            if one is not None
        ]
        last = Posting.of(*packed.move(small), self.joined[-1].lengths) if small else None
        return [*postings[:large], last]


def state(cursor: Cursor[Any], owner: tuple[str, int], readers: Readers = None) -> State:
    """Look up what there is for these readers.

    What was deleted, and what is hidden, is only read when anything was written or shared since:
    all of that leaves a segment, so that the same segments are the same for the same readers.
    """
    whole = _whole(cursor, owner)
    if readers is None or whole.name is None:
        return whole
    who = frozenset(readers)
    name = (whole.name, who)
    kept = CACHE.get([name])
    if name in kept:
        found = kept[name]
        if not isinstance(found, State):
            return whole
        if found.segments is whole.segments:  # no others, which nobody counts any more
            return found
    hidden = access.hidden_chunks(cursor, *owner, readers)
    left = whole.without(hidden, name) if len(hidden.chunks) else None
    size = sum(map(getsizeof, who)) + (_NUMBER_BYTES if left is None else left.bytes)
    CACHE.put({name: (left, size)})  # None: they may read everything
    return left or whole


def _whole(cursor: Cursor[Any], owner: tuple[str, int]) -> State:
    import numpy as np

    row = cursor.execute(_STATE, owner, prepare=True, binary=True).fetchone()
    assert row is not None
    every: tuple[int, ...] = tuple(row[0] or ())
    kept = CACHE.get([every])
    if every in kept:
        same = kept[every]
        assert isinstance(same, State)
        if len(CACHE.get(same.numbers)) == len(same.numbers):  # it holds them: see `bytes`
            return same
    gone = cursor.execute(_TOMBSTONES, owner, binary=True).fetchone()
    assert gone is not None
    dead = np.frombuffer(gone[0] or b"", ">i8").astype(np.int64)
    segments = segment_rows.fetch(cursor, owner, every[: row[1]])
    found = State.of(every, segments, dead)
    found = replace(found, chunks=row[2] - gone[1], total_length=row[3] - gone[2])
    if found.name is not None:  # their numbers tell all: of none, nothing
        CACHE.put({found.name: (found, found.bytes)})
    return found


def _with_small_ones_joined(
    segments: list[Segment],
) -> tuple[list[Segment], list[NDArray[np.int32]]]:
    """Join the small segments, which stand last, into one."""
    large = sum(len(segment.ids) >= _SMALL_CHUNKS for segment in segments)
    if len(segments) - large < 2:
        return segments, []
    joined, moved = packed.join(segments[large:], drop_gone=False)
    return [*segments[:large], joined], moved


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
