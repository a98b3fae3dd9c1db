"""Search of one collection in each mode, over fakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ragkit.contracts import Retriever
from ragkit.errors import ModelError, NotFoundError, QueryError
from ragkit.retrieve.search import HybridRetriever
from ragkit.testing import CORPUS, FakeEmbedder, FakeStore, RetrieverConformance, fill
from ragkit.testing.corpus import new_document
from ragkit.types import EmbeddingSpace, Hit, Mode, Query

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

MODES: tuple[Mode, ...] = ("hybrid", "dense", "lexical")


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    fill(store, FakeEmbedder(), CORPUS)
    return store


class TestHybridRetriever(RetrieverConformance):
    @pytest.fixture
    def retriever(self, store: FakeStore) -> Retriever:
        return HybridRetriever(store, FakeEmbedder(), "default")


class TestLexicalRetriever(RetrieverConformance):
    @pytest.fixture
    def retriever(self, store: FakeStore) -> Retriever:
        return HybridRetriever(store, FakeEmbedder(), "default", mode="lexical")


class MissingModel(FakeEmbedder):
    """An embedder whose model cannot be had."""

    def load(self) -> None:
        raise ModelError("no such model")


class Blind(FakeEmbedder):
    """An embedder that sees the same in every passage, and the first passage in every query."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        return np.eye(len(texts), self.space.dimension, dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        import numpy as np

        vector: Vectors = np.eye(1, self.space.dimension, dtype=np.float32)[0]
        return vector


class Illiterate(MissingModel):
    """An embedder whose card says that it reads nothing, and which is never asked."""

    def reads(self, text: str) -> float:
        return 0.0


def uris(hits: Sequence[Hit]) -> list[str]:
    return [hit.uri for hit in hits]


def test_hybrid_hits_carry_both_legs_own_scores(store: FakeStore) -> None:
    dense, lexical = (
        HybridRetriever(store, FakeEmbedder(), "default", mode=mode).search("a delta wing", k=1)[0]
        for mode in MODES[1:]
    )
    hits = HybridRetriever(store, FakeEmbedder(), "default").search("a delta wing", k=6)
    assert len(hits) == 6
    assert hits[0].uri == "wings.md"
    assert hits[0].scores == {"dense": dense.score, "lexical": lexical.score}
    assert set(hits[-1].scores) == {"dense"}  # what no word finds comes last


def test_each_mode_scores_by_its_leg(store: FakeStore) -> None:
    lexical = HybridRetriever(store, FakeEmbedder(), "default", mode="lexical").search("wing", k=3)
    assert [hit.scores for hit in lexical] == [{"lexical": lexical[0].score}]
    dense = HybridRetriever(store, FakeEmbedder(), "default", mode="dense").search("wing", k=3)
    assert [hit.scores for hit in dense] == [{"dense": hit.score} for hit in dense]
    assert len(dense) == 3


def test_lexical_search_needs_no_model(store: FakeStore) -> None:
    retriever = HybridRetriever(store, MissingModel(), "default", mode="lexical")
    assert uris(retriever.search("sick leave", k=1)) == ["leave.md"]
    with pytest.raises(ModelError, match="no such model"):
        HybridRetriever(store, MissingModel(), "default").search("sick leave", k=1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["", " \n\t", "?!", "……", "___", "🛩"])
def test_a_query_without_a_word_is_refused(store: FakeStore, mode: Mode, query: str) -> None:
    with pytest.raises(QueryError, match=r"has no word: ask with at least one$"):
        HybridRetriever(store, FakeEmbedder(), "default", mode=mode).search(query, k=3)


@pytest.mark.parametrize("k", [-1, 0, 1001])
def test_k_has_limits(store: FakeStore, k: int) -> None:
    with pytest.raises(QueryError, match=f"^k is {k}: ask for 1 to 1000 passages$"):
        HybridRetriever(store, FakeEmbedder(), "default").search("wing", k=k)


