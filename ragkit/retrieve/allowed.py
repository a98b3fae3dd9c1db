"""The k best chunks that a filter and a query's demands allow: k whenever there are k.

It knows nothing of how chunks are ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.retrieve.words.bm25 import places_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Reader
    from ragkit.filters import Filter
    from ragkit.postings import Postings
    from ragkit.retrieve.words.demands import Permission

    Masks = list[NDArray[np.bool_]]  # for each segment which of its chunks may be found
    Ranked = list[tuple[int, float]]
    Chosen = Callable[[Sequence[int]], Sequence[int]]

_FIRST = 4  # candidates checked at first for each one wanted; arbitrary
_MORE = 1.5  # and beyond what should be needed, judged by the ones before; arbitrary


@dataclass(frozen=True, slots=True)
class Search:
    """`ranked` yields as many of the best chunks as are asked for, among those of the masks."""

    reader: Reader
    collection: str
    where: Filter | None
    postings: Postings
    permission: Permission
    ranked: Callable[[int, Masks | None], Ranked]

    def best(self, k: int) -> Ranked:
        """Return the k best allowed chunks."""
        masks, allowed = self.permission.masks, self._checks()
        if not allowed:
            return self.ranked(k, masks)
        number, listed = _FIRST * k, self.where is None
        known: dict[int, bool] = {}
        while True:
            candidates = self.ranked(number, masks)
            fresh = [chunk for chunk, _ in candidates if chunk not in known]
            left: Sequence[int] = fresh
            for check in allowed:
                left = check(left) if left else left
            known |= dict.fromkeys(fresh, False) | dict.fromkeys(left, True)
            found = [pair for pair in candidates if known[pair[0]]][:k]
            if len(found) == k or len(candidates) < number:
                return found
            share = (len(found) + 1) / (len(candidates) + 1)
            number = max(2 * number, int(_MORE * k / share))
            if not listed and number > share * self.postings.chunks:
                # What the filter leaves is less than would have to be checked.
                masks, listed = self._within(masks), True

    def _checks(self) -> list[Chosen]:
        found: list[Chosen] = []
        if not self.permission.by_postings:
            found.append(self.permission.confirmed)
        if self.where is not None:
            where = self.where
            found.append(lambda some: self.reader.allowed(self.collection, some, where))
        return found

    def _within(self, masks: Masks | None) -> Masks:
        """Narrow masks to what the filter leaves."""
        import numpy as np

        assert self.where is not None
        matching = np.array(self.reader.matching(self.collection, self.where), np.int64)
        found = []
        for number, segment in enumerate(self.postings.segments):
            mask = np.zeros(len(segment.ids), np.bool_)
            mask[places_of(segment, matching)[1]] = True
            found.append(mask if masks is None else mask & masks[number])
        return found
