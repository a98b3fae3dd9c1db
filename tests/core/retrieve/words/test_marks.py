"""What counts as a mark in a query, and what is an ordinary sign."""

import pytest

from ragkit.retrieve.words.marks import Demand, read_marks


@pytest.mark.parametrize(
    ("query", "wanted", "unwanted"),
    [
        ('what is "force majeure"?', ["force majeure"], []),
        ('"one two" "three"', ["one two", "three"], []),
        ("“合同法”的规定", ["合同法"], []),
        ("「合同法」と『民法』", ["合同法", "民法"], []),
        ("什么是＂合同法＂", ["合同法"], []),
        ('什么是"合同法"？', ["合同法"], []),
        ("wing +tail -rudder", ["tail"], ["rudder"]),
        ("wing ＋尾翼 －方向舵", ["尾翼"], ["方向舵"]),
        ("wing −rudder", [], ["rudder"]),
        ('wing -"landing gear" +"tail plane"', ["tail plane"], ["landing gear"]),
        ("合同 -“劳动合同”", [], ["劳动合同"]),
        ("wing +state-of-the-art, please", ["state-of-the-art,"], []),
        ("a -税 b", [], ["税"]),
        ("股票 -A股", [], ["A股"]),
    ],
)
def test_marks(query: str, wanted: list[str], unwanted: list[str]) -> None:
    found = read_marks(query).demands
    assert [one.text for one in found if one.required] == wanted
    assert [one.text for one in found if not one.required] == unwanted


@pytest.mark.parametrize(
    "query",
    [
        "state-of-the-art wing",
        "wing - tail",
        "wing -- tail",
        "--verbose flag",
        "what does -v do",
        "at -5 degrees",
        "call +49 30 1234",
        "C++ and C# and c+",
        "a+b -",
        '5" pipe and 6" pipe',
        'an open " quote',
        '"" and “”',
        '"…" wing',
        "中文-英文词典",
        "第1-5章",
        "-rudder",
        '-"landing gear" -tail',
        "+",
        "2020-05-06",
        'pasted\n"text" of -several +lines',
        '"quoted" ' + "long " * 100,
        "don't 'quote' this",
    ],
)
def test_signs_that_mean_nothing(query: str) -> None:
    found = read_marks(query)
    assert found.demands == ()
    assert found.text == query


def test_what_is_excluded_is_not_searched_for() -> None:
    found = read_marks("wing -rudder +tail")
    assert found.text.split() == ["wing", "+tail"]
    assert found.demands == (Demand("rudder", False), Demand("tail", True))
