"""One-to-one alignments of two lists of words: most pairs, then fewest crossings, then chunks.

The caller says which words match. A search over the words of the prediction keeps each partial
alignment that may still become the best. Where more than `KEPT_ALIGNMENTS` are left at a word, the
most promising ones are kept, and the result is an approximation: on real paragraphs docs/metrics.md
says how often and by how much it falls short.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ragkit_eval.metrics.crossings import (
    Pairs,
    WordClass,
    cost_of,
    improved,
    pair_costs,
    remaining_costs,
)

KEPT_ALIGNMENTS: Final = 1000  # partial alignments at a word
_MAX_STEPS: Final = 100_000  # partial alignments over all words; fewer are kept at each of many
_MIN_KEPT: Final = 4


@dataclass(frozen=True, slots=True)
class _Partial:
    """An alignment of the words so far; `used` has a bit for each paired word of the reference.

    `place` and `target` are its last pair, `before` the alignment before that. `least` is its cost
    with the least that the rest can add.
    """

    used: int
    cost: int
    least: int
    place: int = -2
    target: int = -2
    before: _Partial | None = None

    def pairs(self) -> Pairs:
        """Return the pairs of this alignment."""
        pairs: Pairs = {}
        partial: _Partial | None = self
        while partial is not None and partial.place >= 0:
            pairs[partial.place] = partial.target
            partial = partial.before
        return pairs


def extend(candidates: Mapping[int, Sequence[int]], fixed: Pairs, *, classes: bool) -> Pairs:
    """Add to `fixed` the best pairs out of each word's candidates, which `fixed` does not use.

    The best alignment has the most pairs, then the fewest crossings among all pairs, then the
    fewest chunks. `classes` promises that two words' candidates are the same or have none in
    common, as with equal words; candidates are in rising order.

    >>> extend({0: [0, 2], 1: [1], 2: [0, 2]}, {}, classes=True)
    {0: 0, 1: 1, 2: 2}
    """
    known = dict(fixed)
    # No number of chunks outweighs a crossing, and no number of crossings a pair.
    scale = 4 * (len(fixed) + len(candidates)) + 1
    if not classes:
        chosen = _search_open(candidates, known, scale)
    else:
        choices = []
        for word_class in _classes_of(candidates):
            if word_class.slack:
                choices.append(word_class)
            else:  # in order, as two crossing pairs of a class can always be exchanged
                known |= zip(word_class.places, word_class.targets, strict=True)
        chosen = _search_classes(choices, known, scale)
    return dict(sorted((known | chosen).items()))


def chunks(pairs: Pairs) -> int:
    """Count the runs of pairs that are adjacent and in order on both sides.

    >>> chunks({0: 4, 1: 5, 3: 0})
    2
    """
    return sum(pairs.get(place - 1, -2) != target - 1 for place, target in pairs.items())


def _classes_of(candidates: Mapping[int, Sequence[int]]) -> list[WordClass]:
    places: dict[tuple[int, ...], list[int]] = {}
    for place in sorted(candidates):
        places.setdefault(tuple(candidates[place]), []).append(place)
    return [WordClass(tuple(places[targets]), targets) for targets in places if targets]


def _search_classes(choices: Sequence[WordClass], known: Pairs, scale: int) -> Pairs:
    """Choose among the words of the classes that have more of them on one side."""
    if not choices:
        return {}
    start = improved(choices, known, scale)
    most = cost_of(start, known, scale)
    tables = [_Table.of(word_class, known, scale) for word_class in choices]
    steps = sorted(
        (place, table, row) for table in tables for row, place in enumerate(table.word_class.places)
    )
    limit = _limit(len(steps), 1 + max(word_class.slack for word_class in choices))
    least = sum(table.lowest[0][0] for table in tables)
    partials = [_Partial(0, 0, least)]
    for number, (place, table, row) in enumerate(steps):
        left = len(steps) - number - 1  # each may lower the cost by one, if it continues a chunk
        best: dict[tuple[int, int], _Partial] = {}
        for partial in partials:
            for moved in table.moves(partial, place, row, scale):
                # The used words decide which pairs can follow, the last pair if a chunk goes on.
                key = (moved.used, moved.target if moved.place == place else -2)
                if moved.least - left < most and (key not in best or moved.cost < best[key].cost):
                    best[key] = moved
        partials = list(best.values())
        if len(partials) > limit:
            partials = sorted(partials, key=lambda partial: partial.least)[:limit]
    ended = min(partials, key=lambda partial: partial.cost, default=None)
    return start if ended is None or ended.cost >= most else ended.pairs()


@dataclass(frozen=True, slots=True, order=True)
class _Table:
    """A class with what each pair costs beside the known ones, and what the rest costs at least."""

    word_class: WordClass
    costs: list[list[int]]
    lowest: list[list[int]]
    mask: int

    @classmethod
    def of(cls, word_class: WordClass, known: Pairs, scale: int) -> _Table:
        costs = pair_costs(word_class, known, scale)
        mask = sum(1 << target for target in word_class.targets)
        return cls(word_class, costs.tolist(), remaining_costs(costs).tolist(), mask)

    def moves(self, partial: _Partial, place: int, row: int, scale: int) -> Iterator[_Partial]:
        """Pair a place with each target that it can have without losing a pair, or with none."""
        places, targets = self.word_class.places, self.word_class.targets
        first = bisect_left(targets, (partial.used & self.mask).bit_length())
        base = partial.least - self.lowest[row][first]
        if len(places) > len(targets):
            if len(places) - row > len(targets) - first:
                least = base + self.lowest[row + 1][first]
                yield _Partial(
                    partial.used, partial.cost, least, partial.place, partial.target, partial.before
                )
            columns = range(first, min(first + 1, len(targets)))
        else:
            columns = range(first, len(targets) - (len(places) - row) + 1)
        for column in columns:
            target = targets[column]
            added = (partial.used >> (target + 1)).bit_count() * scale
            added -= partial.place == place - 1 and partial.target == target - 1
            cost = self.costs[row][column]
            yield _Partial(
                partial.used | 1 << target,
                partial.cost + cost + added,
                base + self.lowest[row + 1][column + 1] + cost + added,
                place,
                target,
                partial,
            )


def _search_open(candidates: Mapping[int, Sequence[int]], known: Pairs, scale: int) -> Pairs:
    """Choose pairs where two words may share some candidates only, such as synonyms."""
    widest = max((len(targets) for targets in candidates.values()), default=0)
    limit = _limit(len(candidates), 1 + widest)
    pair = -scale * (len(known) + len(candidates) + 1) ** 2  # outweighs all crossings
    partials = [_Partial(0, 0, 0)]
    for place in sorted(candidates):
        options = tuple(candidates[place])
        (costs,) = pair_costs(WordClass((place,), options), known, scale).tolist()
        best: dict[tuple[int, int], _Partial] = {}
        for partial in partials:
            moves = [partial]
            for target, cost in zip(options, costs, strict=True):
                if partial.used >> target & 1:
                    continue
                added = (partial.used >> (target + 1)).bit_count() * scale + cost + pair
                added -= partial.place == place - 1 and partial.target == target - 1
                total = partial.cost + added
                moves.append(
                    _Partial(partial.used | 1 << target, total, total, place, target, partial)
                )
            for moved in moves:
                key = (moved.used, moved.target if moved.place == place else -2)
                if key not in best or moved.cost < best[key].cost:
                    best[key] = moved
        partials = sorted(best.values(), key=lambda partial: partial.cost)[:limit]
    return min(partials, key=lambda partial: partial.cost).pairs()


def _limit(words: int, moves: int) -> int:
    """Return how many partial alignments are kept at a word, so that the time has a bound."""
    return max(_MIN_KEPT, min(KEPT_ALIGNMENTS, _MAX_STEPS // max(1, words * moves)))
