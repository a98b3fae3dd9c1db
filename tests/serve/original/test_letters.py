"""Quotations found in a page's characters, whatever cleaning has made of the text."""

from __future__ import annotations

import pytest

from ragkit.types import Span
from ragkit_serve.original.quote_matching import (
    MAX_QUOTE_LETTERS,
    Quote,
    find_quotes,
    letters,
    quote_of,
)


def marked(page: str, quoted: str, before: int = 0) -> list[str]:
    """Return what is marked on a page for a quotation."""
    spans = find_quotes(list(page), [Quote(letters(quoted), before)])
    return [page[span.start : span.end] for span in spans]


@pytest.mark.parametrize(
    ("page", "quoted", "expected"),
    [
        ("Leave: 28 days.", "28 days", "28 days."),
        ("every employee has 28\r\ndays of leave.", "has 28 days of", "has 28\r\ndays of"),
        ("the employ-\r\nment ends", "employment ends", "employ-\r\nment ends"),
        ("of\ufb01ce \ufb02oor", "office floor", "of\ufb01ce \ufb02oor"),
        ("ＲＬ４００ gauge", "RL400 gauge", "ＲＬ４００ gauge"),
        ("RL400 gauge", "ＲＬ４００ gauge", "RL400 gauge"),
        ("café Zoë", "cafe\u0301 Zoe\u0308", "café Zoë"),
        ("cafe\u0301 noir", "café noir", "cafe\u0301 noir"),
        ("年 假 为 28 天。其他", "年假为28天。", "年 假 为 28 天。"),
        ("⼀年⾦额", "一年金额", "⼀年⾦额"),
        ("STRASSE", "Straße", "STRASSE"),
        ("a | b | c", "b | c", "b | c"),
    ],
)
def test_spaces_hyphens_ligatures_and_widths_do_not_matter(
    page: str, quoted: str, expected: str
) -> None:
    assert marked(page, quoted) == [expected]


def test_of_equal_sentences_the_one_that_is_cited_is_marked() -> None:
    page = "Doors: see 4.2. Alarms: see 4.2. Oil: see 4.2."
    start = page.index("see", page.index("Alarms"))
    quote = quote_of(page, Span(start, start + len("see 4.2")))
    assert quote == Quote("see42", before=1)
    assert find_quotes(list(page), [quote]) == [Span(start, start + len("see 4.2."))]


def test_where_the_page_has_fewer_of_them_the_last_is_marked() -> None:
    assert find_quotes(list("see 4.2"), [Quote("see42", before=3)]) == [Span(0, 7)]


def test_a_quotation_that_the_page_has_in_another_order_is_marked_in_pieces() -> None:
    page = "Left column begins here and Right column stands there and goes on below it until noon."
    quoted = "Left column begins here and goes on below it until noon."
    assert marked(page, quoted) == ["Left column begins here and", "goes on below it until noon."]


def test_rows_of_a_table_are_marked_across_what_stands_between() -> None:
    page = "Measuring range of the gauge\r\nfootnote\r\n0.3 m to 40 m in still water"
    assert marked(page, "| Measuring range of the gauge | 0.3 m to 40 m in still water |") == [
        "Measuring range of the gauge",
        "0.3 m to 40 m in still water",
    ]


@pytest.mark.parametrize(
    ("page", "quoted"),
    [
        ("Nothing of the kind.", "Leave is 28 days a year."),
        ("", "Leave"),
        ("Leave", ""),
        ("Leave", "…—!"),
        ("\ufffe\x02\0", "Leave"),
        (
            "the same few words here, no more",
            "the same few words in another long sentence, where they are few",
        ),
    ],
)
def test_what_is_not_there_is_not_marked(page: str, quoted: str) -> None:
    assert marked(page, quoted) == []


def test_the_search_for_pieces_is_bounded() -> None:
    text = "ab" * 100_000
    assert len(quote_of(text, Span(0, len(text))).letters) == MAX_QUOTE_LETTERS
    assert marked("ba" * 100_000, "abc" * 2_000) == []


def test_characters_may_be_several_or_none() -> None:
    """pdfium gives halves of characters, which come as a pair and an empty place."""
    characters = ["A", "𠀀", "", "B"]
    assert find_quotes(characters, [Quote(letters("a𠀀b"))]) == [Span(0, 4)]
