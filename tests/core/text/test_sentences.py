"""Sentences of English and Chinese, always as exact offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.text.sentences import sentences, starts
from tests.growth import grows_linearly


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rose 3.14 points. Then it fell.", ["It rose 3.14 points.", "Then it fell."]),
        ("He met Mr. Wu at Acme Inc. in May. Why?", ["He met Mr. Wu at Acme Inc. in May.", "Why?"]),
        ('"Stop!" she said.', ['"Stop!"', "she said."]),
        (
            "他来了；我走了，她没走。真的吗？！对。",
            ["他来了；我走了，她没走。", "真的吗？！", "对。"],
        ),
        ("他說：「我不去。」她走了。", ["他說：「我不去。」", "她走了。"]),
        ("她看了《救命！有鬼》后哭了。", ["她看了《救命！有鬼》后哭了。"]),
        ("《快跑！\n他说。", ["《快跑！", "他说。"]),
        ("# A title. With stops\nThe body.", ["# A title. With stops", "The body."]),
        ("Text\n## Next\nmore", ["Text", "## Next", "more"]),
        ("A wrapped\nline. B", ["A wrapped\nline.", "B"]),
        ("- one\n- two\n1. three", ["- one", "- two", "1. three"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "|---|---|", "| 1 | 2 |"]),
        ("One\n\n \nTwo", ["One", "Two"]),
        (" \n\t ", []),
        ("", []),
    ],
)
def test_splits(text: str, expected: list[str]) -> None:
    assert [text[span.start : span.end] for span in sentences(text)] == expected


@given(st.text(alphabet="aB.。！? \n\t《》#-|1é\u3000\U0001f600", max_size=60))
def test_spans_are_trimmed_ordered_and_leave_only_white_space_out(text: str) -> None:
    end = 0
    for span in sentences(text):
        assert text[end : span.start].strip() == ""
        piece = text[span.start : span.end]
        assert piece
        assert piece == piece.strip()
        end = span.end
    assert text[end:].strip() == ""
    assert starts(text) == [span.start for span in sentences(text)]


@pytest.mark.parametrize("piece", ["A. ", "\n", "《", "# ", "。", "x" * 9, ".", '."', "…", "\n "])
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    def read(size: int) -> None:
        text = piece * (size // len(piece)) + "x"
        assert all(span.start < span.end for span in sentences(text))

    assert grows_linearly(read, 32_000)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mr. A came. He left.", [0, 12]),
        ("中文字Mr. 他来。", [0, 7]),  # no abbreviation: it begins within a word
        ("Longer. Next", [0, 8]),
        ("etc. and", [0]),
        ("“Prof. X” said", [0]),
    ],
)
def test_long_words_end_sentences_and_abbreviations_do_not(text: str, found: list[int]) -> None:
    assert starts(text) == found
