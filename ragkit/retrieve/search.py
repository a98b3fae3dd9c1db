"""Search one collection by meaning, by words, or by both fused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ragkit.errors import QueryError, SnapshotLostError
from ragkit.retrieve.legs import MAX_K, Search
from ragkit.text.analyse import analyse
from ragkit.types import Hit, Mode, Query, SearchResult

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Reader, Store
    from ragkit.filters.tree import Filter

MAX_QUERY_CHARS = 32_000  # arbitrary: room for a pasted page, none for a file


class HybridRetriever:
    """Search a collection by both legs, or by one alone; the lexical one needs no model.

    `observe` is shown the view that each search took its hits from, before it ends.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        collection: str,
        mode: Mode = "hybrid",
        where: Filter | None = None,
        *,
        observe: Callable[[Reader], None] = lambda reader: None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.collection = collection
        self.mode = mode
        self.where = where
        self.observe = observe

    def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """Return at most k hits, best first, with each leg's score.

        A hit's score is its cosine in dense mode, BM25 in lexical mode, and the fused score in
        hybrid mode. Raises QueryError for a query without a word or of more than 32,000
        characters and for a k outside 1..1000, NotFoundError for an unknown collection.
        """
        check_query(query, k)
        return list(self.find(Query(query), k=k).hits)

    def find(self, query: Query, *, k: int) -> SearchResult:
        """Search for a query that `check_query` accepts; return the hits with their steps.

        Each of the query's variants is searched as well, and all are fused by reciprocal rank.
        The search sees one moment: a concurrent write counts in all of its parts or in none.
        """
        try:
            return self._search(query, k)()
        except SnapshotLostError:
            return self._search(query, k)()

    def _search(self, query: Query, k: int) -> Callable[[], SearchResult]:
        """Prepare a search by the mode's legs."""
        texts = [query.text, *filter(_searchable, query.variants)]
        search = Search(self, tuple(dict.fromkeys(texts)), query.passage, k)
        if self.mode == "dense":
            return search.by_meaning
        if self.mode == "lexical":
            return search.by_words
        if self.mode != "hybrid":
            raise QueryError(f"there is no mode {self.mode!r}: use hybrid, dense or lexical")
        return search.by_both if search.reads_any() else search.by_words_unread


def check_query(query: str, k: int) -> None:
    """Raise QueryError for a query or a k that cannot be searched with."""
    if not isinstance(query, str):
        raise QueryError(f"the query is {query!r:.40}: ask with a text")
    if not isinstance(k, int) or isinstance(k, bool):
        raise QueryError(f"k is {k!r:.40}: ask for a whole number of passages")
    if not 1 <= k <= MAX_K:
        raise QueryError(f"k is {k}: ask for 1 to {MAX_K} passages")
    if len(query) > MAX_QUERY_CHARS:
        raise QueryError(
            f"the query has {len(query):,} characters: ask with at most {MAX_QUERY_CHARS:,}"
        )
    if not analyse(query):
        raise QueryError(f"the query {query[:40]!r} has no word: ask with at least one")


def _searchable(text: str) -> bool:
    return len(text) <= MAX_QUERY_CHARS and bool(analyse(text))