def test_a_query_has_a_limit(store: FakeStore) -> None:
    retriever = HybridRetriever(store, FakeEmbedder(), "default")
    assert retriever.search("wing " * 6400, k=1)[0].uri == "wings.md"
    with pytest.raises(QueryError, match="32,001 characters: ask with at most 32,000"):
        retriever.search("w" * 32_001, k=1)


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_collection_has_no_hits(mode: Mode) -> None:
    store = FakeStore()
    store.create_collection("default")
    assert HybridRetriever(store, FakeEmbedder(), "default", mode=mode).search("wing", k=3) == []


@pytest.mark.parametrize("mode", MODES)
def test_an_unknown_collection_is_named(store: FakeStore, mode: Mode) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        HybridRetriever(store, FakeEmbedder(), "nowhere", mode=mode).search("wing", k=3)


def test_without_a_common_word_the_dense_leg_answers(store: FakeStore) -> None:
    hits = HybridRetriever(store, FakeEmbedder(), "default").search("zyzzyva", k=2)
    dense = HybridRetriever(store, FakeEmbedder(), "default", mode="dense").search("zyzzyva", k=2)
    assert [hit.chunk for hit in hits] == [hit.chunk for hit in dense]
    assert [set(hit.scores) for hit in hits] == [{"dense"}, {"dense"}]


def test_without_vectors_of_the_model_the_words_answer(store: FakeStore) -> None:
    other = FakeEmbedder(dimension=8)
    other.load()
    assert other.space != EmbeddingSpace("fake-hashed-terms", "1", 256)
    hits = HybridRetriever(store, other, "default").search("sick leave", k=2)
    assert uris(hits) == ["leave.md"]
    assert set(hits[0].scores) == {"lexical"}
    assert HybridRetriever(store, other, "default", mode="dense").search("sick leave", k=2) == []


def test_a_blind_model_leaves_the_words_order() -> None:
    embedder = Blind()
    words = "alpha bravo charlie delta echo foxtrot golf hotel india juliet".split()
    texts = [f"{word} {words[n - 1]} {words[n - 2]}" for n, word in enumerate(words)]
    store = FakeStore()
    fill(store, embedder, [new_document("a.txt", *texts)])
    hits = HybridRetriever(store, embedder, "default").search("golf foxtrot echo", k=10)
    lexical = HybridRetriever(store, embedder, "default", mode="lexical")
    found = [hit.text for hit in lexical.search("golf foxtrot echo", k=10)]
    assert len(found) == 5
    assert [hit.text for hit in hits[:5]] == found
    assert hits[5].text == "alpha juliet india"  # the dense leg's favourite, without a word


def test_a_query_that_the_model_cannot_read_is_searched_by_words(store: FakeStore) -> None:
    hybrid = HybridRetriever(store, Illiterate(), "default")
    lexical = HybridRetriever(store, Illiterate(), "default", mode="lexical")
    assert hybrid.search("国内航班乘坐什么舱", k=6) == lexical.search("国内航班乘坐什么舱", k=6)
    assert hybrid.search("出差", k=6) == []  # no chunk has it, and no vector would say more
    with pytest.raises(ModelError, match="no such model"):  # who asks for vectors gets them
        HybridRetriever(store, Illiterate(), "default", mode="dense").search("出差", k=6)


@pytest.mark.parametrize(
    ("mode", "stages"),
    [
        ("hybrid", ["embed", "dense", "lexical", "fuse", "fetch"]),
        ("dense", ["embed", "dense", "fetch"]),
        ("lexical", ["lexical", "fetch"]),
    ],
)
def test_timings_name_the_stages_there_were(
    store: FakeStore, mode: Mode, stages: list[str]
) -> None:
    retriever = HybridRetriever(store, FakeEmbedder(), "default", mode=mode)
    found = retriever.find(Query("wing"), k=1)
    hits, timings = found.hits, found.timings
    assert list(hits) == retriever.search("wing", k=1)
    assert list(timings) == stages
    assert all(seconds >= 0 for seconds in timings.values())


def test_search_is_repeatable(store: FakeStore) -> None:
    retriever = HybridRetriever(store, FakeEmbedder(), "default")
    assert retriever.search("days of leave", k=5) == retriever.search("days of leave", k=5)
