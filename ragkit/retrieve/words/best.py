"""The k best chunks by BM25 without scoring every chunk: the same ones, with the same scores.

Terms are taken from the rarest to the commonest. As soon as the k-th best score so far is above
all that the terms left could give together, a chunk not seen yet cannot come among the best: the
terms left are only looked up in the chunks seen, and these drop out as they fall behind (Turtle
and Flood 1995, https://doi.org/10.1016/0306-4573(95)00020-H, by terms). It knows no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.postings import Posting, Postings, Segment
from ragkit.retrieve.words.bm25 import Weighing, at, top_k, weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.postings import Integers

_SLACK = 1e-9  # sums of the same parts differ by less in another order


@dataclass(frozen=True, slots=True)
class _Weighed:
    weight: float
    highest: float  # no chunk gets more of this term
    postings: Sequence[Posting | None]


def best(
    postings: Postings,
    query_terms: Sequence[str],
    k: int,
    by: Weighing,
    permitted: Sequence[NDArray[np.bool_]] | None = None,
) -> list[tuple[int, float]]:
    """Return the k best chunks with their scores, best first, equal scores by ascending id.

    `permitted` says for each segment which of its chunks may be among them; None: all may.
    """
    import numpy as np

    weighed = [
        _weighed(weight, postings.terms[term].postings, by)
        for term, weight in weights(postings, query_terms).items()
    ]
    left = np.cumsum([0.0, *(one.highest for one in reversed(weighed))])[::-1]
    seen = _Seen(postings.segments, by, permitted)
    threshold, done = 0.0, 0
    while done < len(weighed) and threshold * (1 - _SLACK) <= left[done]:
        seen.add(weighed[done])
        done += 1
        threshold = seen.kth_best(k)
    ids, scores = seen.finish(weighed[done:], left[done:], k, threshold)
    return top_k(ids, scores, k)


class _Seen:
    """The chunks that have one of the terms taken so far, and their scores, by segment."""

    def __init__(
        self,
        segments: Sequence[Segment],
        by: Weighing,
        permitted: Sequence[NDArray[np.bool_]] | None,
    ) -> None:
        import numpy as np

        self._segments = segments
        self._by = by
        self._permitted = permitted
        # Memory that the system gives only where it is touched: its size costs nothing.
        self._sums = [np.zeros(len(segment.ids)) for segment in segments]
        self._places: list[list[Integers]] = [[] for _ in segments]

    def add(self, term: _Weighed) -> None:
        """Give every chunk that has a term its part, those not seen before included."""
        for number, posting in enumerate(term.postings):
            if posting is None:
                continue
            segment, sums = self._segments[number], self._sums[number]
            places, frequencies = posting.listed()
            if self._permitted is not None:
                kept = self._permitted[number][places]
                places, frequencies = places[kept], frequencies[kept]
            if segment.gone is not None:
                kept = ~segment.gone[places]
                places, frequencies = places[kept], frequencies[kept]
            before = sums[places]
            self._places[number].append(places[before == 0])
            parts = self._by.saturated(frequencies, segment.lengths[places])
            sums[places] = before + term.weight * parts

    def kth_best(self, k: int) -> float:
        """Return the k-th best score so far; 0 while fewer are seen."""
        return _kth_best([scores for _, scores in self._found()], k)

    def finish(
        self, terms: Sequence[_Weighed], left: NDArray[np.float64], k: int, threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Look the other terms up in the chunks seen; return ids and scores of those in reach."""
        import numpy as np

        found = self._found()
        for number, term in enumerate(terms):
            found = [_within(*pair, threshold * (1 - _SLACK) - left[number]) for pair in found]
            for of_segment, posting in enumerate(term.postings):
                places, scores = found[of_segment]
                if posting is not None and len(places):
                    lengths = self._segments[of_segment].lengths[places]
                    parts = self._by.saturated(at(posting, places), lengths)
                    found[of_segment] = places, scores + term.weight * parts
            threshold = max(threshold, _kth_best([scores for _, scores in found], k))
        found = [_within(*pair, threshold * (1 - _SLACK)) for pair in found]
        pairs = zip(self._segments, found, strict=True)
        ids = [np.empty(0, np.int64), *(segment.ids[places] for segment, (places, _) in pairs)]
        return np.concatenate(ids), np.concatenate([np.empty(0), *(s for _, s in found)])

    def _found(self) -> list[tuple[Integers, NDArray[np.float64]]]:
        import numpy as np

        together = [
            np.concatenate(places) if places else np.empty(0, np.int32) for places in self._places
        ]
        return [(places, s[places]) for places, s in zip(together, self._sums, strict=True)]


def _within(
    places: Integers, scores: NDArray[np.float64], least: float
) -> tuple[Integers, NDArray[np.float64]]:
    kept = scores >= least
    return places[kept], scores[kept]


def _kth_best(scores: Sequence[NDArray[np.float64]], k: int) -> float:
    import numpy as np

    every = np.concatenate(scores) if scores else np.empty(0)
    return float(np.partition(every, len(every) - k)[len(every) - k]) if k <= len(every) else 0.0


def _weighed(weight: float, postings: Sequence[Posting | None], by: Weighing) -> _Weighed:
    highest = max((by.peak(one) for one in postings if one is not None), default=0.0)
    return _Weighed(weight, weight * highest, postings)
