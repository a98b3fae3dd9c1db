"""One-to-one alignments of two lists of words: most pairs, then fewest crossings, then chunks.

The caller says which words match.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

BEAM = 64  # partial alignments per word; arbitrary, reached only by many repeated words

Pairs = dict[int, int]  # place in the prediction to place in the reference


@dataclass(frozen=True, slots=True)
class _Partial:
    """An alignment of the words so far; `used` has a bit for each paired word of the reference."""

    used: int = 0
    last: int = -1  # the pair of the previous word
    pairs: tuple[tuple[int, int], ...] = ()
    crossings: int = 0
    breaks: int = 0  # pairs that do not continue the pair of the previous word

    @property
    def cost(self) -> tuple[int, int, int]:
        return (-len(self.pairs), self.crossings, self.breaks)


def extend(candidates: Mapping[int, Sequence[int]], fixed: Pairs, *, classes: bool) -> Pairs:
    """Add to `fixed` the best pairs out of each word's candidates, which `fixed` does not use.

    The best alignment has the most pairs, then the fewest crossings among all pairs, then the
    fewest chunks. `classes` promises that two words' candidates are the same or have none in
    common, as with equal words; candidates are in rising order. The result is exact unless more
    than `BEAM` partial alignments compete.

    >>> extend({0: [0, 2], 1: [1], 2: [0, 2]}, {}, classes=True)
    {0: 0, 1: 1, 2: 2}
    """
    partials = [_Partial()]
    later = Counter(tuple(options) for options in candidates.values())
    for place in sorted(candidates):
        options = tuple(candidates[place])
        later[options] -= 1
        best_partials: dict[tuple[int, int], _Partial] = {}
        for partial in partials:
            moves = (
                _class_options(partial, options, later[options])
                if classes
                else _open_options(partial, options)
            )
            for candidate in moves:
                successor = (
                    _skipped(partial)
                    if candidate is None
                    else _paired(partial, place, candidate, fixed)
                )
                # The used words decide which pairs can follow, the last pair if a chunk goes on.
                key = (successor.used, successor.last)
                if key not in best_partials or successor.cost < best_partials[key].cost:
                    best_partials[key] = successor
        partials = sorted(best_partials.values(), key=lambda partial: partial.cost)[:BEAM]
    best = min(partials, key=lambda partial: partial.cost)
    return dict(sorted((fixed | dict(best.pairs)).items()))


def chunks(pairs: Pairs) -> int:
    """Count the runs of pairs that are adjacent and in order on both sides.

    >>> chunks({0: 4, 1: 5, 3: 0})
    2
    """
    return sum(pairs.get(place - 1, -2) != target - 1 for place, target in pairs.items())


def _class_options(partial: _Partial, options: Sequence[int], later: int) -> list[int | None]:
    """List the candidates that a word may take, None for no pair, without losing a pair at the end.

    Words of a class take their candidates in order: two pairs of a class that cross can always be
    exchanged for two that do not. `later` counts the words of the class that follow.
    """
    used = partial.used & sum(1 << option for option in options)
    first = bisect_left(options, used.bit_length())
    pair_count = min(later + 1, len(options) - first)
    moves: list[int | None] = [
        options[at]
        for at in range(first, len(options))
        if 1 + min(later, len(options) - at - 1) == pair_count
    ]
    return moves if min(later, len(options) - first) < pair_count else [*moves, None]


def _open_options(partial: _Partial, options: Sequence[int]) -> list[int | None]:
    return [*(option for option in options if not partial.used >> option & 1), None]


def _skipped(partial: _Partial) -> _Partial:
    return replace(partial, last=-1)


def _paired(partial: _Partial, place: int, candidate: int, fixed: Pairs) -> _Partial:
    crossings = (partial.used >> (candidate + 1)).bit_count()
    crossings += sum(
        (fixed_place < place) != (fixed_target < candidate)
        for fixed_place, fixed_target in fixed.items()
    )
    previous = fixed.get(place - 1)
    if previous is None and partial.pairs and partial.pairs[-1][0] == place - 1:
        previous = partial.last
    follows = previous is not None and previous == candidate - 1
    return _Partial(
        partial.used | 1 << candidate,
        candidate,
        (*partial.pairs, (place, candidate)),
        partial.crossings + crossings,
        partial.breaks + (not follows),
    )
