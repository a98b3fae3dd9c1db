"""What a run says that it was made with: equal where equal answers can be expected."""

from pydantic import SecretStr

from ragkit import KnowledgeBase, Settings
from ragkit.answer.write.llm import ChatGenerator
from ragkit.stats.cutoff import Cutoff
from ragkit.store.people.calibration import Calibration, Calibrations, space_of
from ragkit.testing import FakeEmbedder, FakeLanguageModel, FakeStore, fill, new_document
from ragkit_eval.rag import model_of
from ragkit_eval.rag.model import corpus, fitted_cutoff


def test_a_knowledge_base_is_described(kb: KnowledgeBase) -> None:
    described = dict(model_of(kb.adapted(mode="lexical", passages=3), decoding=None))
    assert described.pop("corpus") == corpus(kb.store, "default")["corpus"]
    assert described.pop("pipeline")
    assert described == {
        "name": "extractive, lexical",
        "generator": "extractive",
        "mode": "lexical",
        "passages": 3,
        "embedding": "fake-hashed-terms",
        "embedding_revision": "1",
        "collection": "default",
        "cutoff": None,
        "documents": 3,
        "chunks": 6,
        "decoding": None,
    }


def test_what_writes_the_answers_is_named(kb: KnowledgeBase) -> None:
    kb.generator = ChatGenerator(FakeLanguageModel(""))
    assert model_of(kb)["generator"] == "ChatGenerator"
    assert model_of(kb, generator="qwen")["name"] == "qwen, hybrid"


def test_a_corpus_is_its_contents_wherever_they_lie() -> None:
    embedder = FakeEmbedder()
    embedder.load()
    store = FakeStore()
    one, other = new_document("a.md", "One."), new_document("b.md", "Two.")
    for collection, documents in (("x", [one, other]), ("y", [other, one]), ("z", [one])):
        store.create_collection(collection)
        fill(store, embedder, documents, collection)
    assert corpus(store, "x") == corpus(store, "y")
    assert corpus(store, "x")["corpus"] != corpus(store, "z")["corpus"]
    assert corpus(store, "x")["pipeline"] == corpus(store, "z")["pipeline"]


def test_without_a_database_nothing_is_fitted(kb: KnowledgeBase) -> None:
    assert fitted_cutoff(kb) is None


def test_a_fitted_cutoff_is_that_of_its_mode(fresh_database: str) -> None:
    with KnowledgeBase.open(Settings(database_url=SecretStr(fresh_database))) as kb:
        assert kb.database is not None
        kb.store.create_collection("default")
        kb.embedder = FakeEmbedder()
        kept = Calibrations(kb.database.pool, "default")
        cutoff = Cutoff(0.0, (1.0,) * 3, (0.0,) * 3, 0.25)
        kept.save(
            "default",
            Calibration(
                space=space_of(kb.embedder, "lexical"),
                reranker="",
                mode="lexical",
                cutoff=cutoff,
                data_hash="",
                answerable=20,
                unanswerable=20,
                chunks=1,
                auc=0.9,
            ),
        )
        assert fitted_cutoff(kb.adapted(mode="lexical")) == 0.25
        assert fitted_cutoff(kb) is None
