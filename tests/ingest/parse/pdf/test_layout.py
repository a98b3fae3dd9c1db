"""What a PDF's pages are laid out as: columns, headers, footers, hyphens, tables, labels, dates."""

import pytest

from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes
from tests.ingest.pdfs import column, grid, pdf, rule, text
from tests.places import DATA

LEFT = [
    "The first column begins here and",
    "goes on below, line after line,",
    "until the end of the column, and",
    "only then the second one begins.",
]
RIGHT = [
    "The second column is read second",
    "although its lines stand beside",
    "the lines of the first column on",
    "the page, at the same heights ok.",
]
BODY = [
    "The page has its text between its header and its",
    "footer, and says something else each time.",
]


def parse(data: bytes) -> ParsedText:
    return parse_bytes(data, ".pdf")


def tables(parsed: ParsedText) -> list[str]:
    return [parsed.text[b.start : b.end] for b in parsed.blocks if b.kind == "table"]


def rows_across(size: float = 10) -> str:
    """Two columns as some programs write them: row by row over both."""
    return "".join(
        text(60, 600 - 12 * n, left, size=size) + text(300, 600 - 12 * n, right, size=size)
        for n, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True))
    )


def test_columns_written_row_by_row_are_read_one_after_the_other() -> None:
    parsed = parse(pdf([text(60, 660, "A heading over both of the columns") + rows_across()]))
    assert parsed.text == (
        "A heading over both of the columns\n\n"
        "The first column begins here and goes on below, line after line, until the end of the"
        " column, and only then the second one begins.\n\n"
        "The second column is read second although its lines stand beside the lines of the first"
        " column on the page, at the same heights ok.\n"
    )
    assert tables(parsed) == []


def test_text_is_read_from_the_top_whatever_was_written_first() -> None:
    page = (
        text(60, 60, "A footnote that was written first.", size=8)
        + column(300, 600, RIGHT, step=12).replace(" 12 Tf", " 10 Tf")
        + column(60, 600, LEFT, step=12).replace(" 12 Tf", " 10 Tf")
        + text(60, 700, "The title, written last", size=18)
    )
    starts = [line[:10] for line in parse(pdf([page])).text.split("\n\n")]
    assert starts == ["The title,", "The first ", "The second", "A footnote"]


def test_a_turned_page_is_read_as_it_is_shown() -> None:
    # Turned clockwise by 90 degrees for the reader, so that the text is set counter-clockwise.
    lines = ["The first line of the page,", "and the second one below it."]
    turned = "".join(
        f"BT /F1 12 Tf 0 1 -1 0 {100 + 14 * n} 100 Tm ({line}) Tj ET\n"
        for n, line in enumerate(lines)
    )
    parsed = parse(pdf([turned], page="/Rotate 90"))
    assert parsed.text == "The first line of the page, and the second one below it.\n"


def test_text_at_an_angle_comes_after_the_page() -> None:
    stamp = "BT /F1 20 Tf 0 1 -1 0 40 300 Tm (arXiv stamp) Tj ET\n"
    assert parse(pdf([stamp + column(90, 700, BODY)])).text.split("\n\n") == [
        " ".join(BODY),
        "arXiv stamp\n",
    ]


def furnished(pages: int, *, offset: int = 0) -> ParsedText:
    words = ["one", "two", "three", "four", "five", "six"]
    return parse(
        pdf(
            [
                text(72, 750, "Annual report 2031" if n % 2 else "The Company, Ltd.", size=9)
                + column(72, 700, [*BODY, f"This is page {words[n]}."])
                + text(290, 40, f"- {n + 1 + offset} -", size=9)
                for n in range(pages)
            ]
        )
    )


def test_headers_of_left_and_right_pages_and_page_numbers_go() -> None:
    parsed = furnished(6, offset=16)
    assert "report" not in parsed.text
    assert "Company" not in parsed.text
    assert "- 17 -" not in parsed.text
    assert parsed.text.count("The page has its text") == 6
    assert parsed.notes == {"headers and footers": 12}


