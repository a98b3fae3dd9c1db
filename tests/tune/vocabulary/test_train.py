"""Trained vocabularies: texts come back, sizes hold, transformers loads the files."""

from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_tune.vocabulary.density import compare_trained, measure
from ragkit_tune.vocabulary.train import MODELS, Model, train_tokenizer, write_tokenizer
from tests.tune.shrink.tiny_embedders import CHINESE, ENGLISH

TEXTS = [*ENGLISH, *CHINESE]


@pytest.mark.parametrize("model", MODELS)
def test_a_vocabulary_is_trained_written_and_loaded(tmp_path: Path, model: Model) -> None:
    from transformers import AutoTokenizer

    tokenizer = train_tokenizer(TEXTS, 700, model)
    assert 600 < tokenizer.get_vocab_size() <= 700
    write_tokenizer(tokenizer, tmp_path / "out")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "out")
    for text in (ENGLISH[0], CHINESE[0]):
        ids = loaded(text)["input_ids"]
        assert ids == tokenizer.encode(text).ids
        assert (ids[0], ids[-1]) == (0, 2)
    unseen = "Ω 彧 и̯"
    if model == "bpe":
        assert tokenizer.decode(tokenizer.encode(unseen).ids) == unseen
    else:
        assert tokenizer.token_to_id("<unk>") in tokenizer.encode(unseen).ids
    assert loaded.pad_token_id == 1


def test_more_tokens_make_held_out_texts_shorter() -> None:
    small, large = (compare_trained(TEXTS, size, "bpe", None) for size in (300, 700))
    assert small.texts == large.texts == 40
    assert small.characters == large.characters
    assert large.tokens_after < 0.8 * small.tokens_after
    assert small.tokens_before is None
    assert (
        small.text
        == f"{small.tokens_after / small.characters:.3f} tokens a character on 40 held-out"
        + (f" texts of {small.characters:,} characters")
    )


def test_another_models_tokens_are_counted_beside() -> None:
    density = compare_trained(TEXTS, 700, "bpe", "minilm")
    assert density.tokens_before is not None
    assert density.text.startswith(f"{density.tokens_before / density.characters:.3f} to ")
    tokenizer = train_tokenizer(["ab ab ab"], 300, "bpe")
    assert measure(["ab", "ab ab"], tokenizer, tokenizer).text == (
        "0.429 to 0.429 tokens a character (+0.0%) on 2 held-out texts of 7 characters"
    )


def test_sizes_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--size 200 is not between 300 and 1,000,000"):
        train_tokenizer(TEXTS, 200, "bpe")
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match=r"out exists already: name another --out"):
        write_tokenizer(train_tokenizer(TEXTS, 300, "bpe"), tmp_path / "out")
