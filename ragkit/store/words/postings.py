"""The word index in PostgreSQL: term postings in segments, written with their documents.

A row holds one term's postings in one segment (see `ragkit.store.words.segments`), a segment the
ids and lengths of its chunks. Deleted chunks leave a tombstone until a merge drops them, so counts
are exact at any moment. Scoring is in `ragkit.retrieve.words.bm25`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby, product
from typing import TYPE_CHECKING

from ragkit.store.words import segment_rows
from ragkit.store.words import segments as packed
from ragkit.store.words.merge import MAX_EMPTY, MAX_SEGMENTS, merge, segments_to_merge
from ragkit.store.words.segment_rows import CACHE
from ragkit.store.words.segment_state import State
from ragkit.store.words.small_segments import small_postings
from ragkit.text.postings import Posting, Postings, Term
from ragkit.text.terms import Terms

if TYPE_CHECKING:
    from ragkit.store.session import Session

__all__ = [
    "MAX_SEGMENTS",
    "POSTINGS",
    "add_segment",
    "bury",
    "merge",
    "read",
    "segments_to_merge",
]

_EMPTY = """
    SELECT count(*) FROM lexical_segment
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND chunks = 0
"""
POSTINGS = """
    SELECT segment_id, term, data FROM lexical_posting
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND term = ANY(%(terms)s) AND segment_id = ANY(%(segments)s)
"""
# Index entries alone are read; the order is that of code points, so a prefix is a range.
_WITH_CHARACTER = """
    SELECT DISTINCT term FROM lexical_posting
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND length(term) <= 2
        AND ((term >= %(character)s AND term < %(next_character)s)
            OR (term >= '⺀' AND right(term, 1) = %(character)s))
    ORDER BY term
"""
# Two statements: under row-level security Citus cannot read what an INSERT returns.
_BURY = """
    INSERT INTO lexical_tombstone (tenant, collection_id, chunk_id, terms)
    SELECT tenant, collection_id, id, terms FROM chunk
    WHERE tenant = %(tenant)s AND document_id = ANY(%(documents)s)
"""
_BURIED_IN = """
    SELECT DISTINCT collection_id FROM chunk
    WHERE tenant = %(tenant)s AND document_id = ANY(%(documents)s)
"""


def add_segment(session: Session, collection: int, chunks: Sequence[int], terms: Terms) -> None:
    """Write the postings of new chunks, which ascend, as one segment; `terms` are each one's."""
    import numpy as np

    if not chunks:
        return
    number = segment_rows.add(session, collection, np.array(chunks, np.int64), terms.lengths)
    segment_rows.add_postings(session, collection, number, packed.invert(terms).items())


def bury(session: Session, documents: Sequence[int]) -> None:
    """Mark documents' chunks as gone; to be called before their rows are deleted."""
    values = {"documents": list(documents)}
    session.execute(_BURY, values)
    for (collection,) in session.execute(_BURIED_IN, values).fetchall():
        segment_rows.add_empty(session, int(collection))


def has_many_empty(session: Session, collection: int) -> bool:
    """Tell whether there are so many empty segments that a merge pays."""
    return int(session.value(_EMPTY, {"collection": collection})) > MAX_EMPTY


def read(session: Session, collection: int, terms: Sequence[str], current: State) -> Postings:
    """Fetch the postings that exact BM25 needs of these terms; the session must be a snapshot.

    `current` is the collection's state in it; its chunks that are gone do not count.
    """
    return Postings(
        chunks=current.chunks,
        total_length=current.total_length,
        segments=current.joined,
        terms=_terms(session, collection, current, terms),
    )


def with_character(session: Session, collection: int, character: str) -> list[str]:
    """List the terms of at most two characters that begin or end with this one."""
    values = {
        "collection": collection,
        "character": character,
        "next_character": chr(ord(character) + 1),
    }
    return [str(row[0]) for row in session.execute(_WITH_CHARACTER, values)]


def _terms(
    session: Session, collection: int, current: State, terms: Sequence[str]
) -> dict[str, Term]:
    """Find the terms that living chunks have, with how many have each."""
    names = list(dict.fromkeys(term for term in terms if "\0" not in term))
    by_key = {} if current.name is None else _cached_terms(current, names)
    missing = [term for term in names if (current.name, term) not in by_key]
    postings = _fetch_postings(session, collection, missing, current)
    if current.small is not None and missing:
        of_small = small_postings(session, collection, current.small, missing)
        postings = {term: [*lists, of_small[term]] for term, lists in postings.items()}
    made = {(current.name, term): current.term(lists) for term, lists in postings.items()}
    if current.name is not None:
        CACHE.put({key: (term, current.bytes_of(term)) for key, term in made.items()})
    by_key |= made
    pairs = ((name, by_key[current.name, name]) for name in names)
    return {name: term for name, term in pairs if isinstance(term, Term) and term.containing}


def _cached_terms(current: State, terms: Sequence[str]) -> dict[Hashable, object]:
    """Return the cached terms of which all postings are cached too, and note the use of both.

    A term holds its postings: were they dropped meanwhile, their bytes would no longer be counted.
    """
    cached = CACHE.get([(current.name, term) for term in terms])
    postings = CACHE.get(list(product(current.numbers, terms)))
    for term in terms:
        if not all(map(postings.__contains__, product(current.numbers, [term]))):
            cached.pop((current.name, term), None)
    return cached


def _fetch_postings(
    session: Session, collection: int, terms: Sequence[str], current: State
) -> dict[str, list[Posting | None]]:
    """Fetch each term's posting in each segment that is not searched as one with others."""
    numbers = current.numbers
    cached = CACHE.get([(number, term) for term in terms for number in numbers])
    missing = {
        term: tuple(number for number in numbers if (number, term) not in cached) for term in terms
    }
    pairs = zip(numbers, current.joined, strict=False)
    lengths = {number: segment.lengths for number, segment in pairs}
    order = sorted(terms, key=missing.__getitem__)
    for lacking, group in groupby(order, key=missing.__getitem__):
        if not lacking:
            continue
        names = list(group)
        fetched: dict[Hashable, tuple[object, int]] = {
            (number, term): (None, 0) for term in names for number in lacking
        }
        values = {"collection": collection, "terms": names, "segments": list(lacking)}
        for number, term, data in session.execute(POSTINGS, values, binary=True):
            posting = packed.unpack_posting(data, lengths[number])
            fetched[number, term] = (posting, len(data) + posting.peaks.nbytes)
        CACHE.put(fetched)
        cached |= {key: posting for key, (posting, _) in fetched.items()}
    return {term: [_as_posting(cached[number, term]) for number in numbers] for term in terms}


def _as_posting(value: object) -> Posting | None:
    return value if isinstance(value, Posting) else None
