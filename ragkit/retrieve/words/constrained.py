"""Find the k best chunks that meet a filter and a query's demands: k whenever there are k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.retrieve.words.bm25 import places_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Reader
    from ragkit.filters.tree import Filter
    from ragkit.retrieve.words.demands import DemandFilter
    from ragkit.text.postings import Postings

    Masks = list[NDArray[np.bool_]]  # for each segment, which of its chunks may be returned
    Ranked = list[tuple[int, float]]
    Select = Callable[[Sequence[int]], Sequence[int]]

_CANDIDATES_PER_HIT = 4  # checked at first; arbitrary
# Microseconds of the database in a collection of a million chunks, documents of 10.
_CHECK_US = 10.0  # a candidate that is checked by itself
_JUDGE_US = 0.05  # a chunk's share of judging its document
_LIST_US = 1.0  # a chunk that passes
_MARGIN = 1.5  # over the number that the last round's share of hits calls for; arbitrary


@dataclass(frozen=True, slots=True)
class ConstrainedSearch:
    """Search within the masks and the filter: `ranked(n, masks)` lists the n best chunks."""

    reader: Reader
    collection: str
    where: Filter | None
    postings: Postings
    demands: DemandFilter
    ranked: Callable[[int, Masks | None], Ranked]

    def best(self, k: int) -> Ranked:
        """Return the k best allowed chunks."""
        masks, listed = self.demands.masks, self.where is None
        number, share = self._number(k, listed), 1.0
        permitted: dict[int, bool] = {}
        while True:
            if not listed and self._lists(number, share):
                masks, listed = self._within(masks), True
                number = self._number(k, listed)
            candidates = self.ranked(number, masks)
            unchecked = [chunk for chunk, _ in candidates if chunk not in permitted]
            passed: Sequence[int] = unchecked
            if passed and not self.demands.by_postings:
                passed = self.demands.select_by_text(passed)
            if passed and self.where is not None and not listed:
                passed = self.reader.allowed(self.collection, passed, self.where)
            permitted |= dict.fromkeys(unchecked, False) | dict.fromkeys(passed, True)
            hits = [pair for pair in candidates if permitted[pair[0]]][:k]
            if len(hits) == k or len(candidates) < number:
                return hits
            share = (len(hits) + 1) / (len(candidates) + 1)
            number = max(2 * number, int(_MARGIN * k / share))

    def _number(self, k: int, listed: bool) -> int:
        """Tell how many candidates to look at first: k where the masks allow no others."""
        return k if listed and self.demands.by_postings else _CANDIDATES_PER_HIT * k

    def _lists(self, number: int, share: float) -> bool:
        """Tell whether listing the chunks that pass, about this share, is the cheaper way."""
        return _CHECK_US * number > (_JUDGE_US + _LIST_US * share) * self.postings.chunks

    def _within(self, masks: Masks | None) -> Masks:
        """Narrow masks to the chunks of documents that the filter is true of."""
        import numpy as np

        assert self.where is not None
        matching = np.array(self.reader.matching(self.collection, self.where), np.int64)
        narrowed = []
        for n, segment in enumerate(self.postings.segments):
            mask = np.zeros(len(segment.ids), np.bool_)
            mask[places_of(segment, matching)[1]] = True
            narrowed.append(mask if masks is None else mask & masks[n])
        return narrowed
