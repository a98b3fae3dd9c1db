"""A collection's word index as a session sees it: segments, their chunks that are gone, counts.

It is cached from one query to the next, for everybody and for readers, until something is written
or shared otherwise.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from sys import getsizeof
from typing import TYPE_CHECKING

from ragkit.store.documents import visible as access
from ragkit.store.documents.visible import Hidden
from ragkit.store.words import segment_rows
from ragkit.store.words import segments as packed
from ragkit.store.words.segment_rows import CACHE
from ragkit.text.postings import Posting, Segment, Term

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.store.session import Session

# Segments below this many chunks are searched as one: each costs a query some calls of numpy.
_SMALL_CHUNKS = 4096  # arbitrary
_NUMBER_BYTES = 40  # of Python's
_STATE = """
    SELECT array_agg(id ORDER BY chunks DESC, id), count(*) FILTER (WHERE chunks > 0),
        coalesce(sum(chunks), 0)::bigint, coalesce(sum(terms), 0)::bigint
    FROM lexical_segment WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""
_TOMBSTONES = """
    SELECT string_agg(int8send(chunk_id), ''::bytea ORDER BY chunk_id), count(*),
        coalesce(sum(terms), 0)::bigint
    FROM lexical_tombstone WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""


@dataclass(frozen=True, slots=True)
class State:
    """A collection's segments as a session sees them, each with its chunks that are gone.

    Segments never change and their numbers never come again. Every write adds one, an empty one for
    deleted chunks; so does a merge that takes tombstones away, and a change of who may read a
    document. So equal numbers mean an equal index.

    `joined`: the same with the small segments, which stand last, as one; for each of these `moved`
    maps its places to those in it. `all_numbers` has the numbers of empty segments as well. `name`
    is the key that the state and its terms are cached by, None of one that is not cached.
    """

    name: Hashable
    all_numbers: tuple[int, ...]
    numbers: Sequence[int]
    segments: Sequence[Segment]
    joined: Sequence[Segment]
    moved: Sequence[NDArray[np.int32]]
    chunks: int
    total_length: int

    @classmethod
    def of(
        cls, all_numbers: tuple[int, ...], segments: Sequence[Segment], dead: NDArray[np.int64]
    ) -> State:
        """Mark and join segments; chunks and total length are not counted yet."""
        marked = segment_rows.mark_gone(segments, dead)
        joined, moved = _join_small(marked)
        numbers = all_numbers[: len(segments)]
        return cls(all_numbers or None, all_numbers, numbers, marked, joined, moved, 0, 0)

    def without(self, hidden: Hidden, name: Hashable = None) -> State:
        """Return the state as it is for readers from whom some chunks are hidden."""
        return replace(
            self,
            name=name,
            joined=segment_rows.mark_gone(self.joined, hidden.chunks),
            chunks=self.chunks - len(hidden.chunks),
            total_length=self.total_length - hidden.terms,
        )

    @property
    def bytes(self) -> int:
        """Count the bytes of its arrays; the segments themselves are cached besides."""
        segments = (*self.segments, *self.joined)
        arrays = [segment.gone for segment in segments if segment.gone is not None]
        last = sum(segment.ids.nbytes + segment.lengths.nbytes for segment in self._small())
        numbers = _NUMBER_BYTES * len(self.all_numbers)
        return sum(array.nbytes for array in [*arrays, *self.moved]) + last + numbers

    def term(self, postings: Sequence[Posting | None]) -> Term:
        """Make a term of its postings in the segments."""
        lists = self._in_joined(postings)
        return Term(sum(map(_living, self.joined, lists)), lists)

    def bytes_of(self, term: Term) -> int:
        """Count the bytes of a term besides the postings of the segments, which are cached too."""
        last = term.postings[-1] if self.moved else None
        if last is None or last.places is None:
            return 0
        return last.places.nbytes + last.frequencies.nbytes + last.peaks.nbytes

    def _small(self) -> Sequence[Segment]:
        return self.joined if self.moved else ()

    def _in_joined(self, postings: Sequence[Posting | None]) -> Sequence[Posting | None]:
        if not self.moved:
            return postings
        large = len(self.joined) - 1
        small = [
            (*posting.listed(), places)
            for posting, places in zip(postings[large:], self.moved, strict=True)
            if posting is not None
        ]
        last = Posting.of(*packed.move(small), self.joined[-1].lengths) if small else None
        return [*postings[:large], last]


def state(session: Session, collection: int) -> State:
    """Look up a collection's state for the session's readers.

    Deleted and hidden chunks are only read when something was written or shared since: every such
    change leaves a segment, so that the same segments are the same for the same readers.
    """
    total = total_state(session, collection)
    if session.readers is None or total.name is None:
        return total
    principals = frozenset(session.readers)
    name = (total.name, principals)
    cached = CACHE.get([name])
    if name in cached:
        state = cached[name]
        if not isinstance(state, State):
            return total
        if state.segments is total.segments:  # not an earlier object's, which is counted no more
            return state
    hidden = access.hidden_chunks(session, collection)
    visible = total.without(hidden, name) if len(hidden.chunks) else None
    size = sum(map(getsizeof, principals)) + (_NUMBER_BYTES if visible is None else visible.bytes)
    CACHE.put({name: (visible, size)})  # None: they may read everything
    return visible or total


def total_state(session: Session, collection: int) -> State:
    """Look up a collection's state for an operator."""
    import numpy as np

    values = {"collection": collection}
    row = session.execute(_STATE, values, prepare=True, binary=True).fetchone()
    assert row is not None
    numbers: tuple[int, ...] = tuple(row[0] or ())
    cached = CACHE.get([numbers])
    if numbers in cached:
        state = cached[numbers]
        assert isinstance(state, State)
        if len(CACHE.get(state.numbers)) == len(state.numbers):  # it holds them: see `bytes`
            return state
    gone = session.execute(_TOMBSTONES, values, binary=True).fetchone()
    assert gone is not None
    dead = np.frombuffer(gone[0] or b"", ">i8").astype(np.int64)
    segments = segment_rows.fetch(session, collection, numbers[: row[1]])
    state = State.of(numbers, segments, dead)
    state = replace(state, chunks=row[2] - gone[1], total_length=row[3] - gone[2])
    if state.name is not None:  # without segments there are no numbers to cache it by
        CACHE.put({state.name: (state, state.bytes)})
    return state


def _join_small(segments: list[Segment]) -> tuple[list[Segment], list[NDArray[np.int32]]]:
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
        present = posting.frequencies > 0
        return int(np.count_nonzero(present if segment.gone is None else present & ~segment.gone))
    dead = 0 if segment.gone is None else int(np.count_nonzero(segment.gone[posting.places]))
    return len(posting.places) - dead
