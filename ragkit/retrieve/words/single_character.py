"""The postings of a single CJK character, made of the pairs that contain it.

Pairs overlap: a character begins a pair except at the end of its run, and ends one except at the
beginning. So the chunks are exact, and the frequency is the larger of both counts, too low by at
most the number of runs that the character begins or ends.
"""

from __future__ import annotations

from dataclasses import replace

from ragkit.text.postings import Posting, Postings, Term


def with_character(postings: Postings, character: str) -> Postings:
    """Return a character's postings, from its pairs and from where it stands alone."""
    import numpy as np

    columns = [_join_pairs(postings, n, character) for n in range(len(postings.segments))]
    containing = sum(
        len(column.listed()[0]) - int(np.count_nonzero(segment.all_gone()[column.listed()[0]]))
        for column, segment in zip(columns, postings.segments, strict=True)
        if column is not None
    )
    return replace(postings, terms={character: Term(containing, columns)} if containing else {})


def _join_pairs(postings: Postings, number: int, character: str) -> Posting | None:
    import numpy as np

    lengths = postings.segments[number].lengths
    begins, ends = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    for term, pair in postings.terms.items():
        posting = pair.postings[number]
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
    # The highest frequency in the shortest chunk: an upper bound for every chunk.
    peaks = np.array([[counts.max()], [lengths[places].min()]], np.float64)
    return Posting(places.astype(np.int32), counts[places], peaks)
