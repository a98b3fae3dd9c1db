"""What a query demands, checked exactly: by postings where these tell, else in the chunks' text.

It knows nothing of scores.
"""

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
    from ragkit.postings import Postings
    from ragkit.text.analysers import Analyser


@dataclass(frozen=True, slots=True)
class Check:
    """A demand in an index's terms.

    `units` are its words and single CJK characters, which must follow one another. A passage that
    has them has all of `terms`, or one of them with `any_of_them`; `exact`: and the other way
    round, so that its text need not be read.
    """

    units: tuple[str, ...]
    terms: tuple[str, ...]
    wanted: bool
    any_of_them: bool = False
    exact: bool = False


def checks(
    demands: Sequence[Demand], by: Analyser, with_character: Callable[[str], Sequence[str]]
) -> list[Check]:
    """Put demands into an analyser's terms; `with_character` lists the pairs that have one."""
    return [_check(one, by, with_character) for one in demands]


class Permission:
    """Which chunks of a collection meet all demands; `postings` has the terms of every check."""

    def __init__(
        self,
        found: Sequence[Check],
        by: Analyser,
        reader: Reader,
        postings: Postings,
    ) -> None:
        self._checks = found
        self._by = by
        self._reader = reader
        self._postings = postings
        self.masks: list[NDArray[np.bool_]] | None = None
        if found:
            self.masks = [self._mask(postings, n) for n in range(len(postings.segments))]
        self.by_postings = all(one.exact for one in found)

    def permits(self, chunks: Sequence[int]) -> Sequence[int]:
        """Return those of these chunks that meet all demands, in the given order."""
        import numpy as np

        if self.masks is None:
            return self.confirmed(chunks)
        wanted = np.array(chunks, np.int64)
        left: set[int] = set()
        for segment, mask in zip(self._postings.segments, self.masks, strict=True):
            which, places = places_of(segment, wanted)
            left.update(wanted[which[mask[places]]].tolist())
        near = [chunk for chunk in chunks if chunk in left]
        return near if self.by_postings else self.confirmed(near)

    def confirmed(self, chunks: Sequence[int]) -> list[int]:
        """Return those of these chunks whose text meets all demands, in the given order."""
        held = {
            hit.chunk for hit in self._reader.hits(chunks) if self._holds(self._by.units(hit.text))
        }
        return [chunk for chunk in chunks if chunk in held]

    def _holds(self, units: Sequence[str]) -> bool:
        return all(one.exact or _follow(units, one.units) == one.wanted for one in self._checks)

    def _mask(self, postings: Postings, number: int) -> NDArray[np.bool_]:
        """Say which of a segment's chunks may meet the demands, by postings."""
        import numpy as np

        size = len(postings.segments[number].ids)
        mask = np.ones(size, np.bool_)
        for one in self._checks:
            if not one.wanted and not one.exact:
                continue  # chunks that have the words may have them apart
            having = np.full(size, not one.any_of_them)
            for term in one.terms:
                there = np.zeros(size, np.bool_)
                found = postings.terms.get(term)
                posting = None if found is None else found.postings[number]
                if posting is not None:
                    there[posting.listed()[0]] = True
                having = having | there if one.any_of_them else having & there
            mask &= having if one.wanted else ~having
        return mask


def _check(demand: Demand, by: Analyser, with_character: Callable[[str], Sequence[str]]) -> Check:
    units = tuple(by.units(demand.text))
    cjk = [CJK_CHARACTER.match(unit) is not None for unit in units]
    if not by.pairs:  # how a run is cut depends on what stands around it
        words = tuple(unit for unit, is_cjk in zip(units, cjk, strict=True) if not is_cjk)
        return Check(units, words, demand.wanted, exact=len(units) == 1 and not cjk[0])
    if units and len(units) == 1 and cjk[0]:
        terms = tuple(with_character(units[0]))
        return Check(units, terms, demand.wanted, any_of_them=True, exact=True)
    # Lone characters at the edges of a run may stand in pairs with what is beside them.
    terms = tuple(
        term for term in by(demand.text) if not (len(term) == 1 and CJK_CHARACTER.match(term))
    )
    return Check(units, terms, demand.wanted, exact=terms == ("".join(units),))


def _follow(units: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether words follow one another somewhere."""
    first, length = wanted[0], len(wanted)
    return any(
        unit == first and tuple(units[at : at + length]) == tuple(wanted)
        for at, unit in enumerate(units)
    )
