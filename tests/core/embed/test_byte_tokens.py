"""Counting bytes in the place of tokens: never fewer than a real tokenizer counts."""

import pytest

from ragkit.embed.byte_tokens import SPECIAL, byte_spans
from ragkit.embed.find import MINILM, default_model, find_model
from ragkit.embed.tokens import load_tokens

TEXTS = [
    "The quick brown fox; jumps: twice!",
    "航空公司 的 2024 年报。",
    "ﷺ ㍿ ﬁ ½ ™ İ ß 😀 é e\u0301",
    "한국어 日本語 עברית",
    "aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ= 0123456789abcdef",
    "\u200b\u00a0\u3000\ud800",
    "a" * 300,
]


def test_a_character_has_as_many_tokens_as_bytes() -> None:
    assert [len(byte_spans(text)) for text in ("", "a", "é", "航", "😀", "\ud800")] == [
        0, 1, 2, 3, 4, 3,
    ]  # fmt: skip


def test_a_character_that_becomes_several_counts_as_them() -> None:
    assert len("㍿".encode()) == 3
    assert len(byte_spans("㍿")) == 12  # 株式会社


def test_a_space_counts_only_where_a_vocabulary_may_have_it_apart() -> None:
    assert len(byte_spans("a b 7")) == 3
    assert len(byte_spans("a 航")) == 5
    assert len(byte_spans("a  b\n")) == 4  # the first space and the line's end
    assert [(span.start, span.end) for span in byte_spans("a ")] == [(0, 1)]


@pytest.mark.parametrize("model", [MINILM, default_model()])
@pytest.mark.parametrize("text", TEXTS)
def test_no_tokenizer_counts_more(model: str, text: str) -> None:
    tokens = load_tokens(find_model(model).folder)
    assert len(tokens.ids([text])[0]) + tokens.special <= len(byte_spans(text)) + SPECIAL
