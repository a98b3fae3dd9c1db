"""Extended vocabularies: shorter texts, equal vectors without a new token, rows that are means."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from ragkit.embed.local import LocalEmbedder
from ragkit.errors import UsageError
from ragkit_tune.vocabulary.extend import extend_model
from tests.tune.shrink.test_vocabulary import peer_vectors
from tests.tune.shrink.tiny_embedders import CHINESE, ENGLISH, KINDS, Kind, write_embedder

# Words that the vocabularies have no token for; Chinese ones where BERT parts no characters.
TEXTS = [
    f"{word} {verb} 反应釜温度传感器" for word in ("Zirconium", "Ytterbium", "zirconium-ytterbium")
    for verb in ("oxidises", "reoxidises", "crystallises", "recrystallises")
]  # fmt: skip
WORDS = "embeddings.word_embeddings.weight"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        write_embedder(folder / kind, kind, layers=1)
    return folder


@pytest.fixture(autouse=True)
def float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit.embed.precision.cpu_precision", lambda: "float32")


def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def plain(old: Tokenizer, kind: Kind, token: str) -> str:
    """Return the text that a token stands for at the beginning of a text."""
    if kind == "BPE":
        return str(old.decoder.decode([token]))
    return token.removeprefix("\u2581")


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_shorter_and_new_rows_are_the_mean_of_the_old(
    models: Path, tmp_path: Path, kind: Kind
) -> None:
    out = tmp_path / "out"
    card, density = extend_model(str(models / kind), TEXTS, 40, out)
    assert density is None
    old, new = tokenizer(models / kind), tokenizer(out)
    before = sum(len(old.encode(text).ids) for text in TEXTS)
    after = sum(len(new.encode(text).ids) for text in TEXTS)
    words = card.notes[0].split()  # "40 new tokens make the texts 312 tokens shorter"
    added, gain = int(words[0]), int(words[6])
    assert gain > 0.3 * before
    if kind == "BPE":  # where the choice is the tokenizer's own way; others may do even better
        assert before - after == gain
    assert before - after >= 0.9 * gain
    rows, extended = (load_file(f / "model.safetensors")[WORDS] for f in (models / kind, out))
    assert torch.equal(extended[: len(rows)], rows)
    assert len(extended) == new.get_vocab_size() == len(rows) + added
    checked = 0
    for number in range(len(rows), len(extended)):
        token = str(new.id_to_token(number))
        text = plain(old, kind, token)
        if new.encode(text).tokens[1:-1] == [token]:
            parts = old.encode(text).ids[1:-1]
            assert torch.allclose(extended[number], rows[parts].mean(0), atol=1e-6)
            checked += 1
    assert checked >= 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_without_a_new_token_has_the_vector_that_it_had(
    models: Path, tmp_path: Path, kind: Kind
) -> None:
    out = tmp_path / "out"
    extend_model(str(models / kind), TEXTS, 40, out)
    old, new = tokenizer(models / kind), tokenizer(out)
    texts = [t for t in (*ENGLISH, *CHINESE) if old.encode(t).ids == new.encode(t).ids]
    assert len(texts) > 50
    before, after = LocalEmbedder(str(models / kind)), LocalEmbedder(str(out))
    assert np.array_equal(before.embed_passages(texts), after.embed_passages(texts))
    every = [*texts, *TEXTS]
    assert np.allclose(after.embed_passages(every), peer_vectors(out, every), atol=2e-6)


def test_the_report_measures_the_half_that_chose_no_token(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    card, density = extend_model(str(models / "BPE"), TEXTS, 25, out, report=True)
    assert density is not None
    assert (density.texts, density.tokens_before is not None) == (6, True)
    assert density.tokens_before is not None
    assert density.tokens_after < 0.7 * density.tokens_before
    assert card.notes[3] == density.text
    assert f"on 6 held-out texts of {density.characters} characters" in density.text
    written = json.loads((out / "card.json").read_text("utf-8"))
    assert written["made_by"] == "tokenizer extend"
    assert written["settings"] == {"add": 25}
    assert json.loads((out / "config.json").read_text("utf-8"))["vocab_size"] == 925


def test_nothing_to_add_is_refused(models: Path, tmp_path: Path) -> None:
    model = str(models / "BPE")
    with pytest.raises(UsageError, match=r"--add 0: name how many tokens to add"):
        extend_model(model, TEXTS, 0, tmp_path / "out")
    with pytest.raises(UsageError, match=r"the texts have no two neighbouring tokens more than"):
        extend_model(model, ["a b c"], 5, tmp_path / "out")
    with pytest.raises(UsageError, match=r"--report holds half of the texts out"):
        extend_model(model, ["a b c"], 5, tmp_path / "out", report=True)
    assert not (tmp_path / "out").exists()
