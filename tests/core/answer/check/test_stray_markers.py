"""Markers without a source leave the answer, in the stream as in the whole text."""

import random
from collections.abc import Iterable

import pytest

from ragkit.answer.check.stray_markers import remove_stray_markers
from ragkit.text.markers import find_markers
from tests.growth import grows_linearly


def sieved(text: str, sources: int = 3) -> str:
    return joined([text], sources)


def joined(pieces: Iterable[str], sources: int = 3) -> str:
    return "".join(
        piece for piece in remove_stray_markers(pieces, sources) if isinstance(piece, str)
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("They have 25 days [9].", "They have 25 days."),
        ("They have 25 days[9].", "They have 25 days."),
        ("They have 25 days. [9]", "They have 25 days."),
        ("They have 25 days. [9]\nAnd more [1].", "They have 25 days.\nAnd more [1]."),
        ("They have 25 days [1][9].", "They have 25 days [1]."),
        ("They have 25 days [9][1].", "They have 25 days [1]."),
        ("They have 25 days [9] [1] [8].", "They have 25 days [1]."),
        ("They have [9] 25 days.", "They have 25 days."),
        ("They have[9] 25 days.", "They have 25 days."),
        ("They have [9]25 days.", "They have 25 days."),
        ("[9] They have 25 days.", "They have 25 days."),
        ("[1, 9] and [0] and [2-5]", "[1] and and [2, 3]"),
        ("员工有25天年假【9】。每年[4,1]", "员工有25天年假。每年[1]"),
        ("Some 【1†L3-L5】 and 【7†L3-L5】.", "Some 【1†L3-L5】 and."),
        ("[1-999] is none.", "[1] is none."),
        ("a [note] [x] [12345] [ 1 ] [2", "a [note] [x] [12345] [ 1 ] [2"),
        ("An array: [[9]8] and [[1]8]", "An array: […8] and [[1]8]"),
        ("keep  two   blanks \n", "keep  two   blanks \n"),
        ('{"sources": [7, 8], "n": [9]}', '{"sources": [7, 8], "n": [9]}'),
        (' ["a", [9]]', ' ["a", [9]]'),
        ("", ""),
        ("  [", "  ["),
    ],
)
def test_a_number_without_a_source_is_gone(text: str, left: str) -> None:
    assert sieved(text) == left
    assert joined(text) == left  # character by character


def test_without_sources_no_marker_is_left() -> None:
    assert sieved("It is so [1].", sources=0) == "It is so."


ALPHABET = [*"[[[[]]]]】【9123 8 \n,,-†.ab年", "[1]", "[9]", " [2][7]", "[1, 9]", "  ", "[1-4]"]


def test_any_text_cut_anyhow_gives_the_same_without_strays() -> None:
    chance = random.Random(20260301)
    for _ in range(5_000):
        text = "".join(chance.choices(ALPHABET, k=chance.randint(0, 14)))
        whole = sieved(text)
        cuts = sorted(chance.randint(0, len(text)) for _ in range(chance.randint(0, 5)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert joined(pieces) == whole, (text, cuts)
        assert all(1 <= n <= 3 for marker in find_markers(whole) for n in marker.numbers), text
        assert sieved(whole) == whole, text
        kept = [n for marker in find_markers(text) for n in marker.numbers if 1 <= n <= 3]
        assert [n for marker in find_markers(whole) for n in marker.numbers] == kept, text


def test_what_is_no_part_of_a_marker_is_not_held_back() -> None:
    assert list(remove_stray_markers(["The ", "text", " [a", "]", " [1", "]."], 1)) == [
        "The", " text", " [a", "]", " [1]."
    ]  # fmt: skip


@pytest.mark.parametrize("unit", ["[", "[1", " ", "[9]", "[1,", "[9] ", "[1†"])
def test_hostile_texts_take_time_in_proportion(unit: str) -> None:
    assert grows_linearly(lambda size: joined([unit] * (size // len(unit))), 32_000)
    assert grows_linearly(lambda size: sieved(unit * (size // len(unit))), 32_000)
