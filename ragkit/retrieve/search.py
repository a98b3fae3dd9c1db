"""Search of one collection: by meaning, by words, or by both fused.

It composes an embedder, a store's snapshot and the two legs; it knows nothing of databases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from ragkit.errors import QueryError
from ragkit.retrieve.bm25 import bm25, idf_mass, scores_of, top_k
from ragkit.retrieve.fusion import Fused, background, fuse
from ragkit.text.analyse import analyse
from ragkit.types import Hit, Mode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Embedder, Reader, Store, Vectors
    from ragkit.filters import Filter

MAX_K = 1000
MAX_QUERY_CHARS = 32_000  # arbitrary: room for a pasted page, none for a file

# Candidates of a hybrid search, each then scored exactly by both legs. nDCG@10 on Cranfield in
# chunks is 0.421, 0.423, 0.425, 0.424 with 100, 200, 300, 500 dense ones, mostly because more of
# them make a better estimate of the background; from 50 to 300 lexical ones it stays the same.
DENSE_CANDIDATES = 300
LEXICAL_CANDIDATES = 100


class HybridRetriever:
    """Search a collection by both legs, or by one alone; the lexical one needs no model."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        collection: str,
        mode: Mode = "hybrid",
        where: Filter | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.collection = collection
        self.mode = mode
        self.where = where

    def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """Return at most k hits, best first, with the scores of the legs that found each.

        A hit's score is its cosine in dense mode, BM25 in lexical mode, and the fused score in
        hybrid mode. Raises QueryError for a query without a word or of more than 32,000
        characters and for a k outside 1..1000, NotFoundError for an unknown collection.
        """
        return self.search_timed(query, k=k)[0]

    def search_timed(self, query: str, *, k: int) -> tuple[Sequence[Hit], Mapping[str, float]]:
        """Search, and return the hits with the seconds of each stage that there was."""
        terms = _checked(query, k)
        clock = _Clock()
        vector = None
        if self._reads(query):
            self.embedder.load()
            vector = self.embedder.embed_query(query)
            clock.stop("embed")
        with self.store.snapshot() as reader:
            if vector is None:
                found = self._lexical(reader, terms, k)
                clock.stop("lexical")
            elif self.mode == "dense":
                found = self._dense(reader, vector, k)
                clock.stop("dense")
            else:
                found = self._hybrid(reader, query, terms, vector, k, clock)
            hits = {hit.chunk: hit for hit in reader.hits([fused.chunk for fused in found])}
        clock.stop("fetch")
        scored = [_scored(hits[fused.chunk], fused) for fused in found if fused.chunk in hits]
        return scored, clock.seconds

    def _reads(self, query: str) -> bool:
        """Tell whether the dense leg is asked: hybrid search spares it what its model cannot read.

        What it found there would be noise after the last chunk that has a word of the query.
        """
        return self.mode == "dense" or (self.mode == "hybrid" and self.embedder.reads(query) > 0)

    def _dense(self, reader: Reader, vector: Vectors, k: int) -> list[Fused]:
        nearest = self._nearest(reader, self._allowed(reader), vector, k)
        return [Fused(chunk, cosine, cosine, None) for chunk, cosine in nearest]

    def _allowed(self, reader: Reader) -> Sequence[int] | None:
        """List the chunks that the filter leaves; None without one."""
        return None if self.where is None else reader.matching(self.collection, self.where)

    def _nearest(
        self, reader: Reader, allowed: Sequence[int] | None, vector: Vectors, k: int
    ) -> Sequence[tuple[int, float]]:
        """Find the nearest chunks; with a filter exactly, among those that it leaves."""
        space = self.embedder.space
        if allowed is None:
            return reader.nearest(self.collection, space, vector, k)
        found = reader.similarities(space, vector, allowed)
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:k]

    def _lexical(self, reader: Reader, terms: Sequence[str], k: int) -> list[Fused]:
        postings = reader.postings(self.collection, list(dict.fromkeys(terms)))
        found = top_k(*_among(self._allowed(reader), *bm25(postings, terms)), k)
        return [Fused(chunk, score, None, score) for chunk, score in found]

    def _hybrid(
        self,
        reader: Reader,
        query: str,
        terms: Sequence[str],
        vector: Vectors,
        k: int,
        clock: _Clock,
    ) -> list[Fused]:
        space, depth = self.embedder.space, max(DENSE_CANDIDATES, k)
        allowed = self._allowed(reader)
        nearest = self._nearest(reader, allowed, vector, depth)
        clock.stop("dense")
        postings = reader.postings(self.collection, list(dict.fromkeys(terms)))
        ids, scores = _among(allowed, *bm25(postings, terms))
        best = top_k(ids, scores, max(LEXICAL_CANDIDATES, k))
        clock.stop("lexical")
        dense = dict(nearest)
        beyond = [chunk for chunk, _ in best if chunk not in dense]
        if beyond:
            dense |= reader.similarities(space, vector, beyond)
        # Fewer than asked for are all that the collection has in this space.
        chunks = postings.chunks if len(nearest) == depth else len(nearest)
        fused = fuse(
            dense,
            scores_of(list(dense.keys() | dict(best).keys()), ids, scores),
            background=background([cosine for _, cosine in nearest], chunks),
            coverage=best[0][1] / idf_mass(postings, terms) if best else 0.0,
            readable=self.embedder.reads(query),
        )
        clock.stop("fuse")
        return fused[:k]


class _Clock:
    """Seconds since the last stop, by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def stop(self, stage: str) -> None:
        now = perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now


def _checked(query: str, k: int) -> list[str]:
    """Return the query's terms, or say what is wrong with it."""
    if not 1 <= k <= MAX_K:
        raise QueryError(f"k is {k}: ask for 1 to {MAX_K} passages")
    if len(query) > MAX_QUERY_CHARS:
        raise QueryError(
            f"the query has {len(query):,} characters: ask with at most {MAX_QUERY_CHARS:,}"
        )
    terms = analyse(query)
    if not terms:
        raise QueryError(f"the query {query[:40]!r} has no word: ask with at least one")
    return terms


def _among(
    allowed: Sequence[int] | None, ids: NDArray[np.int64], scores: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Leave out the chunks that a filter leaves out."""
    if allowed is None:
        return ids, scores
    import numpy as np

    kept = np.isin(ids, np.asarray(allowed, np.int64))
    return ids[kept], scores[kept]


def _scored(hit: Hit, fused: Fused) -> Hit:
    legs = {"dense": fused.dense, "lexical": fused.lexical}
    scores = {leg: score for leg, score in legs.items() if score is not None}
    return replace(hit, score=fused.score, scores=scores)
