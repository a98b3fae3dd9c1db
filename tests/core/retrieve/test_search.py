"""Search of one collection in each mode, over fakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ragkit.contracts import Retriever
from ragkit.errors import ModelError, NotFoundError, OtherModelError, QueryError
from ragkit.filters.tree import parse
from ragkit.retrieve import legs
from ragkit.retrieve.fusion.reciprocal import reciprocal_rank
from ragkit.retrieve.search import HybridRetriever
from ragkit.testing import CORPUS, FakeEmbedder, FakeStore, RetrieverConformance, fill
from ragkit.testing.corpus import new_document
from ragkit.types import Hit, Mode, Query

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
        HybridRetriever(store, FakeEmbedder(), "default", mode=mode).search("delta wing", k=1)[0]
        for mode in MODES[1:]
    )
    hits = HybridRetriever(store, FakeEmbedder(), "default").search("delta wing", k=6)
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


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_vectors_of_another_model_are_never_searched(store: FakeStore, mode: Mode) -> None:
    other = FakeEmbedder(dimension=8)
    with pytest.raises(OtherModelError):
        HybridRetriever(store, other, "default", mode=mode).search("sick leave", k=2)
    assert uris(HybridRetriever(store, other, "default", "lexical").search("sick leave", k=1)) == [
        "leave.md"
    ]


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
    found = hybrid.find(Query("国内航班乘坐什么舱"), k=6)
    assert dict(found.stages[0].notes) == {
        "left out": "the embedding model reads none of the query"
    }
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


def test_variants_are_searched_besides_and_fused_by_rank(store: FakeStore) -> None:
    retriever = HybridRetriever(store, FakeEmbedder(), "default")
    found = retriever.find(Query("delta wing", variants=("sick leave", "?!", "delta wing")), k=3)
    alone = [retriever.search(text, k=100) for text in ("delta wing", "sick leave")]
    ranks = [[hit.chunk for hit in hits] for hits in alone]
    expected = reciprocal_rank(ranks)[:3]
    assert [(hit.chunk, hit.score) for hit in found.hits] == expected
    assert {"wings.md", "leave.md"} <= set(uris(found.hits))
    names = [stage.name for stage in found.stages]
    assert names.count("variants") == 1
    assert {"dense", "dense 2", "lexical", "lexical 2", "fuse", "fuse 2"} <= set(names)
    assert "fuse 3" not in names  # neither without a word nor twice the same


@pytest.mark.parametrize("mode", ["dense", "lexical"])
def test_variants_in_one_leg(store: FakeStore, mode: Mode) -> None:
    retriever = HybridRetriever(store, FakeEmbedder(), "default", mode)
    found = retriever.find(Query("delta wing", variants=("sick leave",)), k=2)
    assert set(uris(found.hits)) == {"wings.md", "leave.md"}
    assert [set(hit.scores) for hit in found.hits] == [{mode}, {mode}]


def test_a_passage_is_embedded_in_the_questions_place(store: FakeStore) -> None:
    retriever = HybridRetriever(store, FakeEmbedder(), "default", "dense")
    passage = retriever.search("days of sick leave", k=3)
    found = retriever.find(Query("zyzzyva", passage="days of sick leave"), k=3)
    assert list(found.hits) == passage
    hybrid = HybridRetriever(store, FakeEmbedder(), "default")
    found = hybrid.find(Query("delta wing", passage="days of sick leave"), k=6)
    lexical = HybridRetriever(store, FakeEmbedder(), "default", "lexical").search("delta wing", k=6)
    by_words = {hit.chunk: hit.score for hit in found.hits if "lexical" in hit.scores}
    assert set(by_words) == {hit.chunk for hit in lexical}  # the words are still the question's


def test_what_cannot_be_read_is_searched_by_words_beside_what_can(store: FakeStore) -> None:
    class English(FakeEmbedder):
        def reads(self, text: str) -> float:
            return float(text.isascii())

    found = HybridRetriever(store, English(), "default").find(
        Query("国内航班乘坐什么舱", variants=("delta wing",)), k=4
    )
    names = [stage.name for stage in found.stages]
    assert "dense" not in names
    assert "dense 2" in names
    assert set(uris(found.hits[:2])) == {"差旅.md", "wings.md"}


def test_a_trace_has_the_numbers_that_both_legs_were_fused_by(store: FakeStore) -> None:
    found = HybridRetriever(store, FakeEmbedder(), "default").find(Query("delta wing"), k=2)
    stages = {stage.name: stage for stage in found.stages}
    assert stages["lexical"].notes["chunks"] == 6
    assert 0 < float(stages["lexical"].notes["coverage"]) < 1
    notes = stages["fuse"].notes
    assert notes["method"] == "calibrated"
    assert 0 <= float(notes["dense_weight"]) <= 1
    assert float(notes["background_deviation"]) > 0
    assert stages["fuse"].ranked[0] == (found.hits[0].chunk, found.hits[0].score)
    assert len(stages["dense"].ranked) == 6


def test_the_background_is_the_collections_where_a_filter_leaves_many() -> None:
    store = FakeStore()
    for name in ("a.txt", "b.txt"):
        texts = [f"alpha word{n} word{n % 7} {name[0]}{n % 5}" for n in range(400)]
        fill(store, FakeEmbedder(), [new_document(name, *texts)])
    whole, part = (
        HybridRetriever(store, FakeEmbedder(), "default", where=where).find(Query("alpha a1"), k=3)
        for where in (None, parse({"eq": {"uri": "a.txt"}}))
    )
    notes = [found.stages[-2].notes for found in (whole, part)]
    for name in ("background_mean", "background_deviation"):
        assert notes[0][name] == notes[1][name]
    assert set(uris(part.hits)) == {"a.txt"}


def test_a_large_collection_is_not_searched_as_deep_by_meaning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = FakeStore()
    texts = [f"alpha word{n} word{n % 7}" for n in range(400)]
    fill(store, FakeEmbedder(), [new_document("a.txt", *texts)])
    retriever = HybridRetriever(store, FakeEmbedder(), "default")

    def depth(query: str, k: int = 5) -> int:
        stages = {stage.name: stage for stage in retriever.find(Query(query), k=k).stages}
        return len(stages["dense"].ranked)

    assert (depth("alpha"), depth("alpha -word1")) == (300, 300)
    monkeypatch.setattr(legs, "FEW_CHUNKS", 399)
    assert (depth("alpha"), depth("alpha -word1")) == (100, 100)
    assert depth("alpha", k=150) == 150
