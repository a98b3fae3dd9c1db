"""nDCG@10 of each mode with the default model: the fusion is never far under its better leg.

Documents are cut into windows of the model's tokens; a document counts by its best. Cranfield is
whole; of the others parts are taken, as embedding is slow. The benchmarks measure all of them.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ragkit.contracts import Embedder, Store
from ragkit.embed.local import LocalEmbedder
from ragkit.postings import Posting, Postings, Segment, Term
from ragkit.retrieve.search import HybridRetriever
from ragkit.text.analyse import ANALYSER, analyse
from ragkit.types import EmbeddingSpace, Hit, Mode
from ragkit_eval.retrieval import ndcg
from ragkit_eval.sets import LabelledSet, Question, beir, clapnq, excerpts, squad

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("RAGKIT_TEST_DATA", ROOT.parent / "shared" / "data")) / "retrieval"
MODES: tuple[Mode, ...] = ("lexical", "dense", "hybrid")
TOKENS, OVERLAP = 240, 24
DEPTH = 50  # chunks fetched, so that ten documents are among them
QUESTIONS = 225  # at most, evenly drawn, of each set

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no test data at {DATA}"),
]


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    embedder = LocalEmbedder()
    embedder.load()
    return embedder


class Memory:
    """A store of windows, whose snapshot is itself: vectors and postings in arrays."""

    def __init__(self, embedder: Embedder, documents: Mapping[str, str]) -> None:
        self.places = [
            (name, start, end, text[start:end])
            for name, text in documents.items()
            for start, end in windows(embedder, text)
        ]
        self.vectors = embedder.embed_passages([place[3] for place in self.places])
        terms = [analyse(place[3]) for place in self.places]
        lengths = np.array([len(of_chunk) for of_chunk in terms], np.int32)
        self.segment = Segment(np.arange(len(terms)), lengths)
        rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for chunk, of_chunk in enumerate(terms):
            for term, frequency in Counter(of_chunk).items():
                rows[term].append((chunk, frequency))
        self.rows = {term: np.array(of_term, np.int32).T for term, of_term in rows.items()}

    @contextmanager
    def snapshot(self) -> Iterator[Memory]:
        yield self

    def moment(self, collection: str) -> object:
        return self

    def lexical_index(self, collection: str) -> str:
        return "ragkit"

    def size(self, collection: str) -> int:
        return len(self.places)

    def nearest(
        self, collection: str, space: EmbeddingSpace, vector: Vectors, k: int, where: None = None
    ) -> Sequence[tuple[int, float]]:
        cosines = self.vectors @ vector
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(int(chunk), float(cosines[chunk])) for chunk in best]

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        return {chunk: float(self.vectors[chunk] @ vector) for chunk in chunks}

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        lengths = self.segment.lengths
        found = {
            term: Term(len(places), (Posting.of(places, frequencies, lengths),))
            for term in set(terms) & self.rows.keys()
            for places, frequencies in [self.rows[term]]
        }
        return Postings(len(lengths), int(lengths.sum()), (self.segment,), found)

    def analyser(self, collection: str) -> str:
        return ANALYSER

    def beginning_or_ending(self, collection: str, character: str) -> Sequence[str]:
        return [t for t in self.rows if len(t) <= 2 and character in {t[0], t[-1]}]

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        return [
            Hit(chunk, chunk, name, "", None, start, end, text, 0.0)
            for chunk in chunks
            for name, start, end, text in [self.places[chunk]]
        ]


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
        str(chunk): 1
        for chunk, (name, start, end, _) in enumerate(memory.places)
        for gold in question.excerpts
        if name == gold.document
        and 2 * (min(end, gold.end) - max(start, gold.start)) >= gold.end - gold.start
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
    memory: Any = Memory(embedder, documents)
    store: Store = memory
    step = max(1, len(labelled.questions) // QUESTIONS)
    graded = [(q, relevance(q, memory)) for q in labelled.questions[::step]]
    asked = [(q, grades) for q, grades in graded if any(grades.values())]
    means: dict[Mode, float] = {}
    for mode in MODES:
        retriever = HybridRetriever(store, embedder, "", mode=mode)
        scores = [
            ndcg(grades, ranked(retriever.search(q.text, k=DEPTH), bool(q.excerpts)), k=10)
            for q, grades in asked
        ]
        means[mode] = sum(scores) / len(scores)
    figures = ", ".join(f"{mode} {mean:.3f}" for mode, mean in means.items())
    print(f"\n{labelled.name}: {len(asked)} of {len(graded)} questions judged, nDCG@10 {figures}")
    return means


def part(labelled: LabelledSet, documents: Sequence[str]) -> LabelledSet:
    """Keep some documents, and the questions about them."""
    kept = {name: labelled.documents[name] for name in documents}
    questions = tuple(q for q in labelled.questions if q.relevant.keys() <= kept.keys())
    return LabelledSet(f"{labelled.name} in part", kept, questions)


def test_cranfield(embedder: LocalEmbedder) -> None:
    found = measure(embedder, beir(DATA / "cranfield", "Cranfield"))
    assert found["hybrid"] >= 0.42
    assert found["hybrid"] >= max(found["lexical"], found["dense"]) + 0.02


def test_chinese_with_a_model_that_reads_none(embedder: LocalEmbedder) -> None:
    whole = squad(DATA / "cmrc2018_dev.json", "CMRC 2018")
    found = measure(embedder, part(whole, list(whole.documents)[::12]))
    assert found["dense"] < 0.5
    assert found["lexical"] > 0.9
    assert found["hybrid"] >= found["lexical"] - 0.001


def test_questions_of_the_web_among_distractors(embedder: LocalEmbedder) -> None:
    whole = clapnq(DATA / "clapnq_dev_answerable.jsonl", "CLAPNQ")
    others = clapnq(DATA / "clapnq_dev_unanswerable.jsonl", "CLAPNQ, unanswerable")
    found = measure(
        embedder,
        part(whole, list(whole.documents)[::3]),
        part(others, list(others.documents)[::6]),
    )
    assert found["hybrid"] >= max(found["lexical"], found["dense"]) - 0.01


def test_excerpts_by_chunk(embedder: LocalEmbedder) -> None:
    whole = excerpts(DATA / "chunking_evaluation", "chunking_evaluation")
    found = measure(embedder, part(whole, ["chatlogs", "state_of_the_union"]))
    assert found["hybrid"] >= max(found["lexical"], found["dense"]) - 0.01
