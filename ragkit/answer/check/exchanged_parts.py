"""Detect whether two parts of a sentence have changed places: who did it to whom.

It compares the order of the units that a claim and its source have in common. Grammar does not
count, except for the passive voice, which reverses the order.
"""

import re
from collections.abc import Sequence

_PASSIVE = re.compile(r"\bby\b|[被由]", re.IGNORECASE)
_MOST_UNITS = 80  # words or characters of a claim; of a longer one the beginning is compared
_MOST_PIECES = 12  # common stretches; every pair of them is tried
_MOST_PLACES = 20  # of one word in the source
_LONGEST = 12  # units of one stretch
# An exchange must explain this share of what is out of order; by judgement.
_EXPLAINED = 2 / 3

Piece = tuple[int, int]  # number of units, and their start in the source


def is_passive(text: str) -> bool:
    """Tell whether a sentence may be in the passive voice."""
    return _PASSIVE.search(text) is not None


def measure_exchange(claim: Sequence[str], source: Sequence[str]) -> float:
    """Return how much of a claim's disorder one exchange of two of its parts explains, 0 to 1.

    Both are lists of words and characters; 0 where the order is the source's, or so different that
    no exchange explains it.

    >>> measure_exchange("a sued b in court".split(), "b sued a in court".split())
    1.0
    """
    pieces = _in_common(claim[:_MOST_UNITS], source)[:_MOST_PIECES]
    disorder = _inversions(pieces)
    if not disorder:
        return 0.0
    count = len(pieces)
    best = min(
        (
            _inversions(_with_exchanged(pieces, i, j, k, m))
            for i in range(count)
            for j in (i + 1, i + 2)
            for k in range(j + 1, count)  # a piece stands between the two
            for m in (k + 1, k + 2)
            if m <= count
        ),
        default=disorder,
    )
    explained = (disorder - best) / disorder
    return explained if explained >= _EXPLAINED else 0.0


def _with_exchanged(
    pieces: Sequence[Piece], start: int, end: int, second: int, second_end: int
) -> list[Piece]:
    return [
        *pieces[:start],
        *pieces[second:second_end],
        *pieces[end:second],
        *pieces[start:end],
        *pieces[second_end:],
    ]


def _in_common(claim: Sequence[str], source: Sequence[str]) -> list[Piece]:
    """Find the longest stretches of a claim that occur once in the source, in the claim's order."""
    places: dict[str, list[int]] = {}
    for place, unit in enumerate(source):
        places.setdefault(unit, []).append(place)
    pieces = []
    at = 0
    while at < len(claim):
        lengths = [
            (_common_length(claim, at, source, place), place)
            for place in places.get(claim[at], ())[:_MOST_PLACES]
        ]
        longest = max(lengths, default=(0, 0))
        if [length for length, _ in lengths].count(longest[0]) == 1:
            pieces.append(longest)
        at += max(1, longest[0])
    return pieces


def _common_length(claim: Sequence[str], at: int, source: Sequence[str], place: int) -> int:
    length = 0
    limit = min(len(claim) - at, len(source) - place, _LONGEST)
    while length < limit and claim[at + length] == source[place + length]:
        length += 1
    return length


def _inversions(pieces: Sequence[Piece]) -> int:
    return sum(
        length * later_length
        for i, (length, place) in enumerate(pieces)
        for later_length, later in pieces[i + 1 :]
        if later < place
    )
