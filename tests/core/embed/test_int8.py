"""The default model in products of 8-bit integers against itself in float32."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ragkit.embed import bundled
from ragkit.embed.bert import Pooling, load_bert
from ragkit.embed.find import find_model, read_tensors
from ragkit.embed.int8 import RANGES, Int8Encoder, load_int8, quantize
from ragkit.embed.local import LocalEmbedder
from ragkit.embed.neutral import parallel_texts
from ragkit.embed.precision import is_int8_fastest
from ragkit.errors import ModelError

# None of them is among the texts that the ranges come from.
TEXTS = (
    "The laundry room is open from 7 am to 10 pm; tokens cost 2 euros at the porter's lodge.",
    "Wind speed at the runway exceeded 35 knots, and all departures were delayed until noon.",
    "\u672c\u6821\u56fe\u4e66\u9986\u6bcf\u5929\u65e9\u4e0a\u516b\u70b9\u5f00\u95e8\uff0c\u665a\u4e0a\u5341\u70b9\u5173\u95e8\u3002",
    "\u8acb\u5728\u4e09\u5929\u5167\u4ee5\u66f8\u9762\u63d0\u51fa\u7533\u8acb\uff0c\u903e\u671f\u4e0d\u4e88\u53d7\u7406\u3002",
    "E17: replace the filter (part 4471-B), then hold RESET for 5 s. " * 20,
    "how long do I have to appeal",
)

pytestmark = pytest.mark.skipif(
    bundled.bundled_file() is None or not is_int8_fastest(),
    reason="no package of the default model, or no int8 products on this machine",
)


@pytest.fixture(scope="module")
def folder() -> Path:
    return find_model(bundled.NAME).folder


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "model"))


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> LocalEmbedder:
    """The default model in floating-point."""
    with monkeypatch.context() as patched:
        patched.setattr("ragkit.embed.int8.is_int8_fastest", lambda: False)
        embedder = LocalEmbedder()
        embedder.load()
    return embedder


def test_the_default_model_is_loaded_so() -> None:
    assert isinstance(load_int8(find_model(bundled.NAME).folder), Int8Encoder)


def test_a_program_gives_the_same_vectors() -> None:
    embedder = LocalEmbedder()
    queries = [embedder.embed_query(text) for text in TEXTS]
    passages = embedder.embed_passages(TEXTS[:2] * 2 + TEXTS[3:4])
    embedder.load_program()
    for text, vector in zip(TEXTS, queries, strict=True):
        assert np.array_equal(embedder.embed_query(text), vector)
    assert np.array_equal(embedder.embed_passages(TEXTS[:2] * 2 + TEXTS[3:4]), passages)
    embedder.load_program()  # a second time changes nothing
    assert np.array_equal(embedder.embed_query(TEXTS[0]), queries[0])


def test_vectors_are_those_of_floating_point(exact: LocalEmbedder) -> None:
    embedder = LocalEmbedder()
    cosines = (embedder.embed_passages(TEXTS) * exact.embed_passages(TEXTS)).sum(axis=1)
    assert 0.995 < cosines.min() < 0.9999, cosines  # it is another format
    for text in TEXTS:
        assert embedder.embed_query(text) @ exact.embed_query(text) > 0.99


def test_a_vector_does_not_depend_on_its_neighbours() -> None:
    embedder = LocalEmbedder()
    texts = [*TEXTS, *parallel_texts()[0][1], *parallel_texts()[1][1]]
    together = embedder.embed_passages(texts)
    alone = np.stack([embedder.embed_passages([text])[0] for text in texts])
    cosines = (together * alone).sum(axis=1)
    assert cosines.min() > 0.9995
    assert np.median(cosines) > 0.99999


def test_padding_and_pooling_are_those_of_floating_point(folder: Path) -> None:
    encoder, plain = load_int8(folder), load_bert(folder, "cpu", torch.float32)
    assert encoder is not None
    assert plain is not None
    ids = torch.from_numpy(np.random.default_rng(1).integers(5, 200_000, (24, 60)))
    mask = torch.arange(60)[None, :] < torch.arange(2, 50, 2)[:, None]
    similarity = torch.nn.functional.cosine_similarity
    poolings: tuple[Pooling, ...] = ("mean", "cls")
    with torch.inference_mode():
        for pooling in poolings:
            shape = replace(plain.shape, pooling=pooling)
            found = replace(encoder, shape=shape)(ids, mask)
            assert similarity(found, replace(plain, shape=shape)(ids, mask)).min() > 0.99


def test_a_machine_that_gives_other_vectors_takes_floating_point(copied: Path) -> None:
    from safetensors.torch import save_file

    measured = read_tensors(copied / RANGES, copied, "cpu")
    vectors = measured["check.vectors"]
    save_file({**measured, "check.vectors": vectors.flip(0)}, copied / RANGES)
    assert load_int8(copied) is None
    assert LocalEmbedder(str(copied)).embed_query("a").shape == (384,)


def test_a_folder_without_ranges_takes_floating_point(copied: Path) -> None:
    (copied / RANGES).unlink()
    assert load_int8(copied) is None


def test_damaged_ranges_are_one_clear_line(copied: Path) -> None:
    (copied / RANGES).write_bytes(b"damaged")
    with pytest.raises(ModelError, match=rf"ranges\.safetensors cannot .*: remove {copied}"):
        LocalEmbedder(str(copied)).load()


def test_a_column_without_a_range_is_no_division_by_zero(folder: Path) -> None:
    plain = load_bert(folder, "cpu", torch.float32)
    assert plain is not None
    ranges = read_tensors(folder / RANGES, folder, "cpu")
    for name in ranges:
        if name.startswith("encoder."):
            ranges[name][:, ::7] = 0
    encoder = quantize(plain, ranges)
    with torch.inference_mode():
        assert torch.isfinite(encoder(torch.tensor([[0, 9, 99, 999, 2]]), None)).all()


def test_the_ranges_are_of_both_languages() -> None:
    kinds = {kind for kind, _ in parallel_texts()}
    assert kinds == {"passage", "query"}
    assert not {text for _, texts in parallel_texts() for text in texts} & set(TEXTS)
