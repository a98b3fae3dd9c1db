"""Check a query's demands exactly: by postings where these suffice, else in the chunks' text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.retrieve.words.bm25 import places_of
from ragkit.retrieve.words.marks import Demand
from ragkit.text.analyse import CJK_CHARACTER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Reader
    from ragkit.text.analysers import Analyser
    from ragkit.text.postings import Postings


@dataclass(frozen=True, slots=True)
class DemandCheck:
    """A demand in an index's terms.

    `units` are its words and single CJK characters, which must follow one another. A passage that
    has them has all of `terms`, or one of them with `any_of_them`. With `exact` the reverse holds
    too, so that the text need not be read.
    """

    units: tuple[str, ...]
    terms: tuple[str, ...]
    required: bool
    any_of_them: bool = False
    exact: bool = False


def make_checks(
    demands: Sequence[Demand], by: Analyser, with_character: Callable[[str], Sequence[str]]
) -> list[DemandCheck]:
    """Express demands in an analyser's terms; `with_character` lists the pairs that contain one."""
    return [_check(demand, by, with_character) for demand in demands]


class DemandFilter:
    """The chunks of a collection that meet all demands; `postings` has the terms of every check."""

    def __init__(
        self,
        checks: Sequence[DemandCheck],
        by: Analyser,
        reader: Reader,
        postings: Postings,
    ) -> None:
        self._checks = checks
        self._by = by
        self._reader = reader
        self._postings = postings
        self.masks: list[NDArray[np.bool_]] | None = None
        if checks:
            self.masks = [self._mask(postings, n) for n in range(len(postings.segments))]
        self.by_postings = all(check.exact for check in checks)

    def select(self, chunks: Sequence[int]) -> Sequence[int]:
        """Return those of these chunks that meet all demands, in the same order."""
        import numpy as np

        if self.masks is None:
            return self.select_by_text(chunks)
        requested = np.array(chunks, np.int64)
        passed: set[int] = set()
        for segment, mask in zip(self._postings.segments, self.masks, strict=True):
            which, places = places_of(segment, requested)
            passed.update(requested[which[mask[places]]].tolist())
        near = [chunk for chunk in chunks if chunk in passed]
        return near if self.by_postings else self.select_by_text(near)

    def select_by_text(self, chunks: Sequence[int]) -> list[int]:
        """Return those of these chunks whose text meets all demands, in the same order."""
        meeting = {
            hit.chunk for hit in self._reader.hits(chunks) if self._holds(self._by.units(hit.text))
        }
        return [chunk for chunk in chunks if chunk in meeting]

    def _holds(self, units: Sequence[str]) -> bool:
        return all(
            check.exact or _follow(units, check.units) == check.required for check in self._checks
        )

    def _mask(self, postings: Postings, number: int) -> NDArray[np.bool_]:
        """Mark the chunks of a segment that may meet the demands, by postings."""
        import numpy as np

        size = len(postings.segments[number].ids)
        mask = np.ones(size, np.bool_)
        for check in self._checks:
            if not check.required and not check.exact:
                continue  # a chunk may have the words, though not in sequence
            having = np.full(size, not check.any_of_them)
            for term in check.terms:
                present = np.zeros(size, np.bool_)
                entry = postings.terms.get(term)
                posting = None if entry is None else entry.postings[number]
                if posting is not None:
                    present[posting.listed()[0]] = True
                having = having | present if check.any_of_them else having & present
            mask &= having if check.required else ~having
        return mask


def _check(
    demand: Demand, by: Analyser, with_character: Callable[[str], Sequence[str]]
) -> DemandCheck:
    units = tuple(by.units(demand.text))
    cjk = [CJK_CHARACTER.match(unit) is not None for unit in units]
    if not by.pairs:  # how a run is cut depends on its context
        terms = tuple(unit for unit, is_cjk in zip(units, cjk, strict=True) if not is_cjk)
        return DemandCheck(units, terms, demand.required, exact=len(units) == 1 and not cjk[0])
    if units and len(units) == 1 and cjk[0]:
        terms = tuple(with_character(units[0]))
        return DemandCheck(units, terms, demand.required, any_of_them=True, exact=True)
    # Single characters at the edges of a run may form pairs with their neighbours.
    terms = tuple(
        term for term in by(demand.text) if not (len(term) == 1 and CJK_CHARACTER.match(term))
    )
    return DemandCheck(units, terms, demand.required, exact=terms == ("".join(units),))


def _follow(units: Sequence[str], sequence: Sequence[str]) -> bool:
    """Tell whether words follow one another somewhere in a text."""
    first, length = sequence[0], len(sequence)
    return any(
        unit == first and tuple(units[at : at + length]) == tuple(sequence)
        for at, unit in enumerate(units)
    )
