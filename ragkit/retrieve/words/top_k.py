"""Find the k best chunks by BM25 without scoring every chunk: same chunks, same scores.

Terms are taken from the rarest to the commonest. As soon as the k-th best score is above all that
the remaining terms could add, no further chunk can come among the best: the remaining terms are
only looked up in the chunks scored so far, and these drop out as they fall behind (Turtle and
Flood 1995, https://doi.org/10.1016/0306-4573(95)00020-H, by terms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.retrieve.words.bm25 import Weighing, frequencies_at, query_weights, top_k
from ragkit.text.postings import Posting, Postings, Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.text.postings import Integers

_SLACK = 1e-9  # sums of the same parts differ by less in another order


@dataclass(frozen=True, slots=True)
class _WeighedTerm:
    weight: float
    highest: float  # the most that this term adds to a chunk
    postings: Sequence[Posting | None]


def find_best(
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
        _weigh_term(weight, postings.terms[term].postings, by)
        for term, weight in query_weights(postings, query_terms).items()
    ]
    remaining = np.cumsum([0.0, *(term.highest for term in reversed(weighed))])[::-1]
    accumulated = _Scores(postings.segments, by, permitted)
    threshold, done = 0.0, 0
    while done < len(weighed) and threshold * (1 - _SLACK) <= remaining[done]:
        accumulated.add(weighed[done])
        done += 1
        threshold = accumulated.kth_best(k)
    ids, scores = accumulated.finish(weighed[done:], remaining[done:], k, threshold)
    return top_k(ids, scores, k)


class _Scores:
    """The chunks that have one of the terms added so far, and their scores, by segment."""

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
        # The system allocates zeroed memory only where it is touched: the size costs nothing.
        self._sums = [np.zeros(len(segment.ids)) for segment in segments]
        self._places: list[list[Integers]] = [[] for _ in segments]

    def add(self, term: _WeighedTerm) -> None:
        """Add a term's part to the score of every chunk that has it."""
        for number, posting in enumerate(term.postings):
            if posting is None:
                continue
            segment, sums = self._segments[number], self._sums[number]
            places, frequencies = posting.listed()
            if self._permitted is not None:
                mask = self._permitted[number][places]
                places, frequencies = places[mask], frequencies[mask]
            if segment.gone is not None:
                mask = ~segment.gone[places]
                places, frequencies = places[mask], frequencies[mask]
            previous = sums[places]
            self._places[number].append(places[previous == 0])
            parts = self._by.saturated(frequencies, segment.lengths[places])
            sums[places] = previous + term.weight * parts

    def kth_best(self, k: int) -> float:
        """Return the k-th best score so far; 0 while there are fewer."""
        return _kth_best([scores for _, scores in self._scored()], k)

    def finish(
        self,
        terms: Sequence[_WeighedTerm],
        remaining: NDArray[np.float64],
        k: int,
        threshold: float,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Look the remaining terms up in the scored chunks; return ids and scores in reach."""
        import numpy as np

        scored = self._scored()
        for number, term in enumerate(terms):
            scored = [
                _within(*pair, threshold * (1 - _SLACK) - remaining[number]) for pair in scored
            ]
            for of_segment, posting in enumerate(term.postings):
                places, scores = scored[of_segment]
                if posting is not None and len(places):
                    lengths = self._segments[of_segment].lengths[places]
                    parts = self._by.saturated(frequencies_at(posting, places), lengths)
                    scored[of_segment] = places, scores + term.weight * parts
            threshold = max(threshold, _kth_best([scores for _, scores in scored], k))
        scored = [_within(*pair, threshold * (1 - _SLACK)) for pair in scored]
        pairs = zip(self._segments, scored, strict=True)
        ids = [np.empty(0, np.int64), *(segment.ids[places] for segment, (places, _) in pairs)]
        return np.concatenate(ids), np.concatenate([np.empty(0), *(s for _, s in scored)])

    def _scored(self) -> list[tuple[Integers, NDArray[np.float64]]]:
        import numpy as np

        together = [
            np.concatenate(places) if places else np.empty(0, np.int32) for places in self._places
        ]
        return [(places, s[places]) for places, s in zip(together, self._sums, strict=True)]


def _within(
    places: Integers, scores: NDArray[np.float64], least: float
) -> tuple[Integers, NDArray[np.float64]]:
    mask = scores >= least
    return places[mask], scores[mask]


def _kth_best(scores: Sequence[NDArray[np.float64]], k: int) -> float:
    import numpy as np

    joined = np.concatenate(scores) if scores else np.empty(0)
    return (
        float(np.partition(joined, len(joined) - k)[len(joined) - k]) if k <= len(joined) else 0.0
    )


def _weigh_term(weight: float, postings: Sequence[Posting | None], by: Weighing) -> _WeighedTerm:
    highest = max((by.peak(posting) for posting in postings if posting is not None), default=0.0)
    return _WeighedTerm(weight, weight * highest, postings)
