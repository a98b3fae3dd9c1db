"""Costs of pairs of equal words, and an alignment that no change of one word's pairs improves.

A cost counts crossings first, then pairs that continue a chunk, which lower it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

Pairs = dict[int, int]  # place in the prediction to place in the reference
_ROUNDS: Final = 20  # of improving each class once; five are usual


@dataclass(frozen=True, slots=True)
class WordClass:
    """The places of equal words in the prediction, and in the reference, both in rising order."""

    places: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def slack(self) -> int:
        """Count the words that one side has more than the other."""
        return abs(len(self.places) - len(self.targets))


def pair_costs(word_class: WordClass, others: Pairs, scale: int) -> Integers:
    """Return what each pair of a class costs beside other pairs; shape (places, targets).

    A crossing costs `scale`, and a neighbouring pair that makes one chunk with this one, -1. The
    others use none of the class's places and targets.
    """
    return _costs_beside(word_class, _target_of(others, word_class.places[-1]), scale)


def cost_of(pairs: Pairs, known: Pairs, scale: int) -> int:
    """Return what pairs add to the cost of known ones."""
    together = known | pairs
    added = _crossings(together) - _crossings(known)
    return added * scale - (_continued(together) - _continued(known))


def _target_of(pairs: Pairs, last_place: int) -> Integers:
    """Return the target of each place and two more, -2 for none."""
    import numpy as np

    target_of = np.full(max([last_place, *pairs]) + 2, -2, dtype=np.int64)
    target_of[list(pairs)] = list(pairs.values())
    return target_of


def _costs_beside(word_class: WordClass, target_of: Integers, scale: int) -> Integers:
    import numpy as np

    places, targets = np.array(word_class.places), np.array(word_class.targets)
    other_places = np.flatnonzero(target_of >= 0)
    other_targets = target_of[other_places]
    # With A others before a place, B under a target and C both, A - C and B - C cross the pair.
    rows = np.searchsorted(places, other_places)
    columns = np.searchsorted(targets, other_targets)
    both = np.zeros((len(places) + 1, len(targets) + 1), dtype=np.int64)
    np.add.at(both, (rows, columns), 1)
    both = both.cumsum(0).cumsum(1)
    costs = (both[:-1, -1:] + both[-1:, :-1] - 2 * both[:-1, :-1]) * scale
    costs -= target_of[places - 1][:, None] == targets - 1
    costs -= target_of[places + 1][:, None] == targets + 1
    return costs


def _crossings(pairs: Pairs) -> int:
    before: list[int] = []
    count = 0
    for _, target in sorted(pairs.items()):
        at = bisect_left(before, target)
        count += len(before) - at
        before.insert(at, target)
    return count


def _continued(pairs: Pairs) -> int:
    return sum(pairs.get(place - 1, -2) == target - 1 for place, target in pairs.items())


def remaining_costs(costs: Integers) -> Integers:
    """Return the lowest cost of pairing the rest of a class, shape (places + 1, targets + 1).

    The value at (i, j) is for places from i and targets from j, as many pairs as in the whole class
    allow. Where these cannot be had it is beyond any cost.
    """
    import numpy as np

    places, targets = costs.shape
    beyond = np.int64(1) << 60
    lowest = np.full((places + 1, targets + 1), beyond)
    if places <= targets:  # every place is paired, targets are left out
        lowest[places] = 0
        for i in range(places - 1, -1, -1):
            taken = costs[i] + lowest[i + 1, 1:]
            lowest[i, :-1] = np.minimum.accumulate(taken[::-1])[::-1]
    else:  # every target is paired, places are left out
        lowest[:, targets] = 0
        for j in range(targets - 1, -1, -1):
            taken = costs[:, j] + lowest[1:, j + 1]
            lowest[:-1, j] = np.minimum.accumulate(taken[::-1])[::-1]
    return np.minimum(lowest, beyond)


def improved(classes: Sequence[WordClass], known: Pairs, scale: int) -> Pairs:
    """Pair the words of classes beside known pairs, class after class, until no class gains.

    Returns the pairs of the classes alone. Each class is at its best beside the others; all
    together need not be.
    """
    target_of = _target_of(known, max(word_class.places[-1] for word_class in classes))
    for number in range(_ROUNDS):
        changed = False
        for word_class in classes:
            places = list(word_class.places)
            now = target_of[places].copy()
            target_of[places] = -2
            table = _costs_beside(word_class, target_of, scale)
            best, cost = _cheapest(word_class, table)
            if number and cost >= _cost_in(table, word_class, now):
                target_of[places] = now
                continue
            target_of[list(best)] = list(best.values())
            changed = True
        if not changed:
            break
    return {
        place: int(target_of[place])
        for word_class in classes
        for place in word_class.places
        if target_of[place] >= 0
    }


def _cheapest(word_class: WordClass, costs: Integers) -> tuple[Pairs, int]:
    """Return the cheapest pairs of a class in order, as many as there can be, and their cost."""
    lowest = remaining_costs(costs)
    pairs: Pairs = {}
    i = j = 0
    places, targets = costs.shape
    while i < places and j < targets:
        if lowest[i, j] == costs[i, j] + lowest[i + 1, j + 1]:
            pairs[word_class.places[i]] = word_class.targets[j]
            i, j = i + 1, j + 1
        elif places <= targets:
            j += 1
        else:
            i += 1
    return pairs, int(lowest[0, 0])


def _cost_in(costs: Integers, word_class: WordClass, paired: Integers) -> int:
    """Return what the targets that a class's places are paired with, -2 for none, cost."""
    import numpy as np

    rows = np.flatnonzero(paired >= 0)
    columns = np.searchsorted(np.array(word_class.targets), paired[rows])
    return int(costs[rows, columns].sum())
