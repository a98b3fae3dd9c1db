"""The embedder behind a server: the contract, tokens, limits, prefixes and its space."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from ragkit.contracts import Embedder
from ragkit.embed.find import MINILM
from ragkit.embed.local import LocalEmbedder
from ragkit.errors import ModelError, ModelServerError
from ragkit.model import served_embedder
from ragkit.model.embedding_server import EmbeddingServer
from ragkit.model.failover import Tries
from ragkit.model.served_embedder import ServedEmbedder, first_model, identify_served
from ragkit.testing import EmbedderConformance
from ragkit.testing.stub_server.server import StubServer
from ragkit.types import EmbeddingSpace

E5 = "intfloat/multilingual-e5-small"
TEXTS = ["Cats sleep.", "", "航空公司", "the wings of a plane " * 30]


def served(stub: StubServer, name: str | None = None, **options: object) -> ServedEmbedder:
    server = EmbeddingServer(stub.url, tries=Tries(backoff_s=0.001))
    return ServedEmbedder(server, name, **options)  # type: ignore[arg-type]


def inputs(stub: StubServer) -> list[list[str]]:
    """List the batches that a server was asked to embed."""
    return [request.body["input"] for request in stub.requests if request.path == "/v1/embeddings"]


@pytest.fixture(scope="module")
def minilm() -> LocalEmbedder:
    embedder = LocalEmbedder(MINILM)
    embedder.load()
    return embedder


@pytest.fixture(scope="module")
def of_minilm(minilm: LocalEmbedder) -> Iterator[StubServer]:
    """Serve a real model, which has no prefixes."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = minilm.embed_passages(texts).tolist()
        return vectors

    def count(text: str) -> int:
        return len(minilm.token_spans(text)) + 2

    with StubServer(models=[MINILM], max_model_len=None, embed=embed, count=count) as stub:
        yield stub


@pytest.fixture(scope="module")
def stub_512() -> Iterator[StubServer]:
    with StubServer(models=["stub", E5], max_model_len=512) as stub:
        yield stub


class TestByBytes(EmbedderConformance):
    @pytest.fixture
    def embedder(self, stub_512: StubServer) -> Embedder:
        return served(stub_512, "stub")


class TestWithPrefixes(EmbedderConformance):
    @pytest.fixture
    def embedder(self, stub_512: StubServer) -> Embedder:
        return served(stub_512, E5)


class TestWithTokenizer(EmbedderConformance):
    @pytest.fixture
    def embedder(self, of_minilm: StubServer) -> Embedder:
        return served(of_minilm)


def test_a_served_models_vectors_are_those_of_the_model(
    minilm: LocalEmbedder, of_minilm: StubServer
) -> None:
    embedder = served(of_minilm)
    assert np.allclose(embedder.embed_passages(TEXTS), minilm.embed_passages(TEXTS), atol=1e-3)
    assert np.allclose(embedder.embed_query("cats"), minilm.embed_query("cats"), atol=1e-3)
    assert embedder.max_tokens == minilm.max_tokens
    assert list(embedder.token_spans(TEXTS[3])) == list(minilm.token_spans(TEXTS[3]))
    assert embedder.counting == "with the model's tokenizer"


def test_its_space_is_never_that_of_the_local_model(
    minilm: LocalEmbedder, of_minilm: StubServer
) -> None:
    assert served(of_minilm).space == EmbeddingSpace(MINILM, "served", 384)
    assert minilm.space.revision == "6fceb34132ad"
    assert identify_served(E5) == EmbeddingSpace(E5, "served", 0, "query: ", "passage: ")


def test_prefixes_are_sent_with_the_texts() -> None:
    with StubServer(models=[E5], max_model_len=512) as stub:
        embedder = served(stub)
        embedder.embed_passages(["cats", ""])
        embedder.embed_query("cats?")
        assert inputs(stub) == [["a"], ["passage: cats", "passage: "], ["query: cats?"]]
        assert embedder.max_tokens == 512 - 8 - len("passage: ")
        assert embedder.reads("航空") == 1.0
        assert embedder.counting == "every byte as a token"


