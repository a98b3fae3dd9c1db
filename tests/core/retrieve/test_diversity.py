"""Maximal marginal relevance against a plain oracle, and over vectors in the real database."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from ragkit import KnowledgeBase, Settings
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.knowledge import build
from ragkit.retrieve.steps.diversity import Diversify, PerDocument, marginal_relevance
from ragkit.store.connection.connect import connect, open_pool
from ragkit.store.connection.migrate import migrate
from ragkit.store.postgres import PostgresStore
from ragkit.testing import FakeEmbedder, fill, new_document, passages
from ragkit.types import Hit


def oracle(relevance: list[float], cosines: list[list[float]], weight: float) -> list[int]:
    """Choose by Carbonell and Goldstein's formula, written out."""
    order = [max(range(len(relevance)), key=lambda i: (relevance[i], -i))]
    while len(order) < len(relevance):
        left = [i for i in range(len(relevance)) if i not in order]
        gain = {
            i: (1 - weight) * relevance[i] - weight * max(cosines[i][j] for j in order)
            for i in left
        }
        order.append(max(left, key=lambda i: (gain[i], -i)))
    return order


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_the_order_is_the_formulas(weight: float) -> None:
    chance = random.Random(8)
    for size in (1, 2, 7, 20):
        vectors = np.array([[chance.gauss(0, 1) for _ in range(5)] for _ in range(size)])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines = vectors @ vectors.T
        relevance = [chance.random() for _ in range(size)]
        found = marginal_relevance(np.array(relevance), cosines, weight=weight)
        assert found == oracle(relevance, cosines.tolist(), weight)
        if weight == 0:
            assert found == sorted(range(size), key=lambda i: -relevance[i])


def test_by_hand() -> None:
    """The second says what the first says; the third is another matter."""
    relevance = np.array([1.0, 0.9, 0.5])
    cosines = np.array([[1.0, 0.95, 0.1], [0.95, 1.0, 0.1], [0.1, 0.1, 1.0]])
    assert marginal_relevance(relevance, cosines, weight=0.1) == [0, 1, 2]
    assert marginal_relevance(relevance, cosines, weight=0.5) == [0, 2, 1]


def test_ties_keep_their_order() -> None:
    assert marginal_relevance(np.ones(4), np.zeros((4, 4)), weight=0.5) == [0, 1, 2, 3]


def test_so_many_of_a_document() -> None:
    hits = passages()
    assert [hit.document for hit in hits] == [1, 1, 2, 2, 3, 3]
    assert PerDocument(1).refine("q", hits) == [hits[0], hits[2], hits[4]]
    assert PerDocument(2).refine("q", hits) == hits
    assert PerDocument(1).refine("q", []) == []


@pytest.fixture
def store(fresh_database: str) -> Iterator[PostgresStore]:
    with connect(fresh_database) as conn:
        migrate(conn)
    pool = open_pool(fresh_database)
    yield PostgresStore(pool)
    pool.close()


def test_a_search_is_told_apart_by_the_stored_vectors(store: PostgresStore) -> None:
    embedder = FakeEmbedder()
    texts = ["cats sleep long", "cats sleep long indeed", "oil is cheap", "wheat too"]
    fill(store, embedder, [new_document(f"{n}.md", text) for n, text in enumerate(texts)])
    vector = embedder.embed_query("cats sleep long")
    with store.snapshot() as reader:
        nearest = reader.nearest("default", embedder.space, vector, 4)
        found = reader.hits([chunk for chunk, _ in nearest])
    scored = [_scored(hit, 1 - n / 10) for n, hit in enumerate(found)]
    assert [hit.uri for hit in scored[:2]] == ["0.md", "1.md"]
    left = Diversify(store, "default", weight=0.6).refine("q", scored)
    assert left[0].uri == "0.md"
    assert left[-1].uri == "1.md"  # it says what the first says
    assert sorted(left, key=lambda hit: hit.chunk) == sorted(scored, key=lambda hit: hit.chunk)
    gone = [*scored, _scored(scored[0], 0.1, chunk=10**9)]
    assert len(Diversify(store, "default", weight=0.6).refine("q", gone)) == 5
    assert Diversify(store, "default", weight=0.6).refine("q", scored[:1]) == scored[:1]


def test_no_model_is_asked_for_vectors_that_are_stored(store: PostgresStore) -> None:
    """A search by words alone never loads one, and is told apart all the same."""
    texts = ["cats sleep long", "cats sleep long indeed", "wheat for cats"]
    fill(store, FakeEmbedder(), [new_document(f"{n}.md", text) for n, text in enumerate(texts)])
    unloaded = FakeEmbedder()
    kb = KnowledgeBase(store, unloaded, ExtractiveGenerator(), collection="default")
    before = [hit.uri for hit in kb.search("cats sleep long", mode="lexical")]
    assert before == ["0.md", "1.md", "2.md"]
    kb.refinements = build.refinements(Settings(diversity=1.0), store, "default")
    assert [hit.uri for hit in kb.search("cats sleep long", mode="lexical")] == [
        "0.md", "2.md", "1.md",
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="call load"):
        _ = unloaded.space


def test_without_vectors_the_order_stays(store: PostgresStore) -> None:
    store.create_collection("empty")
    assert Diversify(store, "empty", weight=0.6).refine("q", passages()) == passages()


def _scored(hit: Hit, score: float, chunk: int | None = None) -> Hit:
    from dataclasses import replace

    return replace(hit, score=score, chunk=hit.chunk if chunk is None else chunk)
