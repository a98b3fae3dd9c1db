"""One CJK character as a term of its own, made of the pairs that have it.

Pairs overlap: a character begins a pair but at the end of its run, and ends one but at the
beginning. So the chunks are exact, and how often it stands in one is the larger of both counts,
too low by at most the runs that it begins or ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragkit.postings import Posting, Postings, Term


def with_character(postings: Postings, character: str) -> Postings:
    """Return the postings of a character, made of its pairs' and its own where it stands alone."""
    import numpy as np

    columns = [_joined(postings, n, character) for n in range(len(postings.segments))]
    containing = sum(
        len(one.listed()[0]) - int(np.count_nonzero(segment.all_gone()[one.listed()[0]]))
        for one, segment in zip(columns, postings.segments, strict=True)
        if one is not None
    )
    return replace(postings, terms={character: Term(containing, columns)} if containing else {})


def _joined(postings: Postings, number: int, character: str) -> Posting | None:
    import numpy as np

    lengths = postings.segments[number].lengths
    begins, ends = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    for term, found in postings.terms.items():
        posting = found.postings[number]
        if posting is None:
            continue
        places, frequencies = posting.listed()
        if term.startswith(character):
            begins[places] += frequencies
        if term.endswith(character):
            ends[places] += frequencies
    counts = np.maximum(begins, ends)
    places = np.flatnonzero(counts)
    if not len(places):
        return None
    # Frequencies above all, and the shortest chunk: a bound that any chunk is under.
    peaks = np.array([[counts.max()], [lengths[places].min()]], np.float64)
    return Posting(places.astype(np.int32), counts[places], peaks)


def is_character(terms: Sequence[str]) -> bool:
    """Tell whether a query is one CJK character."""
    from ragkit.text.analyse import CJK_CHARACTER

    return len(terms) == 1 and len(terms[0]) == 1 and CJK_CHARACTER.match(terms[0]) is not None
