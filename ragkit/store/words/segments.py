"""The bytes of the word index: how a segment's chunks and a term's postings are packed.

All numbers are big-endian, as PostgreSQL's own send functions write them. It knows nothing of
tables or of scoring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from ragkit.text.postings import Posting, Segment
from ragkit.text.terms import Terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.text.postings import Integers

# What a term's bytes begin with. SMALL: places in 4 bytes each, then frequencies in 1 byte each.
# WIDE: both in 4 bytes. DENSE: a frequency for every chunk of the segment, in 1 byte.
SMALL: Final = 0
WIDE: Final = 1
DENSE: Final = 2
_MOST: Final = 255  # the highest frequency that one byte holds
_FEW: Final = 64  # places that are always listed; arbitrary: too few to matter
_DENSE_FROM: Final = 5  # places are 5 bytes each where they are listed


def invert(terms: Terms) -> dict[str, bytes]:
    """Turn chunks' terms into each term's postings, in the order of terms.

    A chunk's place is its number here.

    >>> {term: list(data) for term, data in invert(Terms.of([["b", "a", "b"]])).items()}
    {'a': [0, 0, 0, 0, 0, 1], 'b': [0, 0, 0, 0, 0, 2]}
    """
    import numpy as np

    size = len(terms.lengths)
    used = np.flatnonzero(np.bincount(terms.numbers)).tolist()
    used.sort(key=terms.names.__getitem__)
    ranks = np.zeros(len(terms.names), np.int64)
    ranks[used] = np.arange(len(used))
    found = np.sort(ranks[terms.numbers] * size + np.arange(size).repeat(terms.lengths))
    firsts = np.flatnonzero(np.diff(found, prepend=-1))  # of the places of each term
    frequencies = np.diff(firsts, append=len(found))
    term, places = np.divmod(found[firsts], max(size, 1))
    ends = np.cumsum(np.bincount(term, minlength=len(used))).tolist()
    names = list(map(terms.names.__getitem__, used))
    return dict(_cut(names, ends, (places, frequencies), size))


def pack_posting(places: Integers, frequencies: Integers, size: int) -> bytes:
    """Pack ascending places of a segment of `size` chunks in the fewest bytes."""
    import numpy as np

    if frequencies.max(initial=0) > _MOST:
        wide = (column.astype(">u4").tobytes() for column in (places, frequencies))
        return bytes([WIDE]) + b"".join(wide)
    if _DENSE_FROM * len(places) < size or len(places) < _FEW:
        head = bytes([SMALL]) + places.astype(">u4").tobytes()
        return head + frequencies.astype(np.uint8).tobytes()
    dense = np.zeros(size, np.uint8)
    dense[places] = frequencies
    return bytes([DENSE]) + dense.tobytes()


def unpack_posting(data: bytes, lengths: NDArray[np.int32]) -> Posting:
    """Read a term's postings in a segment whose chunks have these lengths."""
    import numpy as np

    if data[0] == DENSE:
        return Posting.of(None, np.frombuffer(data, np.uint8, offset=1).copy(), lengths)
    return Posting.of(*columns(data), lengths)


def columns(data: bytes) -> tuple[NDArray[np.int32], Integers]:
    """Read a term's places and frequencies."""
    import numpy as np

    if data[0] == DENSE:
        dense = np.frombuffer(data, np.uint8, offset=1)
        places = np.flatnonzero(dense).astype(np.int32)
        return places, dense[places]
    each = 8 if data[0] == WIDE else 5
    number = (len(data) - 1) // each
    places = np.frombuffer(data, ">u4", number, 1).astype(np.int32)
    if each == 8:
        return places, np.frombuffer(data, ">u4", number, 1 + 4 * number).astype(np.uint32)
    return places, np.frombuffer(data, np.uint8, number, 1 + 4 * number).copy()


def pack_segment(ids: NDArray[np.int64], lengths: Integers) -> tuple[bytes, bytes]:
    """Pack ascending chunk ids, as runs of (first, how many), and their lengths in terms."""
    import numpy as np

    starts = np.flatnonzero(np.diff(ids, prepend=ids[:1] - 2) != 1)
    counts = np.diff(np.append(starts, len(ids)))
    runs = np.stack([ids[starts], counts], axis=1)
    return runs.astype(">i8").tobytes(), lengths.astype(">u4").tobytes()


def unpack_segment(ids: bytes, lengths: bytes) -> Segment:
    """Read what `pack_segment` wrote."""
    import numpy as np

    runs = np.frombuffer(ids, ">i8").astype(np.int64).reshape(-1, 2)
    counts = runs[:, 1]
    ends = np.cumsum(counts)
    size = int(ends[-1]) if len(ends) else 0
    offsets = np.repeat(runs[:, 0] - (ends - counts), counts)
    return Segment(
        np.arange(size, dtype=np.int64) + offsets,
        np.frombuffer(lengths, ">u4").astype(np.int32),
    )


