"""The word index as arrays: segments of chunks, and where terms stand in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.integer[Any]]

_FEW: Final = 256  # below, every chunk may stand for itself among the peaks


@dataclass(frozen=True, slots=True)
class Segment:
    """Chunks that were indexed together, by ascending id.

    Of each its id (int64) and length in terms (int32), and whether it is gone (bool); None: none.
    """

    ids: NDArray[np.int64]
    lengths: NDArray[np.int32]
    gone: NDArray[np.bool_] | None = None

    def all_gone(self) -> NDArray[np.bool_]:
        """Tell of every chunk whether it is gone."""
        import numpy as np

        return np.zeros(len(self.ids), np.bool_) if self.gone is None else self.gone


@dataclass(frozen=True, slots=True)
class Posting:
    """Where a term stands in a segment: places in its arrays, ascending (int32), and how often.

    Without places, a frequency for every chunk of the segment, 0 where the term is not. `peaks`
    has the frequencies that occur and the length of the shortest chunk with each, shape (2, n).
    """

    places: Integers | None
    frequencies: Integers
    peaks: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        places: Integers | None,
        frequencies: Integers,
        lengths: NDArray[np.int32],
    ) -> Self:
        """Make a posting in a segment whose chunks have these lengths."""
        import numpy as np

        where = np.arange(len(lengths)) if places is None else places
        if len(where) <= _FEW:
            peaks = np.stack([frequencies, lengths[where]])
        else:
            kinds, which = np.arange(256), frequencies
            if frequencies.dtype != np.uint8:
                kinds, which = np.unique(frequencies, return_inverse=True)
            shortest = np.full(len(kinds), np.iinfo(np.int32).max, np.int32)
            np.minimum.at(shortest, which, lengths[where])
            present = shortest < np.iinfo(np.int32).max
            peaks = np.stack([kinds[present], shortest[present]])
        return cls(places, frequencies, peaks[:, peaks[0] > 0].astype(np.float64))

    def listed(self) -> tuple[Integers, Integers]:
        """Return the places where the term stands and its frequencies there."""
        if self.places is not None:
            return self.places, self.frequencies
        places = self.frequencies.nonzero()[0]
        return places, self.frequencies[places]


@dataclass(frozen=True, slots=True)
class Term:
    """How many chunks have a term, those gone not counted, and its posting in each segment."""

    containing: int
    postings: Sequence[Posting | None]


@dataclass(frozen=True, slots=True)
class Postings:
    """What exact BM25 needs of one query: the collection's statistics and its terms' postings.

    `chunks` and `total_length` count without those gone. A term that no chunk has is absent. See
    `ragkit.retrieve.words.bm25.occurrences` for a term's chunks as a plain list.
    """

    chunks: int
    total_length: int
    segments: Sequence[Segment]
    terms: Mapping[str, Term]
