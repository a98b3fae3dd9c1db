"""The canonical text: what `clean` changes, and what it knows to leave alone."""

import re

import pytest

from ragkit.text.normalise import clean, is_clean


@pytest.mark.parametrize("char", ["\r", "\x85", "\u2028", "\u2029", "\x00", "\ud800"])
def test_what_is_unclean_is_noticed_and_changed(char: str) -> None:
    for text in (char, f"a{char}b", f"航空{char}\n"):
        assert not is_clean(text)
        assert clean(text) != text
        assert is_clean(clean(text))


def test_everything_else_is_left_alone() -> None:
    every = "".join(map(chr, range(1, 0x110000)))
    text = re.sub("[\r\x85\u2028\u2029\ud800-\udfff]", "", every)
    assert is_clean(text)
    assert clean(text) == text
