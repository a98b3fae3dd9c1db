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
from ragkit.store.words.segment_rows import CACHE
from ragkit.store.words.small_segments import SmallSegments, join_small
from ragkit.text.postings import Posting, Segment, Term

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.store.session import Session

# Segments below this many chunks are searched as one.
_SMALL_CHUNKS = 4096  # arbitrary
_NUMBER_BYTES = 40  # of Python's
_STATE = """
    SELECT array_agg(id ORDER BY chunks DESC, id), count(*) FILTER (WHERE chunks > 0),
        count(*) FILTER (WHERE chunks >= %(small)s),
        coalesce(sum(chunks), 0)::bigint, coalesce(sum(terms), 0)::bigint
    FROM lexical_segment WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""
_TOMBSTONES = """
    SELECT string_agg(int8send(chunk_id), ''::bytea ORDER BY chunk_id),
        coalesce(sum(terms), 0)::bigint
    FROM lexical_tombstone WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""


@dataclass(frozen=True, slots=True)
class State:
    """A collection's segments as a session sees them, each with its chunks that are gone.

    Segments never change and their numbers never come again. Every write adds one, an empty one for
    deleted chunks; so does a merge that takes tombstones away, and a change of who may read a
    document. So equal numbers mean an equal index.

    `joined`: the segments that are searched, the small ones as one, which stands last. `numbers`
    are those of the others, `small` has the small ones where there are several. `all_numbers` has
    the numbers of empty segments as well. `name` is the key that the state and its terms are cached
    by, None of one that is not cached.
    """

    name: Hashable
    all_numbers: tuple[int, ...]
    numbers: Sequence[int]
    joined: Sequence[Segment]
    small: SmallSegments | None
    chunks: int
    total_length: int

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
        """Count the bytes of its arrays; the segments in `numbers` are cached besides."""
        marks = sum(segment.gone.nbytes for segment in self.joined if segment.gone is not None)
        small = 0 if self.small is None else self.small.bytes
        return marks + small + _NUMBER_BYTES * len(self.all_numbers)

    def term(self, postings: Sequence[Posting | None]) -> Term:
        """Make a term of its postings in `joined`."""
        return Term(sum(map(_living, self.joined, postings)), postings)

    def bytes_of(self, term: Term) -> int:
        """Count the bytes of a term besides the postings that are cached by their segment."""
        last = None if self.small is None else term.postings[-1]
        if last is None or last.places is None:
            return 0
        return last.places.nbytes + last.frequencies.nbytes + last.peaks.nbytes


@dataclass(frozen=True, slots=True)
class _Dead:
    """The chunks with a tombstone and all their terms counted, where there are these segments."""

    filled: frozenset[int]
    empty: tuple[int, ...]
    chunks: NDArray[np.int64]
    terms: int


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
        if state.small is total.small and state.numbers is total.numbers:  # not an earlier object's
            return state
    hidden = access.hidden_chunks(session, collection)
    visible = total.without(hidden, name) if len(hidden.chunks) else None
    size = sum(map(getsizeof, principals)) + (_NUMBER_BYTES if visible is None else visible.bytes)
    CACHE.put({name: (visible, size)})  # None: they may read everything
    return visible or total


def total_state(session: Session, collection: int) -> State:
    """Look up a collection's state for an operator."""
    values = {"collection": collection, "small": _SMALL_CHUNKS}
    row = session.execute(_STATE, values, prepare=True, binary=True).fetchone()
    assert row is not None
    numbers: tuple[int, ...] = tuple(row[0] or ())
    cached = CACHE.get([numbers])
    if numbers in cached:
        state = cached[numbers]
        assert isinstance(state, State)
        if len(CACHE.get(state.numbers)) == len(state.numbers):  # it holds them: see `bytes`
            return state
    filled, large, chunks, total_length = row[1:]
    dead = _read_dead(session, collection, numbers, filled)
    state = _read_state(session, collection, numbers, filled, large)
    state = replace(
        state,
        joined=segment_rows.mark_gone(state.joined, dead.chunks),
        chunks=chunks - len(dead.chunks),
        total_length=total_length - dead.terms,
    )
    if state.name is not None:  # without segments there are no numbers to cache it by
        CACHE.put({state.name: (state, state.bytes)})
    return state


def _read_state(
    session: Session, collection: int, numbers: tuple[int, ...], filled: int, large: int
) -> State:
    """Read the segments, of which the first `filled` have chunks and the first `large` many."""
    alone = filled if filled - large < 2 else large
    segments = segment_rows.fetch(session, collection, numbers[:alone])
    small = join_small(session, collection, numbers[alone:filled])
    joined = segments if small is None else [*segments, small.segment]
    return State(numbers or None, numbers, numbers[:alone], joined, small, 0, 0)


def _read_dead(session: Session, collection: int, numbers: tuple[int, ...], filled: int) -> _Dead:
    """Read the tombstones, unless only segments with chunks were added since the last time.

    A write that adds tombstones adds an empty segment, a merge that takes some away deletes those
    that it has merged.
    """
    import numpy as np

    key = ("tombstones", session.tenant, collection)
    last = CACHE.get([key]).get(key)
    if isinstance(last, _Dead) and last.empty == numbers[filled:] and last.filled <= set(numbers):
        return last
    row = session.execute(_TOMBSTONES, {"collection": collection}, binary=True).fetchone()
    assert row is not None
    chunks = np.frombuffer(row[0] or b"", ">i8").astype(np.int64)
    dead = _Dead(frozenset(numbers[:filled]), numbers[filled:], chunks, row[1])
    CACHE.put({key: (dead, chunks.nbytes + _NUMBER_BYTES * len(numbers))})
    return dead


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
