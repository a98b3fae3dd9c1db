"""The labels of Word's numbered paragraphs: formats, levels that begin anew, restarts, bullets."""

import pytest
from lxml import etree

from ragkit_ingest.parse.office.numbering import Numbering

SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def numbering(*levels: tuple[str, str], start: int = 1, restart: str = "") -> Numbering:
    """Make list "1" of levels (format, label); list "2" counts on with it."""
    written = "".join(
        f'<w:lvl w:ilvl="{depth}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{label}"/></w:lvl>'
        for depth, (form, label) in enumerate(levels)
    )
    return Numbering(
        etree.fromstring(
            f'<w:numbering xmlns:w="{SPACE}">'
            f'<w:abstractNum w:abstractNumId="0">{written}</w:abstractNum>'
            '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
            f'<w:num w:numId="2"><w:abstractNumId w:val="0"/>{restart}</w:num></w:numbering>'
        )
    )


def test_a_deeper_level_begins_anew_after_a_higher_one() -> None:
    lists = numbering(("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "%1.%2(%3)"))
    labels = [lists.label("1", level) for level in (0, 1, 1, 2, 2, 1, 2, 0, 1, 2)]
    assert labels == [
        *("1.", "1.1", "1.2", "1.2(a)", "1.2(b)", "1.3", "1.3(a)"),
        *("2.", "2.1", "2.1(a)"),
    ]


def test_a_level_without_its_higher_one_shows_where_that_would_begin() -> None:
    assert numbering(("decimal", "%1"), ("decimal", "%1.%2"), start=3).label("1", 1) == "3.3"


def test_lists_of_one_kind_count_on_unless_one_restarts() -> None:
    lists = numbering(("decimal", "%1."))
    assert [lists.label(name, 0) for name in "1122"] == ["1.", "2.", "3.", "4."]
    restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    lists = numbering(("decimal", "%1."), restart=restart)
    assert [lists.label(name, 0) for name in "1122"] == ["1.", "2.", "7.", "8."]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("upperRoman", "I II III IV V VI VII VIII IX X"),
        ("lowerLetter", "a b c d e f g h i j"),
        ("decimalZero", "01 02 03 04 05 06 07 08 09 10"),
        ("chineseCounting", "一 二 三 四 五 六 七 八 九 十"),
        ("unheardOf", "1 2 3 4 5 6 7 8 9 10"),
    ],
)
def test_formats(form: str, expected: str) -> None:
    lists = numbering((form, "%1"))
    assert [lists.label("1", 0) for _ in range(10)] == expected.split()


def test_after_z_comes_aa_and_tens_are_said_in_chinese() -> None:
    assert numbering(("upperLetter", "%1"), start=27).label("1", 0) == "AA"
    for count, written in ((11, "十一"), (20, "二十"), (99, "九十九"), (105, "一零五")):
        assert numbering(("chineseCounting", "第%1章"), start=count).label("1", 0) == (
            f"第{written}章"
        )


def test_bullets_and_what_shows_nothing() -> None:
    lists = numbering(("bullet", ""), ("none", "%2"))
    assert lists.label("1", 0) == "-"
    assert lists.label("1", 1) == ""
    assert lists.label("1", 2) is None
    assert lists.label("9", 0) is None
    assert Numbering(None).label("1", 0) is None
