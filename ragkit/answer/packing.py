"""Which passages go into a prompt, and in which order: none twice, whole, within a budget.

What survives goes by merit; the order does not, so that prompts about the same passages begin
alike and a server's prefix cache serves them. It counts tokens by whatever it is given.
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
Order = Callable[[Sequence[Hit]], Sequence[Hit]]  # puts passages, best first, into another order


def distinct(passages: Sequence[Hit], shown: Sequence[Hit] = ()) -> list[Hit]:
    """Leave out what an earlier passage or a shown one says: the same text, or the same stretch.

    Of two passages that overlap, the later loses the shared part.

    >>> def hit(start: int, end: int) -> Hit:
    ...     return Hit(1, start, "", "", None, start, end, "One. Two. Three."[start:end], 0.0)
    >>> [(found.start, found.text) for found in distinct([hit(5, 16), hit(0, 9)])]
    [(5, 'Two. Three.'), (0, 'One. ')]
    """
    kept: list[Hit] = []
    texts = {" ".join(hit.text.split()) for hit in shown}
    for hit in passages:
        rest = _beyond_all(hit, [*shown, *kept])
        if rest is None or (folded := " ".join(rest.text.split())) in texts or not folded:
            continue
        kept.append(rest)
        texts.add(folded)
    return kept


def fitting(passages: Sequence[Hit], costs: Sequence[int], budget_tokens: int) -> list[int]:
    """Choose the passages that fit whole, best first; one that does not is passed over.

    >>> hit = Hit(1, 1, "", "", None, 0, 1, "a", 0.0)
    >>> fitting([hit, hit, hit], [50, 900, 40], 100)
    [0, 2]
    """
    chosen: list[int] = []
    left = budget_tokens
    for index, cost in enumerate(costs[: len(passages)]):
        if cost <= left:
            left -= cost
            chosen.append(index)
    return chosen


def beginning(passage: Hit, fits: Callable[[Hit], bool]) -> Hit | None:
    """Cut a passage after the last of its sentences with which it still fits; None for none."""
    ends = [span.end for span in sentences(passage.text)]
    low, high = 0, len(ends)
    while low < high:  # more text never costs less, as far as a tokenizer can be trusted
        middle = (low + high + 1) // 2
        if fits(_cut(passage, ends[middle - 1])):
            low = middle
        else:
            high = middle - 1
    return _cut(passage, ends[low - 1]) if low else None


def in_stable_order(passages: Sequence[Hit]) -> list[Hit]:
    """Order passages by where they stand in the documents, whatever their scores."""
    return sorted(passages, key=lambda hit: (hit.document, hit.start))


class RecentOrders:
    """Order passages as they began lately: the longest known beginning, then the others by merit.

    Questions about one thing find the same passages first, but not all the same. Neither an order
    by merit nor one by place gives their prompts a long common beginning; this does. The same
    passages stand in the same order as the last time, whatever their scores.

    What it remembers makes the order of a prompt depend on the prompts before it.

    Measured on 923 questions (benchmarks/prefix.py), turns before keeping their sources, as the
    share of all tokens that a prefix cache has: 0.44 by merit, 0.47 by place, 0.51 by document,
    0.53 so. By document is the stateless alternative, should the same prompt matter more.
    """

    def __init__(self, size: int = 256) -> None:
        self._size = size  # arbitrary: a prefix cache does not remember more either
        self._orders: OrderedDict[tuple[_Key, ...], None] = OrderedDict()
        self._guard = threading.Lock()

    def __call__(self, passages: Sequence[Hit]) -> list[Hit]:
        """Return the passages, which stand best first, in the order in which to show them."""
        left = {_key(hit): hit for hit in passages}
        with self._guard:
            first: Sequence[_Key] = ()
            for order in reversed(self._orders):
                known = list(takewhile(left.__contains__, order))
                if len(known) > len(first):
                    first = known
            placed = [*first, *(key for key in left if key not in set(first))]
            self._orders[tuple(placed)] = None
            self._orders.move_to_end(tuple(placed))
            if len(self._orders) > self._size:
                self._orders.popitem(last=False)
        return [left[key] for key in placed]


_Key = tuple[int, int, int, int]


def _key(hit: Hit) -> _Key:
    return hit.document, hit.version, hit.start, hit.end


def _beyond_all(hit: Hit, others: Sequence[Hit]) -> Hit | None:
    before: Hit | None = None
    while hit != before:  # what one leaves, another may hold
        before = hit
        for other in others:
            rest = _beyond(hit, other)
            if rest is None:
                return None
            hit = rest
    return hit


def _beyond(hit: Hit, other: Hit) -> Hit | None:
    """Return what of a passage another of the same document does not hold, None for nothing."""
    same = (hit.document, hit.version) == (other.document, other.version)
    if not same or hit.end <= other.start or other.end <= hit.start:
        return hit
    if hit.start < other.start and hit.end <= other.end:
        return _cut(hit, other.start - hit.start)
    if other.start <= hit.start and other.end < hit.end:
        return replace(hit, start=other.end, text=hit.text[other.end - hit.start :])
    return None if other.start <= hit.start else hit  # one that holds the other whole is kept


def _cut(hit: Hit, length: int) -> Hit:
    return replace(hit, end=hit.start + length, text=hit.text[:length])
