"""A text's tokens, estimated."""

from __future__ import annotations

from ragkit.text.length import estimate_tokens, most_tokens


def test_estimate_counts_every_cjk_character_and_digit() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("航空公司，2024") == 9
    assert estimate_tokens("abcdefg") == 3


def test_no_text_has_more_tokens_than_its_bytes_in_nfkc_and_one() -> None:
    assert most_tokens("") == 1
    assert most_tokens("ab c") == 5
    assert most_tokens("航空") == 7
    assert most_tokens("\ufdfa") == 1 + len("صلى الله عليه وسلم".encode())