def test_what_two_pages_share_stays_except_page_numbers() -> None:
    parsed = furnished(4)
    assert parsed.text.count("Annual report 2031") == 2
    assert parsed.notes == {"headers and footers": 4}
    assert "- 3 -" not in parsed.text


def test_numbers_that_do_not_grow_with_the_pages_stay() -> None:
    rows = ["104 12.50", "104 13.25", "98 7.00", "77 1.00"]
    parsed = parse(pdf([column(72, 740, [row, "", *BODY]) for row in rows]))
    assert all(row in parsed.text for row in rows)
    assert parsed.notes == {}


def test_numbered_headings_on_successive_pages_stay() -> None:
    parsed = parse(pdf([column(72, 740, [f"Question {n}", "", *BODY]) for n in (1, 2, 3)]))
    assert parsed.text.count("Question") == 3


def test_hyphens_at_line_ends() -> None:
    lines = [
        "A sentence with a built-in level and a so-called recon-",
        "struction of the well-known text; the instrument is built-",
        "in as before, and its self-",
        "test of the state-of-the-",
        "art kind runs in the years 2019-",
        "2024 by Smith-",
        "Jones. The reconstruction has ended here, after all of it.",
    ]
    text = " ".join(parse(pdf([column(72, 700, lines)])).text.split())
    assert "so-called reconstruction of" in text
    assert "is built-in as before" in text
    assert "self-test of the state-of-the-art kind" in text
    assert "2019-2024" in text.replace("- ", "-")
    assert "Smith-Jones" in text.replace("- ", "-")


def test_words_broken_at_line_ends_are_joined_though_their_parts_are_words() -> None:
    lines = [
        "A manual of the gauge that is taken in hand by all who manip-",
        "ulate it each day, so that nobody is hurt by it and individu-",
        "ally each of its users says it is OPTIONAL, that is, not OP-",
        "TIONAL in parts.",
    ]
    text = " ".join(parse(pdf([column(72, 700, lines)])).text.split())
    assert "who manipulate it" in text
    assert "individually each" in text
    assert "not OPTIONAL in" in text


def test_hyphens_stay_where_lines_leave_room_for_parts_of_long_words() -> None:
    lines = [
        "Of all the birds of the pond and the brook",
        "some can be seen here in any month,",
        "sometimes in pairs: there the white-",
        "headed duck lives there; it flies",
        "unwillingly over the wide salt-",
        "marshes of the coast; it also is",
        "necessarily a good swimmer.",
    ]
    text = " ".join(parse(pdf([column(72, 700, lines)])).text.split())
    assert "white-headed duck" in text
    assert "salt-marshes of" in text


def test_headings_break_no_words() -> None:
    page = column(72, 700, ["What is of the code-", "indicative kind"], size=20, step=24, font="F2")
    parsed = parse(pdf([page + column(72, 600, BODY)]))
    assert parsed.blocks[0].kind == "heading"
    assert parsed.text.startswith("What is of the code-indicative kind\n")


def test_a_ruled_table_with_wrapped_and_merged_cells() -> None:
    page = (
        text(72, 630, "Some text stands before the table.")
        + "".join(rule(x, 600, x, 505) for x in (72, 172, 472))
        + rule(322, 600, 322, 525)  # the last row's last two cells are one
        + "".join(rule(72, y, 472, y) for y in (600, 580, 545, 525, 505))
        + text(76, 586, "Code") + text(176, 586, "Meaning") + text(326, 586, "Remedy")
        + text(76, 560, "E1")
        + text(176, 566, "Tilt of more than")
        + text(176, 552, "one degree")
        + text(326, 560, "Align it")
        + text(76, 531, "E2") + text(176, 531, "Memory full") + text(326, 531, "Restart")
        + text(76, 511, "E3") + text(176, 511, "See the manual for it")
        + text(72, 470, "Some text stands after the table.")
    )  # fmt: skip
    parsed = parse(pdf([page]))
    assert parsed.text == (
        "Some text stands before the table.\n\n"
        "| Code | Meaning | Remedy |\n| - | - | - |\n"
        "| E1 | Tilt of more than one degree | Align it |\n"
        "| E2 | Memory full | Restart |\n"
        "| E3 | See the manual for it | See the manual for it |\n\n"
        "Some text stands after the table.\n"
    )
    assert [block.kind for block in parsed.blocks] == ["paragraph", "table", "paragraph"]


