"""Choose new tokens: join the pair of neighbouring tokens that is most frequent, again and again.

It is BPE's training (Sennrich et al. 2016, arXiv:1508.07909) that begins with a model's own tokens.
Each step shortens the texts by the pair's count, where it does not overlap itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

Word = tuple[str, ...]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Joined:
    """A new token of two others, and how many tokens fewer the texts have by it."""

    token: str
    pair: Pair
    gain: int


def choose_pairs(
    words: Mapping[Word, int],
    count: int,
    *,
    join: Callable[[str, str], str | None],
    min_gain: int = 2,
) -> list[Joined]:
    """Choose at most `count` new tokens, each of at least `min_gain` occurrences.

    `words` holds sequences of tokens with their frequencies; `join` names the token of a pair, None
    for one that may not be joined. Ties go to the pair that is first in the alphabet.

    >>> words = {("a", "b", "c"): 3, ("a", "b"): 2}
    >>> choose_pairs(words, 2, join=lambda a, b: a + b)
    [Joined(token='ab', pair=('a', 'b'), gain=5), Joined(token='abc', pair=('ab', 'c'), gain=3)]
    """
    state = _Counts(words, join)
    heap = [(-gain, pair) for pair, gain in state.gains.items()]
    heapify(heap)
    chosen: dict[str, Joined] = {}
    while heap and len(chosen) < count:
        negative, pair = heappop(heap)
        gain = state.gains[pair]
        token = join(*pair)
        assert token is not None, "only pairs that may be joined are counted"
        if gain != -negative or token in chosen:  # an outdated entry, or a second way to a token
            continue
        if gain < min_gain:
            break
        shorter, changed = state.apply(pair, token)
        chosen[token] = Joined(token, pair, shorter)
        for name in changed:
            heappush(heap, (-state.gains[name], name))
    return list(chosen.values())


class _Counts:
    """The words as they are joined so far, the pairs' counts, and which words a pair is in."""

    def __init__(self, words: Mapping[Word, int], join: Callable[[str, str], str | None]) -> None:
        self._join = join
        self._words = [list(word) for word in words]
        self._frequencies = list(words.values())
        self._places: defaultdict[Pair, set[int]] = defaultdict(set)
        self.gains: Counter[Pair] = Counter()
        for number in range(len(self._words)):
            self._count(number, 1)

    def apply(self, pair: Pair, token: str) -> tuple[int, set[Pair]]:
        """Join a pair in every word that has it.

        Return how many tokens fewer the texts have, and the pairs whose counts changed.
        """
        shorter = 0
        changed: set[Pair] = set()
        for number in self._places.pop(pair):
            word = self._words[number]
            changed |= self._count(number, -1)
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == pair:
                    word[place : place + 2] = [token]
                    shorter += self._frequencies[number]
                place += 1
            changed |= self._count(number, 1)
        return shorter, {name for name in changed if self.gains[name] > 0}

    def _count(self, number: int, sign: int) -> set[Pair]:
        """Add or take away a word's pairs; return them."""
        pairs = {pair for pair in pairwise(self._words[number]) if self._join(*pair) is not None}
        for pair in pairwise(self._words[number]):
            if pair in pairs:
                self.gains[pair] += sign * self._frequencies[number]
        if sign > 0:
            for pair in pairs:
                self._places[pair].add(number)
        return pairs
