"""Search of one collection: by meaning, by words, or by both fused.

It composes an embedder, a store's snapshot and the two legs; it knows nothing of databases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from ragkit.errors import QueryError
from ragkit.retrieve.fusion import Fused, background, fuse
from ragkit.retrieve.lexical import lexical
from ragkit.text.analyse import analyse
from ragkit.types import Found, Hit, Mode, Query, Stage

if TYPE_CHECKING:
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
        return list(self.find(Query(query), k=k).hits)

    def find(self, query: Query, *, k: int) -> Found:
        """Search, and return the hits with the steps that led to them."""
        check(query.text, k)
        trace = _Trace()
        vector = None
        if self._reads(query.text):
            self.embedder.load()
            vector = self.embedder.embed_query(query.passage or query.text)
            trace.step("embed")
        with self.store.snapshot() as reader:
            if vector is None:
                found = self._lexical(reader, query, k, trace)
            elif self.mode == "dense":
                found = self._dense(reader, vector, k, trace)
            else:
                found = self._hybrid(reader, query, vector, k, trace)
            hits = {hit.chunk: hit for hit in reader.hits([fused.chunk for fused in found])}
        scored = [_scored(hits[fused.chunk], fused) for fused in found if fused.chunk in hits]
        trace.step("fetch", [(hit.chunk, hit.score) for hit in scored])
        return Found(tuple(scored), tuple(trace.stages))

    def _reads(self, query: str) -> bool:
        """Tell whether the dense leg is asked: hybrid search spares it what its model cannot read.

        What it found there would be noise after the last chunk that has a word of the query.
        """
        return self.mode == "dense" or (self.mode == "hybrid" and self.embedder.reads(query) > 0)

    def _dense(self, reader: Reader, vector: Vectors, k: int, trace: _Trace) -> list[Fused]:
        nearest = reader.nearest(self.collection, self.embedder.space, vector, k, self.where)
        trace.step("dense", nearest)
        return [Fused(chunk, cosine, cosine, None) for chunk, cosine in nearest]

    def _lexical(self, reader: Reader, query: Query, k: int, trace: _Trace) -> list[Fused]:
        found = lexical(reader, self.collection, query.text, k, self.where)
        trace.step("lexical", found.best)
        return [Fused(chunk, score, None, score) for chunk, score in found.best]

    def _hybrid(
        self, reader: Reader, query: Query, vector: Vectors, k: int, trace: _Trace
    ) -> list[Fused]:
        space, depth = self.embedder.space, max(DENSE_CANDIDATES, k)
        nearest = reader.nearest(self.collection, space, vector, depth, self.where)
        trace.step("dense", nearest)
        words = lexical(reader, self.collection, query.text, max(LEXICAL_CANDIDATES, k), self.where)
        trace.step("lexical", words.best)
        dense = dict(nearest)
        beyond = [chunk for chunk, _ in words.best if chunk not in dense]
        if beyond:
            dense |= reader.similarities(space, vector, beyond)
        # Fewer than asked for are all that the collection has in this space.
        chunks = words.chunks if len(nearest) == depth else len(nearest)
        fused = fuse(
            dense,
            words.scores(list(dense.keys() | dict(words.best).keys())),
            background=background([cosine for _, cosine in nearest], chunks),
            coverage=words.coverage,
            readable=self.embedder.reads(query.text),
        )[:k]
        trace.step("fuse", [(one.chunk, one.score) for one in fused])
        return fused


class _Trace:
    """The stages so far; each step's seconds are those since the last."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._last = perf_counter()

    def step(self, name: str, ranked: Sequence[tuple[int, float]] = ()) -> None:
        now = perf_counter()
        self.stages.append(Stage(name, now - self._last, tuple(ranked)))
        self._last = now


def check(query: str, k: int) -> None:
    """Raise QueryError for what cannot be searched for."""
    if not 1 <= k <= MAX_K:
        raise QueryError(f"k is {k}: ask for 1 to {MAX_K} passages")
    if len(query) > MAX_QUERY_CHARS:
        raise QueryError(
            f"the query has {len(query):,} characters: ask with at most {MAX_QUERY_CHARS:,}"
        )
    if not analyse(query):
        raise QueryError(f"the query {query[:40]!r} has no word: ask with at least one")


def _scored(hit: Hit, fused: Fused) -> Hit:
    legs = {"dense": fused.dense, "lexical": fused.lexical}
    scores = {leg: score for leg, score in legs.items() if score is not None}
    return replace(hit, score=fused.score, scores=scores)