def join(
    segments: Sequence[Segment], *, drop_gone: bool
) -> tuple[Segment, list[NDArray[np.int32]]]:
    """Make one segment of several; return also the new place of each old one, -1 of one dropped."""
    import numpy as np

    ids = np.concatenate([segment.ids for segment in segments])
    lengths = np.concatenate([segment.lengths for segment in segments])
    gone = np.concatenate([segment.all_gone() for segment in segments])
    order = np.argsort(ids, kind="stable")
    if drop_gone:
        order = order[~gone[order]]
    moved = np.full(len(ids), -1, np.int32)
    moved[order] = np.arange(len(order), dtype=np.int32)
    left = gone[order]
    joined = Segment(ids[order], lengths[order], left if left.any() else None)
    ends = np.cumsum([len(segment.ids) for segment in segments])[:-1]
    return joined, np.split(moved, ends)


def move(
    postings: Sequence[tuple[Integers, Integers, NDArray[np.int32]]],
) -> tuple[NDArray[np.int32], Integers]:
    """Join a term's postings, each with where its segment's places have moved, -1 to drop one.

    Return ascending places and their frequencies.
    """
    import numpy as np

    places = np.concatenate([moved[old] for old, _, moved in postings])
    frequencies = np.concatenate([frequencies for _, frequencies, _ in postings])
    if (places < 0).any():
        kept = places >= 0
        places, frequencies = places[kept], frequencies[kept]
    if (places[1:] < places[:-1]).any():
        order = np.argsort(places, kind="stable")
        places, frequencies = places[order], frequencies[order]
    return places, frequencies


def move_rows(
    rows: Sequence[tuple[str, int, bytes]], where: Mapping[int, NDArray[np.int32]], size: int
) -> Iterator[tuple[str, bytes]]:
    """Move the postings of whole terms into a segment of `size` chunks, all of a term into one.

    `rows` have term, segment and data, by term; `where` says for each segment where its places
    have moved, -1 for those that are dropped. Terms with none left are left out.
    """
    other = {term for term, _, data in rows if data[0] != SMALL}
    yield from _move_small([row for row in rows if row[0] not in other], where, size)
    for term, group in groupby((row for row in rows if row[0] in other), key=itemgetter(0)):
        places, frequencies = move([(*columns(data), where[number]) for _, number, data in group])
        if len(places):
            yield term, pack_posting(places, frequencies, size)


def _move_small(
    rows: Sequence[tuple[str, int, bytes]], where: Mapping[int, NDArray[np.int32]], size: int
) -> Iterator[tuple[str, bytes]]:
    """Move rows of the kind SMALL, most of which hold few places: all of them at once."""
    import numpy as np

    if not rows:
        return
    bases = dict(zip(where, np.cumsum([0, *map(len, where.values())]), strict=False))
    moved = np.concatenate(list(where.values()))
    data = np.frombuffer(b"".join(row[2] for row in rows), np.uint8)
    sizes = np.array([len(row[2]) for row in rows])
    counts = (sizes - 1) // 5
    row = np.repeat(np.arange(len(rows)), counts)
    nth = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
    start = (np.cumsum(sizes) - sizes + 1)[row]
    at = start + 4 * nth
    old = sum(data[at + byte].astype(np.int64) << (24 - 8 * byte) for byte in range(4))
    frequencies = data[start + 4 * counts[row] + nth]
    places = moved[np.array([bases[number] for _, number, _ in rows])[row] + old]
    names = list(dict.fromkeys(term for term, _, _ in rows))
    numbers = {term: n for n, term in enumerate(names)}
    term = np.array([numbers[one] for one, _, _ in rows])[row]
    kept = np.flatnonzero(places >= 0)
    order = kept[np.argsort(term[kept] * size + places[kept], kind="stable")]
    places, frequencies = places[order], frequencies[order]
    ends = np.cumsum(np.bincount(term[order], minlength=len(names))).tolist()
    yield from _cut(names, ends, (places, frequencies), size)


def _cut(
    names: Sequence[str], ends: Sequence[int], found: tuple[Integers, Integers], size: int
) -> Iterator[tuple[str, bytes]]:
    """Pack all places and frequencies term by term; `ends` says how far each term's reach."""
    import numpy as np

    places, frequencies = found
    listed = places.astype(">u4").tobytes()
    often = np.minimum(frequencies, _MOST).astype(np.uint8).tobytes()
    wide = np.append(np.flatnonzero(frequencies > _MOST), len(places)).tolist()  # do not fit there
    first = skipped = 0
    for name, last in zip(names, ends, strict=True):
        if last - first >= _FEW or wide[skipped] < last:  # it may be shorter otherwise
            yield name, pack_posting(places[first:last], frequencies[first:last], size)
            while wide[skipped] < last:
                skipped += 1
        elif last > first:
            yield name, b"\0" + listed[4 * first : 4 * last] + often[first:last]
        first = last
