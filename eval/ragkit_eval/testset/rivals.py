"""Whether a sentence with a gap could be completed from elsewhere in the collection.

It compares words by their weight in the collection; that another sentence says the same in other
words, or in another language, it cannot see.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ragkit.retrieve.words.bm25 import idf, occurrences
from ragkit.text.analyse import analyse
from ragkit.text.sentences import sentences

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.postings import Postings
    from ragkit.types import Hit
    from ragkit_eval.testset.places import Place

# A sentence with this share of the words, by weight, might be meant as well. Arbitrary.
ALIKE: Final = 0.7
MOST_LOOKED_AT: Final = 50  # passages; arbitrary


class Words:
    """A sentence's terms: in which of the collection's passages they stand, and how rare they are.

    `places` are its passages, where its own words do not count as another's.
    """

    def __init__(self, store: Store, collection: str, terms: Collection[str]) -> None:
        self._store = store
        self._collection = collection
        self._terms = frozenset(terms)

    @cached_property
    def _postings(self) -> Postings:
        with self._store.snapshot() as reader:
            return reader.postings(self._collection, sorted(self._terms))

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Return each term's idf among the collection's passages."""
        held = self._postings.terms
        return {
            term: idf(self._postings.chunks, held[term].containing if term in held else 0)
            for term in self._terms
        }

    def weight(self, term: str) -> float:
        """Return one term's idf; 0.0 for one that is not of these."""
        return self.weights.get(term, 0.0)

    def in_passages(self, terms: Collection[str], share: float) -> list[Hit]:
        """Return the passages that hold this share of the terms, by weight, fullest first."""
        held: dict[int, float] = {}
        for term in terms:
            for chunk in occurrences(self._postings, term)[0]:
                held[int(chunk)] = held.get(int(chunk), 0.0) + self.weight(term)
        least = share * sum(map(self.weight, terms)) - 1e-9
        full = sorted(
            (chunk for chunk in held if held[chunk] >= least), key=lambda c: (-held[c], c)
        )
        with self._store.snapshot() as reader:
            return list(reader.hits(full[:MOST_LOOKED_AT]))


def has_rival(words: Words, place: Place, rest: str) -> bool:
    """Tell whether another sentence has most of the words of `rest`, a sentence with a gap."""
    wanted = frozenset(analyse(rest))
    enough = ALIKE * sum(map(words.weight, wanted))
    for hit in words.in_passages(wanted, ALIKE):
        for span in sentences(hit.text):
            start, end = hit.start + span.start, hit.start + span.end
            own = hit.document == place.source.document.id
            if own and start < place.end and place.start < end:
                continue
            said = wanted.intersection(analyse(hit.text[span.start : span.end]))
            if sum(map(words.weight, said)) >= enough:
                return True
    return False