def test_batches_are_of_bounded_size_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"word{n}" for n in range(70)]
    with StubServer() as stub:
        embedder = served(stub)
        vectors = embedder.embed_passages(texts)
        assert [len(texts) for texts in inputs(stub)] == [1, 32, 32, 6]
        monkeypatch.setattr(served_embedder, "BATCH_CHARS", 20)
        assert np.allclose(embedder.embed_passages(texts), vectors)
        assert max(len(texts) for texts in inputs(stub)[4:]) == 4


def test_the_model_is_the_first_that_embeds() -> None:
    names = ["llama3", "bge-reranker-v2-m3", "nomic-embed-text", "bge-m3"]
    with StubServer(models=names) as stub:
        assert served(stub).name == "nomic-embed-text"
        stub.models = ("some-model",)
        assert first_model(EmbeddingServer(stub.url)) == "some-model"
        stub.models = ()
        with pytest.raises(ModelServerError, match="lists no model: load one, or name it in RAGK"):
            first_model(EmbeddingServer(stub.url))


def test_a_model_of_unknown_length_is_refused_with_the_remedies() -> None:
    with StubServer(max_model_len=None) as stub:
        with pytest.raises(ModelError, match="does not say how many tokens stub reads: set RAGKIT"):
            served(stub).load()
        with pytest.raises(ModelError, match="other reads, and lists stub: set RAGKIT_EMBED_MODEL"):
            served(stub, "other").load()
        assert served(stub, context_tokens=100).max_tokens == 92
        with pytest.raises(ModelError, match="which its prefix and special tokens fill"):
            served(stub, context_tokens=8).load()


def test_the_least_limit_counts_unless_one_is_set(minilm: LocalEmbedder) -> None:
    with StubServer(models=["alias"], max_model_len=128) as stub:
        assert served(stub, tokenizer="minilm").max_tokens == 126
        stub.max_model_len = 512
        assert served(stub, tokenizer="minilm").max_tokens == 254
        assert served(stub, tokenizer="minilm", context_tokens=400).max_tokens == 398


def test_a_named_tokenizer_that_is_not_here_is_refused(tmp_path: Path) -> None:
    with (
        StubServer() as stub,
        pytest.raises(ModelError, match="correct RAGKIT_EMBED_TOKENIZER"),
    ):
        served(stub, tokenizer=str(tmp_path)).load()


def test_a_folder_that_has_the_models_name_by_chance_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stub"
    folder.mkdir()
    (folder / "tokenizer.json").write_text("{}")
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "evil "}}')
    monkeypatch.chdir(tmp_path)
    assert identify_served("stub").query_prefix == ""
    assert identify_served(str(folder)).query_prefix == "evil "


def test_a_server_that_cuts_texts_is_found_out() -> None:
    """The stub counts a token for four characters: fewer than the tokenizer of these."""
    with StubServer(models=[MINILM]) as stub:
        embedder = served(stub)
        with pytest.raises(ModelServerError, match="read 16 tokens of 63: set RAGKIT_EMBED_CONT"):
            embedder.embed_passages(["!?" * 31 + "!"])
        assert len(served(stub, context_tokens=256).embed_passages(["!?" * 31 + "!"])) == 1


def test_leading_dimensions_are_unit_vectors_again() -> None:
    with StubServer() as stub:
        whole = served(stub).embed_passages(["cats and dogs " * 4])[0]
        cut = served(stub, dimension=200)
        assert cut.space.dimension == 200
        first = whole[:200] / np.linalg.norm(whole[:200])
        assert np.allclose(cut.embed_passages(["cats and dogs " * 4])[0], first)
        with pytest.raises(ModelError, match="has 256 dimensions where the first 300 are asked"):
            served(stub, dimension=300).load()


def test_another_model_under_the_same_name_is_found_out_by_its_dimension() -> None:
    with StubServer() as stub:
        embedder = served(stub)
        embedder.load()
        stub.embed = lambda texts: [[1.0, 2.0] for _ in texts]
        with pytest.raises(ModelServerError, match="gave vectors of 2 dimensions after 256"):
            embedder.embed_query("cats")
