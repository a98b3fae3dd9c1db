"""Boilerplate lines: what may be one, when it is common, and what removing it leaves."""

import pytest

from ragkit.types import Page, ParsedText
from ragkit_ingest.clean.boilerplate import LineCounts, line_marks, without_boilerplate
from ragkit_ingest.parse.builder import Builder

NOTICE = "Confidential: for the use of Example Ltd only."
NAVIGATION = "Products | Support | About us | Contact"
BODY = [
    "The pump is drained before it is opened, and the valve is closed by hand.",
    "A reading of more than four bar is written down and told to the shift leader.",
    "Filters are changed every second month, or when the lamp is red.",
]


def file(*paragraphs: str, heading: str = "Report") -> ParsedText:
    builder = Builder()
    builder.heading(1, heading)
    for paragraph in paragraphs:
        builder.paragraph(paragraph)
    return builder.result()


def common(*files: ParsedText) -> frozenset[int]:
    counts = LineCounts()
    for parsed in files:
        counts.add(line_marks(parsed))
    return counts.common()


def blocks(parsed: ParsedText) -> list[str]:
    return [parsed.text[block.start : block.end] for block in parsed.blocks]


def test_lines_that_files_share_are_removed_and_counted() -> None:
    files = [file(NAVIGATION, body, f"{body[::-1]}\n{NOTICE}") for body in BODY]
    lines = common(*files)
    assert len(lines) == 2
    for body, parsed in zip(BODY, files, strict=True):
        result = without_boilerplate(parsed, lines)
        assert result.text == f"# Report\n\n{body}\n\n{body[::-1]}\n"
        assert blocks(result) == ["# Report", body, body[::-1]]
        assert result.notes == {"boilerplate lines": 2}


def test_a_line_goes_from_any_place_in_its_block() -> None:
    long = BODY[0] + " " + BODY[1]
    for lines in ([NOTICE, long, BODY[2]], [long, NOTICE, BODY[2]], [long, BODY[2], NOTICE]):
        parsed = file("\n".join(lines), "Next.")
        result = without_boilerplate(parsed, line_marks(file(NOTICE)))
        assert blocks(result) == ["# Report", f"{long}\n{BODY[2]}", "Next."]


def test_two_files_are_no_folder_and_three_in_ten_of_many_are_enough() -> None:
    shared, different = (
        file(NOTICE),
        [file(f"{body} ({n} of them)") for n in "abc" for body in BODY],
    )
    assert common(shared, shared) == frozenset()
    assert common(shared, shared, shared) == line_marks(shared)
    assert common(*[shared] * 3, *different[:7]) == line_marks(shared)
    assert common(*[shared] * 3, *different[:8]) == frozenset()


@pytest.mark.parametrize(
    "line",
    [
        "Summary",
        "None so far",
        "摘要与结论",
        "The following parts are needed for this:",
        "--------------------------------",
        "12 345.00    67 890.00    11 111.00  EUR",
    ],
)
def test_short_words_leads_and_figures_are_never_boilerplate(line: str) -> None:
    assert line_marks(file(line)) == set()


def test_headings_tables_and_code_are_never_boilerplate() -> None:
    builder = Builder()
    builder.heading(2, "Duties of the contracting parties")
    builder.table([["Name of the applicant", "Date of the application"], ["a", "b"]])
    builder.code("from collections.abc import Iterable")
    assert line_marks(builder.result()) == set()


def test_a_long_paragraph_counts_at_the_edges_only() -> None:
    clause = "Either party may end this agreement in writing with a notice of three months. " * 2
    opening = [
        f"Opening number {word} of this contract." for word in "one two three four five".split()
    ]
    closing = [line.replace("Opening", "Closing") for line in opening]
    assert len(line_marks(file(*opening, clause, *closing))) == 10
    assert len(line_marks(file(clause, *opening, *closing))) == 11
    assert len(line_marks(file(*opening, *closing, clause))) == 11


def test_chinese_lines_count_double() -> None:
    assert len(line_marks(file("内部资料请勿外传"))) == 1
    assert line_marks(file("内部资料")) == set()


def test_spacing_makes_no_other_line() -> None:
    assert line_marks(file("Internal  use\tonly, please")) == line_marks(
        file("Internal use only, please")
    )


def test_a_form_that_would_lose_most_of_itself_stays_whole() -> None:
    form = file("Name and address of the applicant", "I agree to the terms of use", "Ann, Berlin")
    assert without_boilerplate(form, line_marks(form)) is form
    assert without_boilerplate(form, frozenset()) is form


def test_pages_follow() -> None:
    builder = Builder()
    for number, body in enumerate(BODY, 1):
        builder.page(number)
        builder.paragraph(NOTICE)
        builder.paragraph(body)
    result = without_boilerplate(builder.result(), line_marks(file(NOTICE)))
    assert result.text == "\n\n".join(BODY) + "\n"
    starts = [result.text.index(body) for body in BODY]
    assert result.pages == tuple(Page(start, n) for n, start in enumerate(starts, 1))
    assert result.notes == {"boilerplate lines": 3}


def test_counts_stay_within_their_bound_and_are_never_too_high() -> None:
    counts = LineCounts(counters=100)
    for number in range(400):
        counts.add({-1, *range(number * 10, number * 10 + 10)})
        assert len(counts._counts) <= 100
    assert counts.files == 400
    assert counts.common() == {-1}
    assert 400 * (1 - 11 / 50) <= counts._counts[-1] <= 400


def test_a_file_of_any_number_of_lines_gives_a_bounded_number_of_marks() -> None:
    parsed = ParsedText("")
    builder = Builder()
    builder.paragraph("\n".join(f"line number {n} of a long list" for n in range(5000)))
    assert len(line_marks(builder.result())) == 2000
    assert line_marks(parsed) == set()
