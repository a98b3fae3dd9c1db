"""nDCG@10 of each mode with the default model: the fusion is never far under its better leg.

Documents are cut into windows of the model's tokens; a document counts by its best. Parts of the
sets are taken, as embedding is slow. The benchmarks measure all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragkit.contracts import Embedder
from ragkit.embed.local import LocalEmbedder
from ragkit.filters.tree import Every
from ragkit.retrieve.search import HybridRetriever
from ragkit.testing.store import FakeReader, FakeStore
from ragkit.text.analyse import analyse
from ragkit.text.postings import Posting, Postings, Segment, Term
from ragkit.types import Chunk, EmbeddingSpace, Hit, Mode, NewDocument
from ragkit_eval.retrieval import ndcg
from ragkit_eval.sets import LabelledSet, Question, beir, clapnq, excerpts, squad
from tests.places import DATA

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.filters.tree import Filter

RETRIEVAL = DATA / "retrieval"
MODES: tuple[Mode, ...] = ("lexical", "dense", "hybrid")
SET = "set"
TOKENS, OVERLAP = 240, 24
DEPTH = 50  # chunks fetched, so that ten documents are among them

pytestmark = pytest.mark.skipif(not RETRIEVAL.is_dir(), reason=f"no test data at {RETRIEVAL}")


class QueriesOnce(LocalEmbedder):
    """A model by which a query that two modes search for is embedded once."""

    def __init__(self, model: str | None = None) -> None:
        super().__init__(model)
        self.queries: dict[str, Vectors] = {}

    def embed_query(self, text: str) -> Vectors:
        if text not in self.queries:
            self.queries[text] = super().embed_query(text)
        return self.queries[text]


@pytest.fixture(scope="module")
def embedder() -> QueriesOnce:
    embedder = QueriesOnce()
    embedder.load()
    return embedder


class Counted(FakeReader):
    """The fake's reader, with words counted, vectors stacked and hits made once for all searches.

    Whatever else a search asks of a reader, now or later, is the fake's own answer.
    """

    def __init__(self, store: FakeStore) -> None:
        super().__init__(store._state)
        self.chunks = super().hits(self.matching(SET, Every(())))
        self.by_id = {hit.chunk: hit for hit in self.chunks}
        self.ids = np.array([hit.chunk for hit in self.chunks])
        terms = [analyse(hit.text) for hit in self.chunks]
        self.segment = Segment(self.ids, np.array([len(of_chunk) for of_chunk in terms], np.int32))
        rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, of_chunk in enumerate(terms):
            for term, frequency in Counter(of_chunk).items():
                rows[term].append((place, frequency))
        self.rows = {term: np.array(of_term, np.int32).T for term, of_term in rows.items()}
        space = store.active_space(SET)
        assert space is not None
        vectors = self.vectors(space, self.ids.tolist())
        self.stacked = np.stack([vectors[chunk] for chunk in self.ids.tolist()])

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        return [self.by_id[chunk] for chunk in chunks if chunk in self.by_id]

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        assert where is None
        cosines = self.stacked @ vector
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(int(self.ids[place]), float(cosines[place])) for place in best]

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        places = np.searchsorted(self.ids, chunks)
        return dict(zip(chunks, (self.stacked[places] @ vector).tolist(), strict=True))

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        lengths = self.segment.lengths
        found = {
            term: Term(len(places), (Posting.of(places, frequencies, lengths),))
            for term in set(terms) & self.rows.keys()
            for places, frequencies in [self.rows[term]]
        }
        return Postings(len(lengths), int(lengths.sum()), (self.segment,), found)


class Memory(FakeStore):
    """The fake filled with windows of documents; nothing is written to it afterwards."""

    def __init__(self, embedder: Embedder, documents: Mapping[str, str]) -> None:
        super().__init__()
        self.create_collection(SET)
        cut = {name: list(windows(embedder, text)) for name, text in documents.items()}
        texts = [documents[name][start:end] for name in cut for start, end in cut[name]]
        vectors, done = embedder.embed_passages(texts), 0
        for name, places in cut.items():
            chunks = [Chunk(n, start, end, TOKENS) for n, (start, end) in enumerate(places)]
            document = NewDocument(name, "", "", documents[name], tuple(chunks))
            self.put_document(SET, document, embedder.space, vectors[done : done + len(places)])
            done += len(places)
        self.counted = Counted(self)

    @contextmanager
    def snapshot(self) -> Iterator[FakeReader]:
        yield self.counted


def windows(embedder: Embedder, text: str) -> Iterator[tuple[int, int]]:
    spans = embedder.token_spans(text)
    for first in range(0, max(1, len(spans) - OVERLAP), TOKENS - OVERLAP):
        last = min(first + TOKENS, len(spans))
        yield spans[first].start, spans[last - 1].end


def relevance(question: Question, memory: Memory) -> dict[str, int]:
    """Grade the documents; with excerpts, the chunks that hold half of one."""
    if not question.excerpts:
        return dict(question.relevant)
    return {
        str(chunk.chunk): 1
        for chunk in memory.counted.chunks
        for gold in question.excerpts
        if chunk.uri == gold.document
        and 2 * (min(chunk.end, gold.end) - max(chunk.start, gold.start)) >= gold.end - gold.start
    }


def ranked(hits: Sequence[Hit], by_chunk: bool) -> dict[str, float]:
    names = [str(hit.chunk) if by_chunk else hit.uri for hit in hits]
    return {name: -float(rank) for rank, name in enumerate(dict.fromkeys(names))}


def measure(
    embedder: Embedder, labelled: LabelledSet, *distractors: LabelledSet
) -> dict[Mode, float]:
    documents = dict(labelled.documents)
    for other in distractors:
        documents |= {f"other {name}": text for name, text in other.documents.items()}
    memory = Memory(embedder, documents)
    graded = [(q, relevance(q, memory)) for q in labelled.questions]
    asked = [(q, grades) for q, grades in graded if any(grades.values())]
    means: dict[Mode, float] = {}
    for mode in MODES:
        retriever = HybridRetriever(memory, embedder, SET, mode=mode)
        scores = [
            ndcg(grades, ranked(retriever.search(q.text, k=DEPTH), bool(q.excerpts)), k=10)
            for q, grades in asked
        ]
        means[mode] = sum(scores) / len(scores)
    figures = ", ".join(f"{mode} {mean:.3f}" for mode, mean in means.items())
    print(f"\n{labelled.name}: {len(asked)} of {len(graded)} questions judged, nDCG@10 {figures}")
    return means


def part(labelled: LabelledSet, documents: Sequence[str]) -> LabelledSet:
    """Take some documents, and the questions that one of them answers."""
    texts = {name: labelled.documents[name] for name in documents}
    questions = [
        replace(q, relevant={name: grade for name, grade in q.relevant.items() if name in texts})
        for q in labelled.questions
    ]
    answered = tuple(q for q in questions if any(q.relevant.values()))
    return LabelledSet(f"{labelled.name} in part", texts, answered)


@pytest.mark.long
def test_cranfield(embedder: LocalEmbedder) -> None:
    """Of Cranfield's eight parts this is the first, with 131 questions.

    Lexical 0.518, dense 0.552, hybrid 0.574.
    """
    whole = beir(RETRIEVAL / "cranfield", "Cranfield")
    means = measure(embedder, part(whole, list(whole.documents)[::8]))
    assert means["hybrid"] >= 0.565
    assert means["hybrid"] >= max(means["lexical"], means["dense"]) + 0.01


@pytest.mark.long
def test_chinese(embedder: LocalEmbedder) -> None:
    whole = squad(RETRIEVAL / "cmrc2018_dev.json", "CMRC 2018")
    means = measure(embedder, part(whole, list(whole.documents)[::20]))
    assert means["dense"] > 0.9
    assert means["hybrid"] >= max(means["lexical"], means["dense"]) - 0.005


@pytest.mark.long
def test_chinese_with_a_model_that_reads_none() -> None:
    whole = squad(RETRIEVAL / "cmrc2018_dev.json", "CMRC 2018")
    means = measure(QueriesOnce("minilm"), part(whole, list(whole.documents)[::20]))
    assert means["dense"] < 0.5
    assert means["lexical"] > 0.9
    assert means["hybrid"] >= means["lexical"] - 0.001


@pytest.mark.long
def test_questions_of_the_web_among_distractors(embedder: LocalEmbedder) -> None:
    whole = clapnq(RETRIEVAL / "clapnq_dev_answerable.jsonl", "CLAPNQ")
    others = clapnq(RETRIEVAL / "clapnq_dev_unanswerable.jsonl", "CLAPNQ, unanswerable")
    means = measure(
        embedder,
        part(whole, list(whole.documents)[::4]),
        LabelledSet("distractors", dict(list(others.documents.items())[::12]), ()),
    )
    assert means["hybrid"] >= max(means["lexical"], means["dense"]) - 0.01


@pytest.mark.long
def test_excerpts_by_chunk(embedder: LocalEmbedder) -> None:
    whole = excerpts(RETRIEVAL / "chunking_evaluation", "chunking_evaluation")
    means = measure(embedder, part(whole, ["chatlogs", "state_of_the_union"]))
    assert means["hybrid"] >= max(means["lexical"], means["dense"]) - 0.01
