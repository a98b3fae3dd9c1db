"""The lexical leg: what the words of a query find in one snapshot, by exact BM25.

It knows nothing of vectors, of fusion or of how postings are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.retrieve.allowed import Search
from ragkit.retrieve.words import character, marks
from ragkit.retrieve.words.best import best
from ragkit.retrieve.words.bm25 import K1, B, idf_mass, scores_of, weighing
from ragkit.retrieve.words.demands import Permission, checks
from ragkit.retrieve.words.function import with_codes_twice, without_function_words
from ragkit.text.analysers import analyser

if TYPE_CHECKING:
    from ragkit.contracts import Reader
    from ragkit.filters import Filter
    from ragkit.retrieve.allowed import Chosen, Masks, Ranked


@dataclass(frozen=True, slots=True)
class LexicalFound:
    """The best chunks by BM25, best first; chunks in the collection; and how well words matched.

    `coverage` is the best score's share of the query's idf mass, 0 to 1. `constrained`: the query
    has phrases, required or excluded words, which every one of the best meets.
    """

    best: Sequence[tuple[int, float]]
    chunks: int
    coverage: float
    constrained: bool
    _scores: Callable[[Sequence[int]], Mapping[int, float]]
    _permits: Chosen

    def scores(self, chunks: Sequence[int]) -> Mapping[int, float]:
        """Score any chunks exactly, whatever the query demands; one that has no word is absent."""
        return self._scores(chunks)

    def permits(self, chunks: Sequence[int]) -> Sequence[int]:
        """Return those of these chunks that meet the query's demands, in the given order.

        Reads the chunks' text where postings do not tell: to be called within the search.
        """
        return self._permits(chunks) if self.constrained else chunks


def lexical(
    reader: Reader,
    collection: str,
    query: str,
    k: int,
    where: Filter | None = None,
    *,
    k1: float = K1,
    b: float = B,
    beside_a_model: bool = False,
) -> LexicalFound:
    """Find the k best chunks by BM25, of documents that the filter is true of.

    The query is analysed as the collection's documents are. Its marks count: see `marks`. With
    `beside_a_model` its English function words do not, and its codes count twice.
    """
    by = analyser(reader.analyser(collection))
    marked = marks.read(query)
    text = without_function_words(marked.text) if beside_a_model else marked.text

    def with_character(one: str) -> Sequence[str]:
        return reader.beginning_or_ending(collection, one)

    found = checks(marked.demands, by, with_character)
    terms = with_codes_twice(by(text)) if beside_a_model else by(text)
    alone = by.pairs and character.is_character(terms)
    wanted = [*(with_character(terms[0]) if alone else terms)]
    wanted += [term for one in found for term in one.terms]
    postings = reader.postings(collection, list(dict.fromkeys(wanted)))
    permission = Permission(found, by, reader, postings)
    if alone:
        postings = character.with_character(postings, terms[0])
    weigh = weighing(postings, k1, b)

    def ranked(number: int, permitted: Masks | None) -> Ranked:
        return best(postings, terms, number, weigh, permitted)

    search = Search(reader, collection, where, postings, permission, ranked)
    top = search.best(k)
    coverage = top[0][1] / idf_mass(postings, terms) if top else 0.0

    def scores(chunks: Sequence[int]) -> Mapping[int, float]:
        return scores_of(postings, terms, chunks, weigh)

    return LexicalFound(top, postings.chunks, coverage, bool(found), scores, permission.permits)
