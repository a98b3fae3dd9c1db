"""One search of one collection: both legs of one moment, with a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ragkit.embed.current import latest
from ragkit.embed.models import card_of, reads_all
from ragkit.embed.recent import remember_question
from ragkit.errors import ModelError
from ragkit.retrieve.fusion.calibrated import Candidates, Fused, Ranking, estimate_background
from ragkit.retrieve.fusion.reciprocal import fuse_wordings
from ragkit.retrieve.words import marks
from ragkit.retrieve.words.search import LexicalHits, search_words
from ragkit.types import Hit, SearchResult, Stage

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Reader, Vectors
    from ragkit.retrieve.search import HybridRetriever

MAX_K = 1000  # arbitrary: more than a screen, a prompt or a reranker takes

# Candidates of a hybrid search, each then scored exactly by both legs. nDCG@10 on Cranfield in
# chunks is 0.421, 0.423, 0.425, 0.424 with 100, 200, 300, 500 dense ones, mostly because more of
# them make a better estimate of the background; from 50 to 300 lexical ones it stays the same.
# Where every vector is compared, 300 cost what 10 do; of 100,000, where an index is walked, 300
# take 9 ms of the server, 100 take 2 and 10 take 1.
DENSE_CANDIDATES = 100
DENSE_CANDIDATES_OF_FEW = 300
FEW_CHUNKS = 12_000  # below, comparing all is cheaper than walking an index to the 300th
LEXICAL_CANDIDATES = 100
# A thread beside, with the interpreter's lock to and fro, takes about this long itself: 0.8 ms of
# processor time on two cores.
_BESIDE_FROM_S = 0.001
_PATIENCE_S = 0.05  # for an embedder, with a snapshot open; a small model takes 10 ms. Arbitrary
VARIANT_DEPTH = 100  # hits of each wording that are fused by rank, as many as from a leg

_EMBEDDING_S: WeakKeyDictionary[Embedder, float] = WeakKeyDictionary()  # one query, the last time


class Search:
    """One search: its wordings, how deep each is searched, and the stages so far."""

    def __init__(
        self, retriever: HybridRetriever, texts: Sequence[str], passage: str, k: int
    ) -> None:
        self._retriever = retriever
        self._texts = texts
        self._passage = passage
        self._k = k
        self._depth = k if len(texts) == 1 else max(k, VARIANT_DEPTH)
        self._dense_depth = self._depth
        self._lexical_depth = max(LEXICAL_CANDIDATES, self._depth)
        self._trace = _Trace()
        self._vectors: Mapping[str, Vectors] = {}  # of the wordings, once they are embedded
        self._is_embedded = Event()  # or the embedder has failed

    def reads_any(self) -> bool:
        """Tell whether the embedding model reads any wording.

        Hybrid search leaves the dense leg out otherwise: its hits would be noise behind the last
        chunk with a word of the query.
        """
        return any(self._retriever.embedder.reads(text) > 0 for text in self._texts)

    def by_words(self) -> SearchResult:
        with self._retriever.store.snapshot() as reader:
            words = self._words(reader)
            self._trace_words(words)
            rankings = [hits.best[: self._depth] for hits in words.hits]
            fused = [[Fused(c, s, None, s) for c, s in ranking] for ranking in rankings]
            self._retriever.observe(reader)
            return self._fetched(reader, fused)

    def by_words_unread(self) -> SearchResult:
        """Search by words, and note that the model reads none of the query."""
        self._trace.step("embed", notes={"left out": "the embedding model reads none of the query"})
        return self.by_words()

    def by_meaning(self) -> SearchResult:
        vectors = self._embedded(self._texts)
        with self._retriever.store.snapshot() as reader:
            rankings = []
            for n, text in enumerate(self._texts):
                near = self._nearest(reader, vectors[text], self._depth)
                if marks.read_marks(text).demands:
                    words = self._lexical(reader, text, MAX_K)
                    near = self._permitted(reader, text, vectors[text], near, words, MAX_K)
                self._trace.step(_nth("dense", n), near[: self._depth])
                rankings.append([Fused(c, s, s, None) for c, s in near[: self._depth]])
            self._retriever.observe(reader)
            return self._fetched(reader, rankings)

    def by_both(self) -> SearchResult:
        """Search for the words while the query is embedded, unless that is a matter of a moment.

        Marks of a query are checked in the passages' text, so that all of it needs one snapshot
        then.
        """
        embedder = self._retriever.embedder
        embedder.load()
        readable = [text for text in self._texts if embedder.reads(text) > 0]
        has_marks = any(marks.read_marks(text).demands for text in self._texts)
        if has_marks or len(readable) * _embedding_s(embedder) < _BESIDE_FROM_S:
            self._embedded(readable)
            with self._retriever.store.snapshot() as reader:
                return self._with_meaning(reader, None)
        with ExitStack() as snapshot:
            with ThreadPoolExecutor(1, "ragkit-beside") as thread:
                running = thread.submit(copy_context().run, self._words_first, snapshot)
                try:
                    self._embedded(readable)
                finally:
                    self._is_embedded.set()
                open_reader, words = running.result()
            reader = open_reader or snapshot.enter_context(self._retriever.store.snapshot())
            return self._with_meaning(reader, words)

    def _words_first(self, snapshot: ExitStack) -> tuple[Reader | None, _Words | None]:
        """Search for the words, and keep their snapshot open if the query is embedded soon.

        If not, it ends: none is open while a model computes for long.
        """
        with ExitStack() as opened:
            reader = opened.enter_context(self._retriever.store.snapshot())
            words = self._words(reader)
            if self._is_embedded.wait(_PATIENCE_S):
                snapshot.push(opened.pop_all())
                return reader, words
            return None, replace(words, moment=reader.moment(self._retriever.collection))

    def _with_meaning(self, reader: Reader, words: _Words | None) -> SearchResult:
        """Search among the vectors, fuse with the words' hits, and fetch.

        The words are searched for here if they were not yet, and once more if the database has
        changed since their snapshot.
        """
        if words is None:
            words = self._words(reader)
        if words.moment is None:
            self._trace.skip()
        near = self._near(reader, words.hits[0].chunks)
        if words.moment is not None and words.moment != reader.moment(self._retriever.collection):
            words = replace(self._words(reader), repeated=True)
        fused = self._fused(reader, near, words)
        self._retriever.observe(reader)
        return self._fetched(reader, fused)

    def _embedded(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """Embed wordings; the passage, if there is one, takes the place of the first."""
        embedder = self._retriever.embedder
        embedder.load()
        passages = {self._texts[0]: self._passage}
        inputs = {text: passages.get(text) or marks.read_marks(text).text for text in texts}
        vectors: dict[str, Vectors] = {}
        for text in texts:
            began = perf_counter()
            vectors[text] = embedder.embed_query(inputs[text])
            _note_embedding(embedder, perf_counter() - began)
            _check_vector(embedder, vectors[text])
            remember_question(latest(embedder), inputs[text], vectors[text])
        self._trace.step("embed", notes={"model": embedder.space.model})
        self._vectors = vectors
        return vectors

    def _near(self, reader: Reader, chunks: int) -> Mapping[str, Ranking]:
        """Find the nearest chunks to each wording that the model reads, of about `chunks`
        chunks.
        """
        candidates = DENSE_CANDIDATES_OF_FEW if chunks <= FEW_CHUNKS else DENSE_CANDIDATES
        self._dense_depth = max(candidates, self._depth)
        rankings = {}
        for n, text in enumerate(self._texts):
            if text in self._vectors:
                rankings[text] = self._nearest(reader, self._vectors[text], self._dense_depth)
                self._trace.step(_nth("dense", n), rankings[text])
        return rankings

    def _nearest(self, reader: Reader, vector: Vectors, k: int) -> Ranking:
        retriever = self._retriever
        return reader.nearest(
            retriever.collection, retriever.embedder.space, vector, k, retriever.where
        )

    def _permitted(
        self,
        reader: Reader,
        text: str,
        vector: Vectors,
        near: Ranking,
        words: LexicalHits,
        limit: int,
    ) -> Ranking:
        """Keep what the query's marks allow, going deeper until there is enough or no more.

        Where words are required and fewer passages than `limit` have them, those are all.
        """
        demanded = [chunk for chunk, _ in words.best]
        if len(demanded) < limit and any(
            demand.required for demand in marks.read_marks(text).demands
        ):
            cosines = reader.similarities(self._retriever.embedder.space, vector, demanded)
            return sorted(cosines.items(), key=lambda pair: (-pair[1], pair[0]))
        depth = len(near)
        while True:
            allowed = set(words.select([chunk for chunk, _ in near]))
            if len(allowed) >= self._depth or len(near) < depth or not near:
                return [pair for pair in near if pair[0] in allowed]
            depth *= 4
            near = self._nearest(reader, vector, depth)

    def _lexical(self, reader: Reader, text: str, k: int) -> LexicalHits:
        retriever = self._retriever
        arguments = (reader, retriever.collection, text, k, retriever.where)
        return search_words(*arguments, beside_a_model=retriever.mode == "hybrid")

    def _words(self, reader: Reader) -> _Words:
        began = perf_counter()
        hits = [self._lexical(reader, text, self._lexical_depth) for text in self._texts]
        return _Words(hits, perf_counter() - began)

    def _trace_words(self, words: _Words) -> None:
        for n, hits in enumerate(words.hits):
            notes: dict[str, float | str] = {"chunks": hits.chunks, "coverage": hits.coverage}
            if words.repeated:
                notes["again"] = "the collection changed while the query was embedded"
            seconds = words.seconds / len(words.hits)
            self._trace.add(Stage(_nth("lexical", n), seconds, tuple(hits.best), notes))

    def _fused(
        self, reader: Reader, near: Mapping[str, Ranking], words: _Words
    ) -> list[list[Fused]]:
        """Fuse both legs of each wording."""
        self._trace_words(words)
        rankings = []
        for n, (text, hits) in enumerate(zip(self._texts, words.hits, strict=True)):
            legs = self._scored(reader, text, hits, near.get(text, ()))
            rankings.append(legs.fuse())
            ranked = [(fused.chunk, fused.score) for fused in rankings[-1]]
            self._trace.step(_nth("fuse", n), ranked, legs.notes())
        return rankings

    def _scored(self, reader: Reader, text: str, words: LexicalHits, near: Ranking) -> Candidates:
        """Score every candidate of either leg exactly by both."""
        vector = self._vectors.get(text)
        sample, chunks = near, len(near)  # fewer than requested: these are all
        if vector is not None and len(near) == self._dense_depth:
            chunks = words.chunks
            if self._retriever.where is not None:  # how many chunks pass the filter is not known
                space = self._retriever.embedder.space
                sample = reader.nearest(
                    self._retriever.collection, space, vector, self._dense_depth
                )
        unrelated = estimate_background([cosine for _, cosine in sample], chunks)
        if words.constrained and vector is not None:
            near = self._permitted(reader, text, vector, near, words, self._lexical_depth)
        dense = dict(near)
        unscored = [chunk for chunk, _ in words.best if chunk not in dense]
        if unscored and vector is not None:
            dense |= reader.similarities(self._retriever.embedder.space, vector, unscored)
        return Candidates(
            dense=dense,
            lexical=words.scores(list(dense.keys() | dict(words.best).keys())),
            background=unrelated,
            coverage=words.coverage,
            readable=self._retriever.embedder.reads(text),
            trusted=vector is not None and reads_all(card_of(self._retriever.embedder.space)),
        )

    def _fetched(self, reader: Reader, rankings: Sequence[Sequence[Fused]]) -> SearchResult:
        """Fuse the wordings' rankings, where there are several, and fetch the k best."""
        ranked = rankings[0]
        if len(rankings) > 1:
            ranked = fuse_wordings([ranking[: self._depth] for ranking in rankings])
            self._trace.step("variants", [(fused.chunk, fused.score) for fused in ranked])
        best = ranked[: self._k]
        stored = {hit.chunk: hit for hit in reader.hits([fused.chunk for fused in best])}
        hits = [_with_scores(stored[f.chunk], f) for f in best if f.chunk in stored]
        self._trace.step("fetch", [(hit.chunk, hit.score) for hit in hits])
        return SearchResult(tuple(hits), tuple(self._trace.stages))


