"""The fakes pass the suites that ragkit ships, and are themselves what their docstrings say."""

import subprocess
import sys

import numpy as np
import pytest

from ragkit.contracts import Embedder, Generator, Reranker, Retriever, Store
from ragkit.errors import ModelError
from ragkit.testing import (
    CORPUS,
    EmbedderConformance,
    FakeEmbedder,
    FakeGenerator,
    FakeReranker,
    FakeRetriever,
    FakeStore,
    GeneratorConformance,
    RerankerConformance,
    RetrieverConformance,
    StoreConformance,
    fill,
    passages,
)
from ragkit.types import Draft


class TestFakeEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return FakeEmbedder()


class TestFakeReranker(RerankerConformance):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return FakeReranker()


class TestFakeRetriever(RetrieverConformance):
    @pytest.fixture
    def retriever(self) -> Retriever:
        return FakeRetriever(passages(CORPUS))


class TestFakeGenerator(GeneratorConformance):
    @pytest.fixture
    def generator(self) -> Generator:
        return FakeGenerator()


class TestFakeStore(StoreConformance):
    @pytest.fixture
    def store(self) -> Store:
        return FakeStore()


def test_fake_embedder_counts_words_and_chinese_characters() -> None:
    spans = FakeEmbedder().token_spans("Hello, 航空 x")
    assert [(span.start, span.end) for span in spans] == [(0, 6), (7, 8), (8, 9), (10, 11)]


def test_fake_embedder_is_the_same_everywhere() -> None:
    embedder = FakeEmbedder(dimension=8)
    embedder.load()
    # printf wing | gzip -c | tail -c 8 | od -An -tx4 -N4: b8020544, 7c37b45d for tail; modulo 8
    assert embedder.embed_query("wings, wing").tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
    assert np.flatnonzero(embedder.embed_query("wing tail")).tolist() == [4, 5]


def test_fake_embedder_names_both_lengths() -> None:
    embedder = FakeEmbedder(max_tokens=2)
    embedder.load()
    with pytest.raises(ModelError, match="3 tokens, 2 fit"):
        embedder.embed_passages(["one two three"])


def test_fake_embedder_wants_to_be_loaded() -> None:
    with pytest.raises(AssertionError, match="load"):
        FakeEmbedder().embed_query("wing")


def test_fake_retriever_ranks_by_shared_terms() -> None:
    hits = FakeRetriever(passages(CORPUS)).search("sick leave", k=5)
    assert [hit.text for hit in hits] == ["Sick leave needs a doctor's note from the third day on."]


def test_fake_generator_quotes_one_sentence() -> None:
    *pieces, draft = FakeGenerator().generate("When do unused days lapse?", passages(CORPUS))
    assert pieces == ["Unused days lapse at the end of March.", " [1]"]
    assert isinstance(draft, Draft)
    (citation,) = draft.citations
    assert (citation.n, citation.document, citation.uri) == (1, 2, "leave.md")
    assert CORPUS[1].text[citation.start : citation.end] == pieces[0]


def test_fake_generator_refuses_what_no_passage_shares_a_word_with() -> None:
    (draft,) = FakeGenerator().generate("Mongolia?", passages(CORPUS))
    assert isinstance(draft, Draft)
    assert draft.refused


def test_fill_puts_documents_into_a_collection() -> None:
    store = FakeStore()
    stored = fill(store, FakeEmbedder(), CORPUS, "notes")
    assert [(d.uri, d.version, d.chunks) for d in stored] == [
        ("wings.md", 1, 2),
        ("leave.md", 1, 2),
        ("差旅.md", 1, 2),
    ]
    assert store.text(stored[0].id)[13:14] == "🛩"


def test_fakes_do_not_need_pytest() -> None:
    code = (
        "import sys; from ragkit.testing import FakeStore, FakeEmbedder, FakeGenerator, fill;"
        "print('pytest' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