def test_a_frame_around_columns_is_no_table() -> None:
    page = rows_across() + grid((50, 290, 550), (620, 550))
    parsed = parse(pdf([page]))
    assert tables(parsed) == []
    assert parsed.text.startswith("The first column begins here and goes on below")


def test_aligned_figures_are_a_table_without_rules() -> None:
    rows = [("Item", "2030", "2031"), ("Revenue", "1,250", "1,310"), ("Cost", "900", "870")]
    page = "".join(
        text(x, 600 - 16 * n, cell)
        for n, row in enumerate(rows)
        for x, cell in zip((72, 250, 350), row, strict=True)
    )
    assert tables(parse(pdf([page]))) == [
        "| Item | 2030 | 2031 |\n| - | - | - |\n| Revenue | 1,250 | 1,310 |\n| Cost | 900 | 870 |"
    ]


def test_words_that_happen_to_stand_above_each_other_are_no_table() -> None:
    rows = [("Measures", "battery", "reports"), ("through", "through", "reports")]
    page = "".join(
        text(x, 600 - 14 * n, cell, size=11)
        for n, row in enumerate([*rows, ("between", "minute", "manual")])
        for x, cell in zip((72, 160, 240), row, strict=True)
    )
    assert tables(parse(pdf([page]))) == []


def test_lists_with_their_marks_apart_are_no_tables() -> None:
    page = "".join(
        text(72, 600 - 16 * n, f"{n + 1}.") + text(120, 600 - 16 * n, f"the year {2000 + n}")
        for n in range(6)
    )
    parsed = parse(pdf([page]))
    assert tables(parsed) == []
    assert "the year 2005" in parsed.text


def test_page_labels_and_dates() -> None:
    labels = "/PageLabels << /Nums [0 << /S /r >> 2 << /S /D >> 3 << /P (A-) /S /D /St 7 >>] >>"
    info = "/CreationDate (D:20240229235900+08'00') /ModDate (D:20240301) /Author (A.  Writer)"
    pages = [text(72, 700, f"This is page {word}.") for word in ("one", "two", "three", "four")]
    parsed = parse(pdf(pages, catalog=labels, info=info))
    assert [(p.number, p.label) for p in parsed.pages] == [
        (1, "i"),
        (2, "ii"),
        (3, "1"),
        (4, "A-7"),
    ]
    assert parsed.metadata == {
        "author": "A. Writer",
        "created": "2024-02-29T23:59:00+08:00",
        "modified": "2024-03-01",
    }
    assert [p.label for p in parse(pdf(pages)).pages] == ["", "", "", ""]


def test_dates_that_are_none_are_left_out() -> None:
    parsed = parse(pdf([text(72, 700, "Text.")], info="/CreationDate (D:20241341) /ModDate (now)"))
    assert parsed.metadata == {}


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no test data in {DATA}")
def test_real_columns_are_read_in_order_and_a_real_table_is_kept() -> None:
    folder = DATA / "documents" / "pdf"
    issue = parse((folder / "normal_4pages.pdf").read_bytes()).text
    marks = ("제1695호", "1 들어가며", "이슈가 될", "2 코로나", "ISSN")
    places = [issue.index(mark) for mark in marks]
    assert places == sorted(places)
    table = tables(parse((folder / "2305.03393v1-pg9.pdf").read_bytes()))[0]
    assert "| 4 | 2 | HTML | 0.944 | 0.903 | 0.931 | 0.824 | 2 |" in table.splitlines()
