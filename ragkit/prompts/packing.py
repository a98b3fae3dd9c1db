"""Pack passages into a prompt: none twice, none cut, within a budget, in a stable order.

Selection goes by merit; the order does not, so that prompts about the same passages begin alike and
a server's prefix cache serves them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from ragkit.text.sentences import sentences
from ragkit.types import Hit

Count = Callable[[Sequence[str]], Sequence[int]]
Order = Callable[[Sequence[Hit]], Sequence[Hit]]  # reorders passages that stand best first


def drop_repeated(passages: Sequence[Hit], previous: Sequence[Hit] = ()) -> list[Hit]:
    """Drop what an earlier or previously shown passage says: the same text, or the same stretch.

    Of two passages that overlap, the later loses the shared part.

    >>> def hit(start: int, end: int) -> Hit:
    ...     return Hit(1, start, "", "", None, start, end, "One. Two. Three."[start:end], 0.0)
    >>> [(passage.start, passage.text) for passage in drop_repeated([hit(5, 16), hit(0, 9)])]
    [(5, 'Two. Three.'), (0, 'One. ')]
    """
    remaining: list[Hit] = []
    texts = {" ".join(hit.text.split()) for hit in previous}
    for hit in passages:
        remainder = _outside_all(hit, [*previous, *remaining])
        if remainder is None or (folded := " ".join(remainder.text.split())) in texts or not folded:
            continue
        remaining.append(remainder)
        texts.add(folded)
    return remaining


def choose_fitting(passages: Sequence[Hit], costs: Sequence[int], budget_tokens: int) -> list[int]:
    """Choose the passages that fit uncut, best first; one that does not fit is skipped.

    >>> hit = Hit(1, 1, "", "", None, 0, 1, "a", 0.0)
    >>> choose_fitting([hit, hit, hit], [50, 900, 40], 100)
    [0, 2]
    """
    chosen: list[int] = []
    budget = budget_tokens
    for index, cost in enumerate(costs[: len(passages)]):
        if cost <= budget:
            budget -= cost
            chosen.append(index)
    return chosen


def cut_to_fit(passage: Hit, fits: Callable[[Hit], bool]) -> Hit | None:
    """Cut a passage after the last sentence with which it still fits; None if none does."""
    ends = [span.end for span in sentences(passage.text)]
    low, high = 0, len(ends)
    while low < high:  # more text costs no less, as a rule
        middle = (low + high + 1) // 2
        if fits(_cut(passage, ends[middle - 1])):
            low = middle
        else:
            high = middle - 1
    return _cut(passage, ends[low - 1]) if low else None


def in_stable_order(passages: Sequence[Hit]) -> list[Hit]:
    """Order passages by their place in the documents, whatever their scores."""
    return sorted(passages, key=lambda hit: (hit.document, hit.start))


class RecentOrders:
    """Order passages as recent prompts began: the longest known beginning, then the others by
    merit.

    Questions about one subject find the same passages first, but not all the same. Neither an order
    by merit nor one by place gives their prompts a long common beginning; this does. The same
    passages stand in the same order as the last time, whatever their scores.

    The order of a prompt therefore depends on the prompts before it.

    Measured on 923 questions (benchmarks/prefix.py), with earlier turns keeping their sources, as
    the share of all tokens that a prefix cache has: 0.44 by merit, 0.47 by place, 0.51 by document,
    0.53 in this order. By document is the stateless alternative, should the same prompt matter
    more.
    """

    def __init__(self, size: int = 256) -> None:
        self._size = size  # arbitrary: a prefix cache holds no more either
        self._orders: OrderedDict[tuple[_Key, ...], None] = OrderedDict()
        self._guard = threading.Lock()

    def __call__(self, passages: Sequence[Hit]) -> list[Hit]:
        """Return the passages, which stand best first, in the order of the prompt."""
        passages_by_key = {_key(hit): hit for hit in passages}
        with self._guard:
            first: Sequence[_Key] = ()
            for order in reversed(self._orders):
                beginning = list(takewhile(passages_by_key.__contains__, order))
                if len(beginning) > len(first):
                    first = beginning
            placed = [*first, *(key for key in passages_by_key if key not in set(first))]
            self._orders[tuple(placed)] = None
            self._orders.move_to_end(tuple(placed))
            if len(self._orders) > self._size:
                self._orders.popitem(last=False)
        return [passages_by_key[key] for key in placed]


_Key = tuple[int, int, int, int]


def _key(hit: Hit) -> _Key:
    return hit.document, hit.version, hit.start, hit.end


def _outside_all(hit: Hit, others: Sequence[Hit]) -> Hit | None:
    previous: Hit | None = None
    while hit != previous:  # another passage may hold the remainder
        previous = hit
        for passage in others:
            remainder = _outside(hit, passage)
            if remainder is None:
                return None
            hit = remainder
    return hit


def _outside(hit: Hit, other: Hit) -> Hit | None:
    """Return the part of a passage that another of its document does not hold, None for nothing."""
    same_document = (hit.document, hit.version) == (other.document, other.version)
    if not same_document or hit.end <= other.start or other.end <= hit.start:
        return hit
    if hit.start < other.start and hit.end <= other.end:
        return _cut(hit, other.start - hit.start)
    if other.start <= hit.start and other.end < hit.end:
        return replace(hit, start=other.end, text=hit.text[other.end - hit.start :])
    return None if other.start <= hit.start else hit  # a passage that contains the other is kept


def _cut(hit: Hit, length: int) -> Hit:
    return replace(hit, end=hit.start + length, text=hit.text[:length])
