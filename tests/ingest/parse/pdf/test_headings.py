"""Headings of PDFs without an outline, by size, weight, white and numbers."""

import pytest

from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes
from tests.ingest.pdfs import column, pdf, rule, text

BODY = [
    "The gauge measures the level of the water every sixty seconds",
    "and keeps the last thousand values, which it sends at noon to",
    "the station that it belongs to, or at once when there is alarm.",
]
CHINESE = [
    "雷达水位计每六十秒测量一次水位，并保存最近一千个数值，",
    "每天中午发送到所属的站点，出现警报时立即发送。",
]


def headings(*pages: str) -> list[tuple[int, str]]:
    parsed = parse(pdf(pages))
    return [
        (block.level, parsed.text[block.start : block.end])
        for block in parsed.blocks
        if block.kind == "heading"
    ]


def parse(data: bytes) -> ParsedText:
    return parse_bytes(data, ".pdf")


def body(top: float, *, font: str = "F3") -> str:
    return column(72, top, BODY, font=font)


def test_larger_lines_are_headings_ranked_by_size() -> None:
    page = (
        text(72, 720, "The manual", size=24, font="F3")
        + text(72, 680, "Mounting", size=16, font="F3")
        + body(650)
        + text(72, 590, "Where it is mounted", size=13, font="F4")
        + body(570)
        + text(72, 500, "Cleaning a long and heavy gauge, which", size=16, font="F3")
        + text(72, 481, "two people do together", size=16, font="F3")
        + body(450)
    )
    assert headings(page) == [
        (1, "The manual"),
        (2, "Mounting"),
        (3, "Where it is mounted"),
        (2, "Cleaning a long and heavy gauge, which two people do together"),
    ]


def test_bold_lines_with_white_above_are_headings_and_their_numbers_give_levels() -> None:
    page = (
        text(72, 720, "1 Mounting", font="F4")
        + body(700)
        + text(72, 640, "1.1 The place", font="F4")
        + body(624)
        + text(72, 564, "2 Cleaning", font="F4")
        + body(548)
    )
    assert headings(page) == [(1, "1 Mounting"), (2, "1.1 The place"), (1, "2 Cleaning")]


def test_chinese_headings() -> None:
    page = (
        text(72, 720, "第一章 总则", size=14, font="F6")
        + column(72, 690, CHINESE, font="F5")
        + text(72, 640, "一、适用范围", font="F6")
        + column(72, 620, CHINESE, font="F5")
        + text(72, 570, "第二章 安装", size=14, font="F6")
        + column(72, 540, CHINESE, font="F5")
    )
    assert headings(page) == [(1, "第一章 总则"), (2, "一、适用范围"), (1, "第二章 安装")]


def test_chinese_chapters_in_the_font_of_the_text() -> None:
    page = (
        text(72, 720, "第一章 总则", font="F5")
        + column(72, 690, CHINESE, font="F5")
        + text(72, 640, "第一节 适用范围", font="F5")
        + column(72, 610, [CHINESE[0], "第一章的规定同样适用，", CHINESE[1]], font="F5")
    )
    assert headings(page) == [(1, "第一章 总则"), (2, "第一节 适用范围")]


def test_a_heading_of_a_column_is_seen_beside_the_other_column() -> None:
    lines = ["The first column begins here and", "goes on below, line after line,"] * 6
    page = (
        column(60, 600, lines, size=10, font="F3", step=12)
        + text(300, 600, "Cleaning", size=10, font="F4")
        + column(300, 582, lines, size=10, font="F3", step=12)
    )
    assert headings(page) == [(1, "Cleaning")]


@pytest.mark.parametrize(
    "extra",
    [
        text(72, 600, "A bold line opens this paragraph, and it goes on below in", font="F4")
        + column(72, 586, BODY, font="F3"),
        text(72, 586, "Figure 3: The gauge and its bracket", font="F4") + body(560),
        text(72, 600, "Table 2. Values of the year", size=14, font="F4") + body(570),
        text(300, 600, "17", size=20, font="F4") + body(570),
        text(72, 600, "Note:", font="F4") + body(580),
        text(72, 600, "- Never open the lid", font="F4") + body(580),
        text(72, 600, "J. Writer, director", font="F4"),
        column(72, 600, ["run = gauge.read()", "", "print(run)", ""] * 3, font="F2", size=14),
        text(72, 600, "Item", font="F4") + text(200, 600, "Price", font="F4")
        + text(72, 580, "Gauge", font="F3") + text(200, 580, "none yet", font="F3"),
        text(72, 600, "W", size=40, font="F3") + body(600).replace(" 72 ", " 110 "),
    ],
    ids=["run-in", "figure", "table", "number", "label", "item", "signature", "code", "table head",
         "initial"],
)  # fmt: skip
def test_lines_that_stand_out_and_are_no_headings(extra: str) -> None:
    assert headings(body(720) + extra, body(720), body(600)) == []


def test_a_document_in_one_size_has_no_headings() -> None:
    page = text(72, 720, "1 Mounting") + column(72, 692, BODY) + text(72, 620, "2 Cleaning")
    assert headings(page + column(72, 592, BODY)) == []
    bold = text(72, 720, "1 Mounting", font="F2") + column(72, 692, BODY, font="F2")
    assert headings(bold) == []


def test_running_heads_are_no_headings() -> None:
    page = text(72, 750, "The manual of the gauge", font="F4") + body(700)
    assert headings(page, page) == []


def test_bold_heads_of_a_ruled_table_are_no_headings() -> None:
    page = body(720) + "".join(
        text(x, 600 - 20 * n, cell, font="F3" if n else "F4", size=14)
        for n, row in enumerate([("Code", "Meaning"), ("E1", "Tilt"), ("E2", "Full")])
        for x, cell in zip((76, 176), row, strict=True)
    )
    page += "".join(rule(72, y, 300, y) for y in (614, 594, 574, 554))
    page += "".join(rule(x, 554, x, 614) for x in (72, 172, 300))
    assert headings(page) == []
