"""LangChain's own standard suites over the real database, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)
from pydantic import SecretStr

from ragkit import KnowledgeBase, Settings
from ragkit.adapters.langchain import RagkitEmbeddings, RagkitRetriever, RagkitVectorStore
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.errors import ModelError, QueryError, UsageError
from ragkit.store.open import Database, open_database
from ragkit.testing import CORPUS, FakeEmbedder, fill


@pytest.fixture
def database(fresh_database: str) -> Iterator[Database]:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as opened:
        yield opened


@pytest.fixture
def store(database: Database) -> RagkitVectorStore:
    return RagkitVectorStore(RagkitEmbeddings(FakeEmbedder()), database=database)


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, database: Database) -> VectorStore:
        return RagkitVectorStore(self.get_embeddings(), database=database)


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def filled(self, database: Database) -> None:
        embedder = FakeEmbedder()
        store = database.store("default")
        fill(store, embedder, CORPUS)
        type(self).knowledge_base = KnowledgeBase(
            store, embedder, ExtractiveGenerator(lambda terms: {}), collection="default"
        )

    knowledge_base: KnowledgeBase

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return RagkitRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"knowledge_base": self.knowledge_base}

    @property
    def retriever_query_example(self) -> str:
        return "how many days of leave, 差旅报销"

    def test_a_passage_says_where_it_stands(self) -> None:
        retriever = RagkitRetriever(knowledge_base=self.knowledge_base, k=1)
        [found] = retriever.invoke("sick leave doctor's note")
        text = next(new.text for new in CORPUS if new.uri == found.metadata["uri"])
        assert text[found.metadata["start"] : found.metadata["end"]] == found.page_content
        assert found.metadata["scores"]["lexical"] > 0

    def test_filter_and_mode(self) -> None:
        only = RagkitRetriever(
            knowledge_base=self.knowledge_base,
            mode="lexical",
            where={"eq": {"uri": "wings.md"}},
        )
        found = only.invoke("the wing and the leave")
        assert {document.metadata["uri"] for document in found} == {"wings.md"}
        written = RagkitRetriever(knowledge_base=self.knowledge_base, where="uri = 'leave.md'")
        assert {one.metadata["uri"] for one in written.invoke("wing")} == {"leave.md"}
        with pytest.raises(QueryError, match="no word"):
            only.invoke("?")


class TestEmbeddings(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return RagkitEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": FakeEmbedder()}


def test_documents_come_back_as_they_were_given(store: RagkitVectorStore) -> None:
    given = Document(
        page_content="The delta wing stalls late.",
        metadata={"year": 1958, "tags": ["wing", "stall"], "draft": False, "by": "NACA", "n": None},
        id="report-1",
    )
    assert store.add_documents([given]) == ["report-1"]
    assert store.similarity_search("delta wing", k=1) == [given]
    assert store.get_by_ids(["report-1"]) == [given]


def test_filters_of_ragkit(store: RagkitVectorStore) -> None:
    texts = ["the wing of 1958", "the wing of 1962", "the wing of 1971"]
    years = [{"year": int(text[-4:])} for text in texts]
    store.add_texts(texts, years, ids=["a", "b", "c"])
    found = store.similarity_search("wing", k=3, filter={"gte": {"year": 1960}})
    assert sorted(document.id or "" for document in found) == ["b", "c"]
    vector = store.embeddings.embed_query("the wing of 1958")
    assert store.similarity_search_by_vector(vector, k=1)[0].id == "a"
    nearest = store.similarity_search_by_vector(vector, k=1, filter={"gt": {"year": 1958}})
    assert nearest[0].id in {"b", "c"}
    with pytest.raises(QueryError, match="no operator"):
        store.similarity_search("wing", filter={"year": 1958})


def test_scores_are_cosines(store: RagkitVectorStore) -> None:
    store.add_texts(["delta wing", "annual leave"], ids=["a", "b"])
    scored = store.similarity_search_with_score("delta wing", k=2)
    assert (scored[0][0].id, round(scored[0][1], 2)) == ("a", 1.0)
    assert scored[0][1] > scored[1][1]
    relevance = store.similarity_search_with_relevance_scores("delta wing", k=2)
    assert all(0 <= score <= 1 for _, score in relevance)
    words = store.similarity_search_with_score("annual leave", k=2, mode="lexical")
    assert [document.id for document, _ in words] == ["b"]


def test_marginal_relevance_prefers_what_differs(store: RagkitVectorStore) -> None:
    store.add_texts(["delta wing", "delta wing wing", "delta leave"], ids=["a", "b", "c"])
    alike = store.max_marginal_relevance_search("delta wing", k=2, lambda_mult=1)
    apart = store.max_marginal_relevance_search("delta wing", k=2, lambda_mult=0)
    assert [document.id for document in alike] == ["a", "b"]
    assert [document.id for document in apart] == ["a", "c"]


def test_ids_and_deletion(store: RagkitVectorStore) -> None:
    made = store.add_texts(["one wing", "two wings"])
    assert len(set(made)) == 2
    assert store.add_texts(["first", "second"], ids=["x", "x"]) == ["x", "x"]
    assert [document.page_content for document in store.get_by_ids(["x"])] == ["second"]
    assert store.delete(["nobody", made[0]])
    assert [document.id for document in store.get_by_ids([*made, "x"])] == [made[1], "x"]
    assert store.delete()
    assert store.similarity_search("wing", k=5) == []


def test_a_single_text_or_id_is_not_taken_apart(store: RagkitVectorStore) -> None:
    assert store.add_texts("风", ids="b") == ["b"]  # type: ignore[arg-type]
    assert [document.page_content for document in store.get_by_ids("b")] == ["风"]
    store.delete("b")
    assert store.get_by_ids(["b"]) == []


def test_what_cannot_be_kept_is_refused_and_nothing_of_it_stays(store: RagkitVectorStore) -> None:
    with pytest.raises(UsageError, match="'b' has no text"):
        store.add_texts(["wing", " "], ids=["a", "b"])
    with pytest.raises(UsageError, match="2 texts, 1 metadata and 2 ids"):
        store.add_texts(["wing", "tail"], [{}], ids=["a", "b"])
    with pytest.raises(UsageError, match="'a' are no JSON"):
        store.add_texts(["wing"], [{"when": object()}], ids=["a"])
    assert store.get_by_ids(["a", "b"]) == []


def test_what_has_not_changed_is_not_embedded_again(store: RagkitVectorStore) -> None:
    embedded: list[str] = []

    model = store._embedder
    embed_all = model.embed_passages

    def embed(texts: Sequence[str]) -> Any:
        embedded.extend(texts)
        return embed_all(texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "embed_passages", embed)
        store.add_texts(["wing", "tail"], [{"n": 1}, {"n": 1}], ids=["a", "b"])
        store.add_texts(["wing", "tail", "nose"], [{"n": 1}, {"n": 2}, {}], ids=["a", "b", "c"])
        assert embedded == ["wing", "tail", "tail", "nose"]
    assert [document.metadata for document in store.get_by_ids(["a", "b"])] == [{"n": 1}, {"n": 2}]


def test_private_data_is_masked_in_texts_and_metadata(store: RagkitVectorStore) -> None:
    text, metadata = "Write to bob@example.com.", {"of": ["ann@example.com", 7], "n": {"x": None}}
    store.add_texts([text], [metadata], ids=["a"])
    store._store.set_ingest_options("langchain", {"mask": "email"})
    store.add_texts([text], [metadata], ids=["a"])  # the same, made anew
    hidden = {"n": {"ann@exam\u200bple.com": 1, 2: "two"}}
    store.add_texts([text], [hidden], ids=["b"])
    [kept, other] = store.get_by_ids(["a", "b"])
    assert other.metadata == {"n": {"[EMAIL]": 1, "2": "two"}}
    assert kept.page_content == "Write to [EMAIL]."
    assert kept.metadata == {"of": ["[EMAIL]", 7], "n": {"x": None}}
    assert store.similarity_search("bob@example.com", k=1, mode="lexical") == []


class Zeros(DeterministicFakeEmbedding):
    """A model whose vectors cannot be kept."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0] * self.size for _ in texts]


