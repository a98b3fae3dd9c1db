"""One-to-one alignments of two lists of words: most pairs, then fewest crossings, then chunks.

It is given which words match and knows nothing of why.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

BEAM = 64  # partial alignments kept for each word; arbitrary, met only by many repeated words

Pairs = dict[int, int]  # place in the prediction to place in the reference


@dataclass(frozen=True, slots=True)
class _Partial:
    """An alignment of the words so far; `used` has a bit for each word of the reference taken."""

    used: int = 0
    last: int = -1  # what the word before was paired with
    pairs: tuple[tuple[int, int], ...] = ()
    crossings: int = 0
    breaks: int = 0  # pairs that do not follow on from the pair of the word before

    @property
    def cost(self) -> tuple[int, int, int]:
        return (-len(self.pairs), self.crossings, self.breaks)


def extend(candidates: Mapping[int, Sequence[int]], fixed: Pairs, *, classes: bool) -> Pairs:
    """Add to `fixed` the best pairs out of each word's candidates, which `fixed` does not use.

    Best are the most pairs, of those the ones with fewest crossings among all pairs, of those the
    ones in fewest chunks. `classes` promises that two words' candidates are the same or have none
    in common, as with equal words; candidates are in rising order. It is found exactly unless more
    than `BEAM` partial alignments compete.

    >>> extend({0: [0, 2], 1: [1], 2: [0, 2]}, {}, classes=True)
    {0: 0, 1: 1, 2: 2}
    """
    partials = [_Partial()]
    later = Counter(tuple(options) for options in candidates.values())
    for place in sorted(candidates):
        options = tuple(candidates[place])
        later[options] -= 1
        found: dict[tuple[int, int], _Partial] = {}
        for partial in partials:
            moves = (
                _in_class(partial, options, later[options]) if classes else _any(partial, options)
            )
            for other in moves:
                one = _skipped(partial) if other is None else _paired(partial, place, other, fixed)
                # What is taken decides all that may follow; the last pair, whether a chunk goes on.
                key = (one.used, one.last)
                if key not in found or one.cost < found[key].cost:
                    found[key] = one
        partials = sorted(found.values(), key=lambda one: one.cost)[:BEAM]
    best = min(partials, key=lambda partial: partial.cost)
    return dict(sorted((fixed | dict(best.pairs)).items()))


def chunks(pairs: Pairs) -> int:
    """Count the runs of pairs that are next to each other, and in order, on both sides.

    >>> chunks({0: 4, 1: 5, 3: 0})
    2
    """
    return sum(pairs.get(place - 1, -2) != other - 1 for place, other in pairs.items())


def _in_class(partial: _Partial, options: Sequence[int], later: int) -> list[int | None]:
    """List what a word may take, None for nothing, without losing a pair in the end.

    Words of one class take their candidates in order: two pairs of a class that cross can always
    be exchanged for two that do not. `later` counts the words of the class that are still to come.
    """
    taken = partial.used & sum(1 << other for other in options)
    first = bisect_left(options, taken.bit_length())
    most = min(later + 1, len(options) - first)
    moves: list[int | None] = [
        options[at]
        for at in range(first, len(options))
        if 1 + min(later, len(options) - at - 1) == most
    ]
    return moves if min(later, len(options) - first) < most else [*moves, None]


def _any(partial: _Partial, options: Sequence[int]) -> list[int | None]:
    return [*(other for other in options if not partial.used >> other & 1), None]


def _skipped(partial: _Partial) -> _Partial:
    return replace(partial, last=-1)


def _paired(partial: _Partial, place: int, other: int, fixed: Pairs) -> _Partial:
    crossings = (partial.used >> (other + 1)).bit_count()
    crossings += sum((one < place) != (theirs < other) for one, theirs in fixed.items())
    before = fixed.get(place - 1)
    if before is None and partial.pairs and partial.pairs[-1][0] == place - 1:
        before = partial.last
    follows = before is not None and before == other - 1
    return _Partial(
        partial.used | 1 << other,
        other,
        (*partial.pairs, (place, other)),
        partial.crossings + crossings,
        partial.breaks + (not follows),
    )
