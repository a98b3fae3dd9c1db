"""How an answer is read: markers and their sentences, numbers, quotations."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.answer.check.numbers import find_numbers
from ragkit.answer.check.quotations import find_quotations, fold, locate
from ragkit.text.markers import find_markers, split_statements, without_markers
from tests.growth import grows_linearly


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("A one [1]. B two [2].", [(1,), (2,)]),
        ("A one. [1] B two. [2]", [(1,), (2,)]),
        ("A one.[1] B two.[2]", [(1,), (2,)]),
        ("A one [1]. [2] says B two.", [(1,), (2,)]),
        ("[1] says A one.", [(1,)]),
        ("A one.\n[1]\nB two.\n\n[2] C three.", [(1,), (), (2,)]),
        ("甲一。[1][3] 乙二【2】。", [(1, 3), (2,)]),
        ("- a [1]\n- b [2, 3]\n- c", [(1,), (2, 3), ()]),
        ("A [1][1] b [2；3].", [(1, 2, 3)]),
        ("A 【2†L3-L5】.", [(2,)]),
        ("[1]", []),
        ("", []),
    ],
)  # fmt: skip
def test_markers_belong_to_their_sentence(text: str, cites: list[tuple[int, ...]]) -> None:
    assert [statement.cites for statement in split_statements(text)] == cites


def test_what_is_no_marker() -> None:
    assert find_markers("[2024] [a] [ ] [1234] x[y1] (1) 《1》") == []
    assert [marker.numbers for marker in find_markers("[1-3] [1-999] [ 2 ] [01]")] == [
        (1, 2, 3), (1, 999), (2,), (1,)
    ]  # fmt: skip


@given(st.text(alphabet="ab[]12,【】.。 \n-", max_size=60))
def test_reading_keeps_offsets(text: str) -> None:
    assert len(without_markers(text)) == len(text)
    blank = without_markers(text)
    for statement in split_statements(text):
        assert blank[statement.start : statement.end].strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 1000 1，０００ 0001000.00", ["1e3"] * 4),
        ("1,23 12,3456", ["1e0", "23e0", "12e0", "3456e0"]),
        ("3.5 million 350万 3,500,000", ["35e5"] * 3),
        ("3千克 3千 3000", ["3e0", "3e3", "3e3"]),
        ("2024-03-05 2024年3月5日", ["2024e0", "3e0", "5e0"] * 2),
        ("三百 二十五 十一月 一万二千", ["3e2", "25e0", "11e0", "12e3"]),
        ("一亿零五万 三万亿 二〇二四年 一九九八年", ["10005e4", "3e12", "2024e0", "1998e0"]),
        ("百分之八 百分之百 百分之三十", ["8e0", "1e2", "3e1"]),
        ("一个 十分 万一 千万 百分 三三两两 统一", []),
        ("0 00 0.00 零", ["0", "0", "0"]),
        ("m² ① ⅕ x³", []),
        ("RL-400 B12", ["4e2", "12e0"]),
    ],
)  # fmt: skip
def test_equal_numbers_have_equal_values(text: str, expected: list[str]) -> None:
    assert [number.value for number in find_numbers(text)] == expected


def test_percentages() -> None:
    text = "12% 12 ％ 12 percent 百分之12 百分之十二 10-12% 12"
    assert [number.percent for number in find_numbers(text)] == [True] * 7 + [False]


def test_long_numbers_are_compared_exactly() -> None:
    one, other = find_numbers("1" * 5000 + " " + "1" * 4999 + "2")
    assert one.value != other.value


@given(st.text(alphabet="0123456789,.，%万亿三十百分之 milon-", max_size=40))
def test_numbers_lie_in_the_text_in_order(text: str) -> None:
    found = find_numbers(text)
    assert all(0 <= number.start < number.end <= len(text) for number in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_quotations_of_every_kind() -> None:
    text = (
        '“one two” "three four" 「甲乙丙丁」 『戊己庚辛』 ＂five six＂ 《书名书名》 '
        '"one" “甲乙” 5" x 3" and 2"'
    )
    assert [text[span.start : span.end] for span in find_quotations(text)] == [
        "one two", "three four", "甲乙丙丁", "戊己庚辛", "five six"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("quotation", "source", "found"),
    [
        ("it's  10,000", "said: It’s\n10000!", "It’s\n10000"),
        ("航空公司", "大型航空\n公司。", "航空\n公司"),
        ("very good", "a **very** good one", "very** good"),
        ("A - b", "a – b", "a – b"),
        ("café au lait", "Cafe\u0301 au lait.", "Cafe\u0301 au lait"),
        ("start of it…end", "Start of it, the middle, end.", "Start of it, the middle, end"),
        ("the art", "the article", None),
        ("3 dogs", "13 dogs", None),
        ("5 dogs", "3.5 dogs", None),
        ("is 3", "is 3.5", None),
        ("is 3", "is 3. Then", "is 3"),
        ("dogs run", "cats run; dogs run", "dogs run"),
        ("使用 Python 语言", "请使用Python语言", "使用Python语言"),
        ("…", "anything", None),
        ("ﬁne day", "a fine day", "fine day"),
    ],
)  # fmt: skip
def test_locate(quotation: str, source: str, found: str | None) -> None:
    span = locate(quotation, fold(source))
    assert (source[span.start : span.end] if span else None) == found


@given(st.text(max_size=80), st.integers(0, 80), st.integers(0, 80))
def test_folding_maps_back_into_the_text(text: str, start: int, end: int) -> None:
    folded = fold(text)
    assert len(folded.text) == len(folded.spans)
    assert all(0 <= span.start < span.end <= len(text) for span in folded.spans)
    span = locate(text[start:end], folded)
    assert span is None or 0 <= span.start < span.end <= len(text)


@pytest.mark.parametrize("read", [split_statements, find_numbers, find_quotations])
@pytest.mark.parametrize(
    "unit", ["000,", "[1", '"a b', "“a b", "1. ", "十万", "25 [1]. ", "…", "[1-2] "]
)
def test_hostile_answers_are_read_in_linear_time(read: Callable[[str], object], unit: str) -> None:
    assert grows_linearly(lambda size: read(unit * (size // len(unit))), 32_000)
