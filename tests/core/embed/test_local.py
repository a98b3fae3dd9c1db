"""The local embedder on a real model: the English one, and what holds for any."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ragkit.contracts import Embedder
from ragkit.embed import find
from ragkit.embed.contract import TokenEmbedder
from ragkit.embed.find import MINILM, default_model, read_json
from ragkit.embed.local import LocalEmbedder, batches
from ragkit.errors import ModelError
from ragkit.rerank.cross_encoder import CrossEncoderReranker
from ragkit.types import EmbeddingSpace

TEXTS = ["A cat sat on the mat.", "", "Lift and drag of a wing. " * 30, "航空公司", "cat"]


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    embedder = LocalEmbedder(MINILM)
    embedder.load()
    return embedder


def test_it_is_an_embedder(embedder: LocalEmbedder) -> None:
    contract: Embedder = embedder  # which mypy checks
    assert len(contract.token_spans("one two")) == 2


def test_space_names_the_packaged_model(embedder: LocalEmbedder) -> None:
    assert embedder.space == EmbeddingSpace("all-MiniLM-L6-v2", "6fceb34132ad", 384)
    assert embedder.max_tokens == 254


def test_the_long_name_is_the_same_space(embedder: LocalEmbedder) -> None:
    assert LocalEmbedder("sentence-transformers/all-MiniLM-L6-v2").space == embedder.space


def test_vectors_have_length_one_and_the_given_order(embedder: LocalEmbedder) -> None:
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0] * 5, abs=1e-5)
    alone = np.stack([embedder.embed_passages([text])[0] for text in TEXTS])
    assert (vectors * alone).sum(axis=1).min() > 0.999


def test_no_texts_have_no_vectors(embedder: LocalEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, 384)


def test_a_query_is_near_what_it_is_about(embedder: LocalEmbedder) -> None:
    scores = embedder.embed_passages(TEXTS) @ embedder.embed_query("Where did the cat sit?")
    assert int(scores.argmax()) == 0


def test_a_passage_over_the_limit_is_refused_and_never_cut(embedder: LocalEmbedder) -> None:
    assert embedder.embed_passages(["x " * 254]).shape == (1, 384)
    with pytest.raises(ModelError, match="has 257 tokens where all-MiniLM-L6-v2 takes 256"):
        embedder.embed_passages(["fine", "x " * 255])


def test_ids_are_embedded_as_the_texts_they_are_of(embedder: LocalEmbedder) -> None:
    contract: TokenEmbedder = embedder  # which mypy checks
    rows = contract.passage_ids(TEXTS)
    assert [len(row) for row in rows] == [7, 0, 210, 4, 1]
    assert rows[4].tolist() == [4937]
    assert np.array_equal(contract.embed_ids(rows), contract.embed_passages(TEXTS))
    assert contract.embed_ids([]).shape == (0, 384)
    assert contract.prefix_ids().tolist() == []


def test_too_many_ids_are_refused(embedder: LocalEmbedder) -> None:
    assert embedder.embed_ids([np.full(254, 4937, np.int32)]).shape == (1, 384)
    with pytest.raises(ModelError, match="a passage has 257 tokens where all-MiniLM-L6-v2 takes"):
        embedder.embed_ids([np.full(255, 4937, np.int32)])


def test_a_long_query_is_cut(embedder: LocalEmbedder) -> None:
    vector = embedder.embed_query("wing " * 100_000)
    assert vector.shape == (384,)
    assert vector @ embedder.embed_query("wing " * 254) == pytest.approx(1.0, abs=1e-5)


def test_lone_surrogates_do_no_harm(embedder: LocalEmbedder) -> None:
    assert embedder.embed_query("a\ud800b").shape == (384,)


def test_vectors_are_those_of_sentence_transformers(embedder: LocalEmbedder) -> None:
    from sentence_transformers import SentenceTransformer

    folder = find.find_model("all-MiniLM-L6-v2").folder
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    expected = model.encode(TEXTS, show_progress_bar=False, normalize_embeddings=True)
    # On processors with bfloat16 the weights are rounded: 0.9999 on the real model.
    assert (embedder.embed_passages(TEXTS) * expected).sum(axis=1).min() > 0.999


def test_a_folder_is_loaded_from_disk(tmp_path: Path, embedder: LocalEmbedder) -> None:
    folder = tmp_path / "my-model"
    folder.symlink_to(embedder_folder(), target_is_directory=True)
    space = LocalEmbedder(str(folder)).space
    assert (space.revision, space.dimension) == ("6fceb34132ad", 384)


def embedder_folder() -> Path:
    return find.find_model("all-MiniLM-L6-v2").folder


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("/no/such/folder", "folder /no/such/folder does not exist"),
        ("no such name!", "neither a folder nor a hub name"),
    ],
)
def test_a_model_that_cannot_be_is_one_clear_line(model: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        LocalEmbedder(model).load()
    assert "\n" not in str(caught.value)


def test_a_folder_without_weights_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no \*\.safetensors: save"):
        LocalEmbedder(str(tmp_path)).load()


def test_a_file_that_is_not_json_is_one_clear_line(tmp_path: Path) -> None:
    assert read_json(tmp_path / "config.json") == {}
    (tmp_path / "config.json").write_bytes(b'{"model_type":\n')
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "tokenizer.json").write_bytes(b"")
    for unread in (
        lambda: read_json(tmp_path / "config.json"),
        CrossEncoderReranker(str(tmp_path)).load,
    ):
        with pytest.raises(ModelError, match=r"config\.json is not JSON \(.*\): fetch") as caught:
            unread()
        assert "\n" not in str(caught.value)


def test_an_unreachable_hub_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot_download(model: str, **options: object) -> str:
        raise FileNotFoundError(f"{model}\nmany lines of advice")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    with pytest.raises(ModelError) as caught:
        LocalEmbedder("someone/unheard-of").load()
    assert str(caught.value) == (
        "embedding model someone/unheard-of is not in the local cache and the hub did not give "
        f"it: check the name and the network, or use a folder or {default_model()}"
    )


def test_a_cached_hub_model_is_named_by_its_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    snapshot = tmp_path / "0123abcd"
    snapshot.symlink_to(embedder_folder(), target_is_directory=True)
    calls: list[dict[str, object]] = []

    def snapshot_download(model: str, **options: object) -> str:
        calls.append(options)
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    space = LocalEmbedder("intfloat/e5-small-v2").space
    assert space == EmbeddingSpace("intfloat/e5-small-v2", "0123abcd", 384, "query: ", "passage: ")
    assert calls == [{"local_files_only": True}]


def test_a_prefix_takes_its_room(tmp_path: Path) -> None:
    folder = tmp_path / "e5-small-v2"
    folder.symlink_to(embedder_folder(), target_is_directory=True)
    embedder = LocalEmbedder(str(folder))
    assert embedder.max_tokens == 252  # 256 less two special tokens, "passage" and ":"
    assert embedder.prefix_ids().tolist() == [6019, 1024]
    assert embedder.passage_ids(["cat"])[0].tolist() == [6019, 1024, 4937]
    assert embedder.embed_passages(["x " * 252]).shape == (1, 384)
    with pytest.raises(ModelError, match="at most 252 tokens"):
        embedder.embed_passages(["x " * 253])


@pytest.mark.parametrize(
    ("lengths", "budget", "expected"),
    [
        ([], 10, []),
        ([3, 9, 4, 2], 10, [[1], [2, 0], [3]]),
        ([50], 10, [[0]]),
        ([2, 2, 2, 2], 8, [[0, 1, 2, 3]]),
    ],
)
def test_batches_stay_within_the_budget(
    lengths: list[int], budget: int, expected: list[list[int]]
) -> None:
    assert list(batches(lengths, budget)) == expected


QUIET = """
import logging, os, sys
before = dict(os.environ), list(logging.getLogger().handlers), logging.getLogger().level
from ragkit.embed.local import LocalEmbedder
loaded = {"torch", "numpy", "tokenizers", "transformers", "huggingface_hub"} & set(sys.modules)
assert not loaded, loaded
assert before[0] == dict(os.environ)
embedder = LocalEmbedder()
embedder.embed_passages(["a", "b c"])
assert "transformers" not in sys.modules
assert before[1:] == (list(logging.getLogger().handlers), logging.getLogger().level)
"""


def test_importing_loads_nothing_and_embedding_says_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUIET], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["minilm", MINILM, f"sentence-transformers/{MINILM}"])
def test_the_english_model_reads_no_chinese_by_any_of_its_names(name: str) -> None:
    embedder = LocalEmbedder(name)
    assert (embedder.model.endswith(MINILM), embedder.reads("房租多少")) == (True, 0.0)
