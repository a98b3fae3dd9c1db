"""Check whether another sentence of the collection could complete a sentence with a gap.

It compares words by their weight in the collection; it does not see the same fact in other words or
in another language.
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
    from ragkit.text.postings import Postings
    from ragkit.types import Hit
    from ragkit_eval.testset.places import Place

# A sentence with this share of the words, by weight, might be the source as well. Arbitrary.
ALIKE: Final = 0.7
MAX_PASSAGES: Final = 50  # passages; arbitrary


class Words:
    """A sentence's terms: the passages of the collection that hold them, and their rarity."""

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
        """Return a term's idf; 0.0 for a term of another sentence."""
        return self.weights.get(term, 0.0)

    def in_passages(self, terms: Collection[str], share: float) -> list[Hit]:
        """Return the passages that hold this share of the terms, by weight, largest first."""
        weight_of: dict[int, float] = {}
        for term in terms:
            for chunk in occurrences(self._postings, term)[0]:
                weight_of[int(chunk)] = weight_of.get(int(chunk), 0.0) + self.weight(term)
        required = share * sum(map(self.weight, terms)) - 1e-9
        chunks = sorted(
            (chunk for chunk in weight_of if weight_of[chunk] >= required),
            key=lambda c: (-weight_of[c], c),
        )
        with self._store.snapshot() as reader:
            return list(reader.hits(chunks[:MAX_PASSAGES]))


def has_rival(words: Words, place: Place, sentence: str) -> bool:
    """Tell whether another sentence has most of the words of `sentence`, which has a gap."""
    terms = frozenset(analyse(sentence))
    required = ALIKE * sum(map(words.weight, terms))
    for hit in words.in_passages(terms, ALIKE):
        for span in sentences(hit.text):
            start, end = hit.start + span.start, hit.start + span.end
            same_document = hit.document == place.source.document.id
            if same_document and start < place.end and place.start < end:
                continue
            shared_terms = terms.intersection(analyse(hit.text[span.start : span.end]))
            if sum(map(words.weight, shared_terms)) >= required:
                return True
    return False
