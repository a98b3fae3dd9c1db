"""One search of one collection: both legs, of one moment, with its trace.

It composes an embedder, a store's snapshot and the two legs; it knows nothing of databases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from ragkit.embed.models import model_card, reads_all
from ragkit.errors import ModelError
from ragkit.retrieve.beside import beside
from ragkit.retrieve.candidates import Candidates, Ranking, by_rank
from ragkit.retrieve.fusion.calibrated import Fused, background
from ragkit.retrieve.words import marks
from ragkit.retrieve.words.lexical import LexicalFound, lexical
from ragkit.types import Found, Hit, Stage

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Reader, Vectors
    from ragkit.retrieve.search import HybridRetriever

MAX_K = 1000  # arbitrary: what a screen, a prompt or a reranker can do with

# Candidates of a hybrid search, each then scored exactly by both legs. nDCG@10 on Cranfield in
# chunks is 0.421, 0.423, 0.425, 0.424 with 100, 200, 300, 500 dense ones, mostly because more of
# them make a better estimate of the background; from 50 to 300 lexical ones it stays the same.
# Where every vector is compared, 300 cost what 10 do; of 100,000, where an index is walked, 300
# take 9 ms of the server, 100 take 2 and 10 take 1.
DENSE_CANDIDATES = 100
DENSE_CANDIDATES_OF_FEW = 300
FEW_CHUNKS = 12_000  # below, comparing them all is cheaper than walking an index to the 300th
LEXICAL_CANDIDATES = 100
VARIANT_DEPTH = 100  # of each wording's hits, fused by rank: what the legs themselves look at


class Search:
    """One search: its wordings, how deep each is searched, and the stages so far."""

    def __init__(self, asked: HybridRetriever, texts: Sequence[str], passage: str, k: int) -> None:
        self._asked = asked
        self._texts = texts
        self._passage = passage
        self._k = k
        self._depth = k if len(texts) == 1 else max(k, VARIANT_DEPTH)
        self._dense_depth = self._depth
        self._lexical_depth = max(LEXICAL_CANDIDATES, self._depth)
        self._trace = _Trace()
        self._vectors: Mapping[str, Vectors] = {}  # of the wordings, as soon as they are known

    def reads_any(self) -> bool:
        """Tell whether the dense leg is asked: hybrid search spares it what its model cannot read.

        What it found there would be noise after the last chunk that has a word of the query.
        """
        return any(self._asked.embedder.reads(text) > 0 for text in self._texts)

    def by_words(self) -> Found:
        with self._asked.store.snapshot() as reader:
            words = self._words(reader)
            self._say(words)
            best = [found.best[: self._depth] for found in words.found]
            return self._fetched(reader, [[Fused(c, s, None, s) for c, s in one] for one in best])

    def by_words_for_want_of_meaning(self) -> Found:
        """Say that the model reads nothing of what is asked, and search by words."""
        self._trace.step("embed", notes={"left out": "the embedding model reads none of the query"})
        return self.by_words()

    def by_meaning(self) -> Found:
        vectors = self._embedded(self._texts)
        with self._asked.store.snapshot() as reader:
            lists = []
            for n, text in enumerate(self._texts):
                near = self._nearest(reader, vectors[text], self._depth)
                if marks.read(text).demands:
                    words = self._lexical(reader, text, MAX_K)
                    near = self._permitted(reader, text, vectors[text], near, words, MAX_K)
                self._trace.step(_nth("dense", n), near[: self._depth])
                lists.append([Fused(c, s, s, None) for c, s in near[: self._depth]])
            return self._fetched(reader, lists)

    def by_both(self) -> Found:
        """Let the words be found while the query is embedded.

        What a query demands by marks is checked in the passages' text: then all is one snapshot's.
        """
        self._asked.embedder.load()
        read = [text for text in self._texts if self._asked.embedder.reads(text) > 0]
        if any(marks.read(text).demands for text in self._texts):
            self._embedded(read)
            with self._asked.store.snapshot() as reader:
                return self._with_meaning(reader, None)
        with ExitStack() as held:
            with beside(partial(self._words_first, held)) as running:
                self._embedded(read)
                its, words = running.result()
            reader = its or held.enter_context(self._asked.store.snapshot())
            return self._with_meaning(reader, words)

    def _words_first(self, held: ExitStack) -> tuple[Reader | None, _Words | None]:
        """Find the words, and have their snapshot held if the query is embedded by then.

        If not, it ends: none is open while a model computes.
        """
        with ExitStack() as own:
            reader = own.enter_context(self._asked.store.snapshot())
            words = self._words(reader)
            if self._vectors:
                held.push(own.pop_all())
                return reader, words
            return None, replace(words, moment=reader.moment(self._asked.collection))

    def _with_meaning(self, reader: Reader, words: _Words | None) -> Found:
        """Search among the vectors, fuse with what the words found, and fetch.

        The words are searched for here where they were not yet, and again where they were found in
        another snapshot and do not hold in this one.
        """
        if words is None:
            words = self._words(reader)
        if words.moment is None:
            self._trace.skip()
        near = self._near(reader, words.found[0].chunks)
        if words.moment is not None and words.moment != reader.moment(self._asked.collection):
            words = replace(self._words(reader), again=True)
        return self._fetched(reader, self._fused(reader, near, words))

    def _embedded(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """Embed wordings, the first as the passage that may stand for it."""
        embedder = self._asked.embedder
        embedder.load()
        stands_for = {self._texts[0]: self._passage}
        meant = {text: stands_for.get(text) or marks.read(text).text for text in texts}
        vectors = {text: embedder.embed_query(meant[text]) for text in texts}
        for vector in vectors.values():
            _check_vector(embedder, vector)
        self._trace.step("embed", notes={"model": embedder.space.model})
        self._vectors = vectors  # last: the words' thread goes on when it sees them
        return vectors

    def _near(self, reader: Reader, chunks: int) -> Mapping[str, Ranking]:
        """Find what lies nearest to each wording that the model reads, of about so many chunks."""
        candidates = DENSE_CANDIDATES_OF_FEW if chunks <= FEW_CHUNKS else DENSE_CANDIDATES
        self._dense_depth = max(candidates, self._depth)
        found = {}
        for n, text in enumerate(self._texts):
            if text in self._vectors:
                found[text] = self._nearest(reader, self._vectors[text], self._dense_depth)
                self._trace.step(_nth("dense", n), found[text])
        return found

    def _nearest(self, reader: Reader, vector: Vectors, k: int) -> Ranking:
        asked = self._asked
        return reader.nearest(asked.collection, asked.embedder.space, vector, k, asked.where)

    def _permitted(
        self,
        reader: Reader,
        text: str,
        vector: Vectors,
        near: Ranking,
        words: LexicalFound,
        asked: int,
    ) -> Ranking:
        """Keep what the query's marks allow, of ever more, until it is enough or there is no more.

        Where words are demanded and fewer passages have them than were `asked` for, those are all.
        """
        known = [chunk for chunk, _ in words.best]
        if len(known) < asked and any(one.wanted for one in marks.read(text).demands):
            cosines = reader.similarities(self._asked.embedder.space, vector, known)
            return sorted(cosines.items(), key=lambda pair: (-pair[1], pair[0]))
        depth = len(near)
        while True:
            allowed = set(words.permits([chunk for chunk, _ in near]))
            if len(allowed) >= self._depth or len(near) < depth or not near:
                return [pair for pair in near if pair[0] in allowed]
            depth *= 4
            near = self._nearest(reader, vector, depth)

    def _lexical(self, reader: Reader, text: str, k: int) -> LexicalFound:
        asked = self._asked
        where = (reader, asked.collection, text, k, asked.where)
        return lexical(*where, beside_a_model=asked.mode == "hybrid")

    def _words(self, reader: Reader) -> _Words:
        began = perf_counter()
        found = [self._lexical(reader, text, self._lexical_depth) for text in self._texts]
        return _Words(found, perf_counter() - began)

    def _say(self, words: _Words) -> None:
        for n, found in enumerate(words.found):
            notes: dict[str, float | str] = {"chunks": found.chunks, "coverage": found.coverage}
            if words.again:
                notes["again"] = "what was found beside the embedding no longer holds"
            seconds = words.seconds / len(words.found)
            self._trace.add(Stage(_nth("lexical", n), seconds, tuple(found.best), notes))

    def _fused(
        self, reader: Reader, near: Mapping[str, Ranking], words: _Words
    ) -> list[list[Fused]]:
        """Fuse both legs of each wording."""
        self._say(words)
        lists = []
        for n, (text, found) in enumerate(zip(self._texts, words.found, strict=True)):
            legs = self._scored(reader, text, found, near.get(text, ()))
            lists.append(legs.fused())
            ranked = [(one.chunk, one.score) for one in lists[-1]]
            self._trace.step(_nth("fuse", n), ranked, legs.notes())
        return lists

    def _scored(self, reader: Reader, text: str, words: LexicalFound, near: Ranking) -> Candidates:
        """Score every candidate of either leg exactly by both."""
        vector = self._vectors.get(text)
        sample, chunks = near, len(near)  # fewer than asked for are all that there are
        if vector is not None and len(near) == self._dense_depth:
            chunks = words.chunks
            if self._asked.where is not None:  # how many it leaves is not known
                space = self._asked.embedder.space
                sample = reader.nearest(self._asked.collection, space, vector, self._dense_depth)
        unrelated = background([cosine for _, cosine in sample], chunks)
        if words.constrained and vector is not None:
            near = self._permitted(reader, text, vector, near, words, self._lexical_depth)
        dense = dict(near)
        beyond = [chunk for chunk, _ in words.best if chunk not in dense]
        if beyond and vector is not None:
            dense |= reader.similarities(self._asked.embedder.space, vector, beyond)
        return Candidates(
            dense=dense,
            lexical=words.scores(list(dense.keys() | dict(words.best).keys())),
            background=unrelated,
            coverage=words.coverage,
            readable=self._asked.embedder.reads(text),
            trusted=vector is not None and reads_all(model_card(self._asked.embedder.space.model)),
        )

    def _fetched(self, reader: Reader, lists: Sequence[Sequence[Fused]]) -> Found:
        """Fuse the wordings' rankings, where there are several, and fetch the k best."""
        ranked = lists[0]
        if len(lists) > 1:
            ranked = by_rank([one[: self._depth] for one in lists])
            self._trace.step("variants", [(one.chunk, one.score) for one in ranked])
        best = ranked[: self._k]
        hits = {hit.chunk: hit for hit in reader.hits([fused.chunk for fused in best])}
        found = [_with_scores(hits[fused.chunk], fused) for fused in best if fused.chunk in hits]
        self._trace.step("fetch", [(hit.chunk, hit.score) for hit in found])
        return Found(tuple(found), tuple(self._trace.stages))


@dataclass(frozen=True, slots=True)
class _Words:
    """What the words of each wording found, and in how long; `moment`: of another snapshot's."""

    found: Sequence[LexicalFound]
    seconds: float
    moment: object = None
    again: bool = False


class _Trace:
    """The stages so far; a step's seconds are those since the last, less what ran beside."""

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
        """Leave the time since the last step out: it is told of elsewhere."""
        self._last = perf_counter()

    def add(self, stage: Stage) -> None:
        self.stages.append(stage)
        self._last = perf_counter()


def _check_vector(embedder: Embedder, vector: Vectors) -> None:
    """Refuse a vector that would be compared with nothing, or with everything alike."""
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