@dataclass(frozen=True, slots=True)
class _Words:
    """The words' hits by wording and their time; `moment` where another snapshot gave them."""

    hits: Sequence[LexicalHits]
    seconds: float
    moment: object = None
    repeated: bool = False


class _Trace:
    """The stages so far; a step lasts from the last one, without stages that are added."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._last = perf_counter()

    def step(
        self,
        name: str,
        ranked: Sequence[tuple[int, float]] = (),
        notes: Mapping[str, float | str] | None = None,
    ) -> None:
        now = perf_counter()
        self.add(Stage(name, now - self._last, tuple(ranked), notes or {}))

    def skip(self) -> None:
        """Leave the time since the last step out: another stage counts it."""
        self._last = perf_counter()

    def add(self, stage: Stage) -> None:
        self.stages.append(stage)
        self._last = perf_counter()


def _embedding_s(embedder: Embedder) -> float:
    """Return how long a model took over its last query, in seconds; long where it is not known."""
    try:
        return _EMBEDDING_S.get(latest(embedder), _PATIENCE_S)
    except TypeError:  # of a class whose objects cannot be keys
        return _PATIENCE_S


def _note_embedding(embedder: Embedder, seconds: float) -> None:
    with suppress(TypeError):
        _EMBEDDING_S[latest(embedder)] = seconds


def _check_vector(embedder: Embedder, vector: Vectors) -> None:
    """Refuse a vector that is of another shape or not finite."""
    import numpy as np

    space = embedder.space
    if vector.shape != (space.dimension,):
        raise ModelError(
            f"{space.model} gave a query vector of shape {vector.shape} where its space has"
            f" {space.dimension} dimensions: see that RAGKIT_EMBED_MODEL names the right model."
        )
    if not np.isfinite(vector).all():
        raise ModelError(
            f"{space.model} gave a query vector with NaN or infinite values: the model's files are"
            " damaged, or its precision does not fit this machine; try RAGKIT_EMBED_DEVICE=cpu."
        )


def _nth(name: str, n: int) -> str:
    """Name a step of the n-th wording, counted from 0."""
    return name if n == 0 else f"{name} {n + 1}"


def _with_scores(hit: Hit, fused: Fused) -> Hit:
    legs = {"dense": fused.dense, "lexical": fused.lexical}
    scores = {leg: score for leg, score in legs.items() if score is not None}
    return replace(hit, score=fused.score, scores=scores)
