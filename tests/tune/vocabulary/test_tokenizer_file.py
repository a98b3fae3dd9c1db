"""Configurations whose tokens get new numbers, and the kinds of vocabulary that are told apart."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import pre_tokenizers

from ragkit.errors import ModelError
from ragkit_tune.vocabulary.tokenizer_file import (
    byte_letters,
    merge_pair,
    named_numbers,
    read_vocabulary,
    renumber_settings,
)


def test_settings_name_tokens_by_their_new_numbers() -> None:
    settings = {
        "pad_token_id": 1,
        "eos_token_id": [5, 7],
        "bos_token_id": None,
        "sep_token_id": 9,  # which no token has
        "suppress_tokens": [5, 9],
        "additional_special_tokens": ["<a>", {"content": "<b>"}],
        "hidden_size": 5,
        "text_config": {"pad_token_id": 5, "vocab_size": 5},
        "added_tokens_decoder": {"5": {"content": "<a>"}, "9": {"content": "<c>"}},
    }
    assert renumber_settings(settings, {1: 0, 5: 2, 7: 3}) == {
        "pad_token_id": 0,
        "eos_token_id": [2, 3],
        "bos_token_id": None,
        "sep_token_id": None,
        "suppress_tokens": [2],
        "additional_special_tokens": ["<a>", {"content": "<b>"}],
        "hidden_size": 5,
        "text_config": {"pad_token_id": 2, "vocab_size": 5},
        "added_tokens_decoder": {"2": {"content": "<a>"}},
    }
    assert named_numbers(settings) == {1, 5, 7, 9}


def test_both_forms_of_a_merge_are_read() -> None:
    assert merge_pair("a b") == merge_pair(["a", "b"]) == ("a", "b")


def test_the_letters_of_bytes_are_those_of_the_library() -> None:
    letters = byte_letters()
    assert set(letters.values()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert (letters[32], letters[10], letters[65]) == ("Ġ", "Ċ", "A")


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ({"vocab": [["a", -1.0]], "unk_id": 0}, "Unigram"),
        ({"vocab": {"a": 0}, "merges": []}, "BPE"),
        ({"type": "WordPiece", "vocab": {"a": 0}}, "WordPiece"),
        ({"vocab": {"a": 0}, "max_input_chars_per_word": 100}, "WordPiece"),
    ],
)
def test_a_vocabularys_kind_is_told_even_by_old_files(
    tmp_path: Path, model: dict[str, Any], kind: str
) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model}), "utf-8")
    vocabulary = read_vocabulary(tmp_path)
    assert vocabulary.kind == kind
    assert vocabulary.tokens == {0: "a"}


def test_a_folder_without_a_fast_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no tokenizer\.json: save it with a fast tokenizer"):
        read_vocabulary(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}}', "utf-8")
    with pytest.raises(ModelError, match="is of the kind None: BPE, Unigram and WordPiece"):
        read_vocabulary(tmp_path)
