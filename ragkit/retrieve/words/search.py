"""The lexical leg: a query's hits by words in one snapshot, by exact BM25."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.retrieve.words import marks, single_character
from ragkit.retrieve.words.bm25 import K1, B, idf_mass, scores_of, weigh_collection
from ragkit.retrieve.words.constrained import ConstrainedSearch
from ragkit.retrieve.words.demands import DemandFilter, make_checks
from ragkit.retrieve.words.function_words import with_codes_twice, without_function_words
from ragkit.retrieve.words.top_k import find_best
from ragkit.text.analyse import CJK_CHARACTER
from ragkit.text.analysers import analyser

if TYPE_CHECKING:
    from ragkit.contracts import Reader
    from ragkit.filters.tree import Filter
    from ragkit.retrieve.words.constrained import Masks, Ranked, Select


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """The best chunks by BM25, the number of chunks, and how well the words matched.

    `coverage` is the best score's share of the query's idf mass, 0 to 1. `constrained`: the query
    has phrases, required or excluded words, which every chunk of `best` obeys.
    """

    best: Sequence[tuple[int, float]]
    chunks: int
    coverage: float
    constrained: bool
    _scores: Callable[[Sequence[int]], Mapping[int, float]]
    _select: Select

    def scores(self, chunks: Sequence[int]) -> Mapping[int, float]:
        """Score any chunks exactly, whatever the query demands; a chunk without a word is
        absent.
        """
        return self._scores(chunks)

    def select(self, chunks: Sequence[int]) -> Sequence[int]:
        """Return those of these chunks that meet the query's demands, in the same order.

        Reads the chunks' text where postings do not suffice: call it within the search's snapshot.
        """
        return self._select(chunks) if self.constrained else chunks


def search_words(
    reader: Reader,
    collection: str,
    query: str,
    k: int,
    where: Filter | None = None,
    *,
    k1: float = K1,
    b: float = B,
    beside_a_model: bool = False,
) -> LexicalHits:
    """Find the k best chunks by BM25, of documents that the filter is true of.

    The query is analysed as the collection's documents are. Its marks count: see `marks`. With
    `beside_a_model` its English function words do not count, and its codes count twice.
    """
    by = analyser(reader.analyser(collection))
    marked = marks.read_marks(query)
    text = without_function_words(marked.text) if beside_a_model else marked.text

    def with_character(symbol: str) -> Sequence[str]:
        return reader.beginning_or_ending(collection, symbol)

    demand_checks = make_checks(marked.demands, by, with_character)
    terms = with_codes_twice(by(text)) if beside_a_model else by(text)
    is_single = by.pairs and len(terms) == 1 and bool(CJK_CHARACTER.fullmatch(terms[0]))
    needed = [*(with_character(terms[0]) if is_single else terms)]
    needed += [term for check in demand_checks for term in check.terms]
    postings = reader.postings(collection, list(dict.fromkeys(needed)))
    demands = DemandFilter(demand_checks, by, reader, postings)
    if is_single:
        postings = single_character.with_character(postings, terms[0])
    weigh = weigh_collection(postings, k1, b)

    def ranked(number: int, permitted: Masks | None) -> Ranked:
        return find_best(postings, terms, number, weigh, permitted)

    search = ConstrainedSearch(reader, collection, where, postings, demands, ranked)
    top = search.best(k)
    coverage = top[0][1] / idf_mass(postings, terms) if top else 0.0

    def scores(chunks: Sequence[int]) -> Mapping[int, float]:
        return scores_of(postings, terms, chunks, weigh)

    return LexicalHits(top, postings.chunks, coverage, bool(demand_checks), scores, demands.select)
