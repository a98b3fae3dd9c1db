"""Exact BM25 over postings, in numpy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import TYPE_CHECKING, Any

from ragkit.text.postings import Posting, Postings, Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.text.postings import Integers

K1 = 1.2  # Lucene's defaults, within the ranges of Robertson and Zaragoza, section 3.2
B = 0.75


@dataclass(frozen=True, slots=True)
class Weighing:
    """BM25's constants and a collection's mean chunk length, in terms.

    score(q, c) = sum over t in q of idf(t) tf / (tf + k1 (1 - b + b length / mean length)),
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)). A term that stands twice in the query counts
    twice; a term in no chunk counts nothing. Lucene's variant: idf is positive even for a term of
    most chunks, and the constant factor k1 + 1 is left out. Source: Robertson and Zaragoza 2009,
    https://doi.org/10.1561/1500000019; Kamphuis et al. 2020,
    https://doi.org/10.1007/978-3-030-45442-5_4.
    """

    k1: float
    b: float
    mean_length: float

    def saturated(self, frequencies: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.float64]:
        """Compute tf / (tf + k1 (1 - b + b length / mean length)); 0 where tf is 0."""
        import numpy as np

        norm: NDArray[np.float64] = lengths * (self.k1 * self.b / self.mean_length)
        norm += self.k1 * (1 - self.b)
        norm += frequencies
        if self.k1 == 0:  # 0 / 0 where tf is 0
            return (frequencies > 0).astype(np.float64)
        parts: NDArray[np.float64] = frequencies / norm
        return parts

    def peak(self, posting: Posting) -> float:
        """Compute the highest value of `saturated` in a segment, removed chunks included."""
        return float(self.saturated(posting.peaks[0], posting.peaks[1]).max(initial=0.0))


def weigh_collection(postings: Postings, k1: float = K1, b: float = B) -> Weighing:
    """Return the weighing by a collection's current statistics."""
    return Weighing(k1, b, postings.total_length / postings.chunks if postings.total_length else 1)


def query_weights(postings: Postings, query_terms: Sequence[str]) -> dict[str, float]:
    """Weigh a query's terms by idf and number of times, the rarest first, without absent ones.

    Every score is a sum in this order: equal scores are equal to the last bit.
    """
    counts = {term: n for term, n in Counter(query_terms).items() if term in postings.terms}
    order = sorted(counts, key=lambda term: (postings.terms[term].containing, term))
    return {
        term: counts[term] * idf(postings.chunks, postings.terms[term].containing) for term in order
    }


def bm25(
    postings: Postings, query_terms: Sequence[str], *, k1: float = K1, b: float = B
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Score every chunk that has a term of the query: ids ascending, and their scores, all > 0.

    See `Weighing` for the formula and its source.
    """
    import numpy as np

    by = weigh_collection(postings, k1, b)
    ids: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    scores: list[NDArray[np.float64]] = [np.empty(0, np.float64)]
    for number, segment in enumerate(postings.segments):
        sums = np.zeros(len(segment.ids))
        for term, weight in query_weights(postings, query_terms).items():
            posting = postings.terms[term].postings[number]
            if posting is not None:
                places, frequencies = posting.listed()
                sums[places] += weight * by.saturated(frequencies, segment.lengths[places])
        if segment.gone is not None:
            sums[segment.gone] = 0
        ids.append(segment.ids[sums > 0])
        scores.append(sums[sums > 0])
    everything = np.concatenate(ids)
    order = np.argsort(everything, kind="stable")
    return everything[order], np.concatenate(scores)[order]


def idf(chunks: int, containing: int) -> float:
    """Weigh a term that `containing` of `chunks` chunks have: ln(1 + (N - df + 0.5) / (df + 0.5)).

    >>> round(idf(10, 1), 4), round(idf(10, 10), 4)
    (1.9924, 0.0465)
    """
    return log1p((chunks - containing + 0.5) / (containing + 0.5))


def idf_mass(postings: Postings, query_terms: Sequence[str]) -> float:
    """Sum the idf of a query's terms, with repetitions and with terms that are in no chunk.

    No chunk's score reaches it: it is the limit for a chunk that has every term infinitely often.
    """
    known_terms = postings.terms
    return sum(
        times * idf(postings.chunks, known_terms[term].containing if term in known_terms else 0)
        for term, times in Counter(query_terms).items()
    )


def top_k(ids: NDArray[np.int64], scores: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
    """Return the k highest scores with their ids, best first, equal scores by ascending id."""
    import numpy as np

    if k < len(ids):
        least = np.partition(scores, len(ids) - k)[len(ids) - k]
        near = scores >= least  # ties with the k-th included, so that the id decides
        ids, scores = ids[near], scores[near]
    order = np.lexsort((ids, -scores))[:k]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def scores_of(
    postings: Postings, query_terms: Sequence[str], chunks: Sequence[int], by: Weighing
) -> dict[int, float]:
    """Map each of these chunks to its score; one that has no term of the query is absent."""
    import numpy as np

    requested = np.array(chunks, np.int64)
    weighed = query_weights(postings, query_terms)
    scores: dict[int, float] = {}
    for number, segment in enumerate(postings.segments):
        which, places = places_of(segment, requested)
        sums = np.zeros(len(places))
        for term, weight in weighed.items():
            posting = postings.terms[term].postings[number]
            if posting is not None:
                sums += weight * by.saturated(
                    frequencies_at(posting, places), segment.lengths[places]
                )
        pairs = zip(requested[which].tolist(), sums.tolist(), strict=True)
        scores |= {chunk: score for chunk, score in pairs if score > 0}
    return scores


def occurrences(
    postings: Postings, term: str
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """List a term's chunks, ascending, how often each has it, and their lengths in terms."""
    import numpy as np

    ids = [np.empty(0, np.int64)]
    counts = [np.empty(0, np.int32)]
    lengths = [np.empty(0, np.int32)]
    columns = postings.terms[term].postings if term in postings.terms else ()
    for segment, posting in zip(postings.segments, columns, strict=bool(columns)):
        if posting is not None:
            places, frequencies = posting.listed()
            living = slice(None) if segment.gone is None else ~segment.gone[places]
            ids.append(segment.ids[places[living]])
            counts.append(frequencies[living].astype(np.int32))
            lengths.append(segment.lengths[places[living]])
    every = np.concatenate(ids)
    order = np.argsort(every, kind="stable")
    return every[order], np.concatenate(counts)[order], np.concatenate(lengths)[order]


def places_of(
    segment: Segment, chunks: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Locate chunks in a segment: the indices of those that live in it, and their places."""
    import numpy as np

    places = np.searchsorted(segment.ids, chunks)
    which = np.flatnonzero(places < len(segment.ids))
    which = which[segment.ids[places[which]] == chunks[which]]
    if segment.gone is not None:
        which = which[~segment.gone[places[which]]]
    return which, places[which]


def frequencies_at(posting: Posting, places: Integers) -> Integers:
    """Look up a term's frequency at these places."""
    import numpy as np

    if posting.places is None:
        return posting.frequencies[places]
    indices = np.searchsorted(posting.places, places.astype(np.int32, copy=False))
    indices[indices == len(posting.places)] = 0
    frequencies: Integers = posting.frequencies[indices]
    frequencies[posting.places[indices] != places] = 0
    return frequencies
