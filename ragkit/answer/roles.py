"""Whether two parts of a sentence have changed places: who did it to whom, which costs what.

Compared is the order of what a claim and its source have in common. It knows no grammar but the
passive voice, in which the order turns by itself.
"""

import re
from collections.abc import Sequence

_PASSIVE = re.compile(r"\bby\b|[被由]", re.IGNORECASE)
_MOST_UNITS = 80  # words or characters of a claim; longer ones are compared by their beginning
_MOST_PIECES = 12  # stretches in common; every pair of them is tried
_MOST_PLACES = 20  # of one word in the source
_LONGEST = 12  # units of one stretch
# An exchange must explain this share of what is out of order; by judgement.
_EXPLAINED = 2 / 3

Piece = tuple[int, int]  # how many units, and where they begin in the source


def is_passive(text: str) -> bool:
    """Tell whether a sentence may be in the passive voice."""
    return _PASSIVE.search(text) is not None


def exchanged(claim: Sequence[str], source: Sequence[str]) -> float:
    """Return how much of a claim's disorder one exchange of two of its parts explains, 0 to 1.

    Both are lists of words and characters; 0 where the order is the source's, or so different that
    no exchange explains it.

    >>> exchanged("a sued b in court".split(), "b sued a in court".split())
    1.0
    """
    pieces = _in_common(claim[:_MOST_UNITS], source)[:_MOST_PIECES]
    before = _inversions(pieces)
    if not before:
        return 0.0
    count = len(pieces)
    best = min(
        (
            _inversions(_with_exchanged(pieces, i, j, k, m))
            for i in range(count)
            for j in (i + 1, i + 2)
            for k in range(j + 1, count)  # something stands between the two
            for m in (k + 1, k + 2)
            if m <= count
        ),
        default=before,
    )
    explained = (before - best) / before
    return explained if explained >= _EXPLAINED else 0.0


def _with_exchanged(
    pieces: Sequence[Piece], start: int, end: int, other: int, other_end: int
) -> list[Piece]:
    return [
        *pieces[:start],
        *pieces[other:other_end],
        *pieces[end:other],
        *pieces[start:end],
        *pieces[other_end:],
    ]


def _in_common(claim: Sequence[str], source: Sequence[str]) -> list[Piece]:
    """Find the longest stretches of a claim that stand once in the source, in the claim's order."""
    places: dict[str, list[int]] = {}
    for place, unit in enumerate(source):
        places.setdefault(unit, []).append(place)
    pieces = []
    at = 0
    while at < len(claim):
        lengths = [
            (_alike(claim, at, source, place), place)
            for place in places.get(claim[at], ())[:_MOST_PLACES]
        ]
        longest = max(lengths, default=(0, 0))
        if [length for length, _ in lengths].count(longest[0]) == 1:
            pieces.append(longest)
        at += max(1, longest[0])
    return pieces


def _alike(claim: Sequence[str], at: int, source: Sequence[str], place: int) -> int:
    length = 0
    most = min(len(claim) - at, len(source) - place, _LONGEST)
    while length < most and claim[at + length] == source[place + length]:
        length += 1
    return length


def _inversions(pieces: Sequence[Piece]) -> int:
    return sum(
        length * other
        for i, (length, place) in enumerate(pieces)
        for other, later in pieces[i + 1 :]
        if later < place
    )