def test_another_model_of_langchain(database: Database) -> None:
    with pytest.raises(ModelError, match="zeros, NaN or infinite"):
        RagkitVectorStore(Zeros(size=8), database=database).add_texts(["wing"])


def test_from_texts_opens_what_the_settings_name(fresh_database: str) -> None:
    store = RagkitVectorStore.from_texts(
        ["the delta wing", "annual leave"],
        RagkitEmbeddings(FakeEmbedder()),
        ids=["a", "b"],
        settings=Settings(database_url=SecretStr(fresh_database)),
        collection="notes",
    )
    retriever = store.as_retriever(search_kwargs={"k": 1})
    assert [document.id for document in retriever.invoke("delta")] == ["a"]


@pytest.mark.parametrize("there", [False, True])
def test_from_texts_that_fails_leaves_no_collection_that_it_made(
    database: Database, there: bool
) -> None:
    if there:
        database.store("default").create_collection("notes")

    def fail() -> None:
        RagkitVectorStore.from_texts(["wing"], Zeros(size=8), database=database, collection="notes")

    with pytest.raises(ModelError, match="zeros, NaN or infinite"):
        fail()
    assert [one.name for one in database.store("default").collections()] == ["notes"] * there


def test_what_from_texts_opened_is_closed_when_it_fails(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Database] = []

    def opening(settings: Settings) -> Database:
        opened.append(open_database(settings))
        return opened[-1]

    monkeypatch.setattr("ragkit.store.open.open_database", opening)
    settings = Settings(database_url=SecretStr(fresh_database))
    with pytest.raises(ModelError, match="zeros, NaN or infinite"):
        RagkitVectorStore.from_texts(["wing"], Zeros(size=8), settings=settings)
    assert [database.pool.closed for database in opened] == [True]


def test_many_documents_are_one_transaction_each_thousand(store: RagkitVectorStore) -> None:
    texts = [f"wing number {n}" for n in range(1500)]
    ids = [f"w{n}" for n in range(1500)]
    store.add_texts(texts, ids=ids)
    assert [document.page_content for document in store.get_by_ids(ids)] == texts
    [found] = store.similarity_search("number 7", k=1, mode="lexical")
    assert found.id == "w7"
