"""Exact offsets from the real tokenizer, and what the model folder says about its limit."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.embed.find import find_model
from ragkit.embed.tokens import Tokens, load_tokens
from ragkit.errors import ModelError
from ragkit.types import Span


@lru_cache
def minilm() -> Tokens:
    return load_tokens(find_model("all-MiniLM-L6-v2").folder)


@pytest.fixture
def tokens() -> Tokens:
    return minilm()


def test_spans_are_the_models_tokens(tokens: Tokens) -> None:
    text = "Unbelievable, 中文 né"
    spans = tokens.spans(text)
    assert [text[s.start : s.end] for s in spans] == ["Unbelievable", ",", "中", "文", "né"]
    assert spans[0] == Span(0, 12)
    assert list(spans[1:3]) == [Span(12, 13), Span(14, 15)]


def test_no_text_has_no_tokens(tokens: Tokens) -> None:
    assert len(tokens.spans("")) == 0
    assert len(tokens.spans(" \n")) == 0


def test_ids_frame_the_text_with_special_tokens(tokens: Tokens) -> None:
    assert tokens.ids(["hello world"]) == [[101, 7592, 2088, 102]]


def test_a_text_cannot_speak_special_tokens(tokens: Tokens) -> None:
    assert 102 not in tokens.ids(["a [SEP] b"])[0][1:-1]
    assert len(tokens.spans("[SEP]")) == 3


def test_a_long_query_is_cut_between_its_special_tokens(tokens: Tokens) -> None:
    ids = tokens.cut_ids("hello " * 1_000_000)
    assert (len(ids), ids[0], ids[1], ids[-2], ids[-1]) == (256, 101, 7592, 7592, 102)


@pytest.mark.parametrize("unit", ["hello world. ", "中文，", "naïve\n"])
def test_a_text_in_many_pieces_has_the_tokens_of_the_whole(tokens: Tokens, unit: str) -> None:
    text = unit * 4000
    whole = tokens.tokenizer.encode(text, add_special_tokens=False).offsets
    assert [(s.start, s.end) for s in tokens.spans(text)] == whole


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(), max_size=300))
def test_spans_lie_in_order_within_any_text(text: str) -> None:
    spans = list(minilm().spans(text))  # lone surrogates included
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)


def test_only_text_cut_beside_a_mark_counts_as_separable(tokens: Tokens) -> None:
    assert tokens.spans("word " * 4000).separable
    assert not tokens.spans("w" * 20_000).separable


def model_folder(tmp_path: Path, files: Mapping[str, Mapping[str, object]]) -> Path:
    source = find_model("all-MiniLM-L6-v2").folder
    (tmp_path / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(dict(content)), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"sentence_bert_config.json": {"max_seq_length": 128}}, 128),
        ({"config.json": {"model_type": "bert", "max_position_embeddings": 512}}, 512),
        (
            {
                "config.json": {
                    "model_type": "xlm-roberta",
                    "max_position_embeddings": 514,
                    "pad_token_id": 1,
                }
            },
            512,
        ),
        (
            {
                "config.json": {"max_position_embeddings": 32768},
                "tokenizer_config.json": {"model_max_length": 8192},
            },
            8192,
        ),
    ],
)
def test_the_limit_is_read_from_the_folder(
    tmp_path: Path, files: Mapping[str, Mapping[str, object]], limit: int
) -> None:
    assert load_tokens(model_folder(tmp_path, files)).limit == limit


def test_lower_casing_asked_for_by_the_sentence_config_is_done(tmp_path: Path) -> None:
    config = {"max_seq_length": 128, "do_lower_case": True}
    folder = model_folder(tmp_path, {"sentence_bert_config.json": config})
    assert load_tokens(folder).ids(["HELLO"]) == [[101, 7592, 102]]


def test_a_folder_without_limit_or_tokenizer_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no tokenizer\.json: save"):
        load_tokens(tmp_path)
    with pytest.raises(ModelError, match="does not say how many tokens"):
        load_tokens(model_folder(tmp_path, {}))
