"""A text's tokens, estimated."""

from __future__ import annotations

from ragkit.text.length import estimate_tokens


def test_estimate_counts_every_cjk_character_and_digit() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("航空公司，2024") == 9
    assert estimate_tokens("abcdefg") == 3
