"""Tables of PDFs by their rules: tight, with marks, with turned heads, with level rules only."""

from collections.abc import Sequence

import pytest

from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes
from tests.ingest.pdfs import COURIER, column, grid, pdf, rule, text

BODY = "Some running text of the page stands here, over its whole width."


def tables(*pages: str) -> list[list[str]]:
    parsed: ParsedText = parse_bytes(pdf(pages), ".pdf")
    return [
        parsed.text[block.start : block.end].splitlines()
        for block in parsed.blocks
        if block.kind == "table"
    ]


def set_rows(
    xs: tuple[float, ...], top: float, rows: Sequence[Sequence[str]], *, step: float = 20
) -> str:
    return "".join(
        text(x, top - step * n, cell)
        for n, row in enumerate(rows)
        for x, cell in zip(xs, row, strict=True)
        if cell
    )


def test_cells_whose_texts_touch_are_told_apart_by_the_rules() -> None:
    width = 12 * COURIER
    xs = (100.0, 100 + 4 * width, 100 + 9 * width, 100 + 12 * width)
    rows = [("Code", "Level", "Sum"), ("A100", "12345", "750"), ("B200", "54321", "925")]
    page = grid([xs[0], *xs[1:]], (604, 584, 564, 544)) + "".join(
        text(100, 590 - 20 * n, "".join(row)) for n, row in enumerate(rows)
    )
    assert tables(page) == [
        ["| Code | Level | Sum |", "| - | - | - |", "| A100 | 12345 | 750 |",
         "| B200 | 54321 | 925 |"]
    ]  # fmt: skip


def test_marks_in_a_few_cells_of_a_full_grid() -> None:
    rows = [
        ("Part", "A", "B", "C", "D", "E"),
        ("Lid", "x", "", "", "", ""),
        ("Seal", "", "", "x", "", ""),
        ("Bolt", "", "", "", "-", ""),
        ("Nut", "", "", "", "", "x"),
        ("Cable", "", "x", "", "", ""),
    ]
    xs = (76.0, 146.0, 176.0, 206.0, 236.0, 266.0)
    page = grid((72, 140, 170, 200, 230, 260, 290), [615 - 20 * n for n in range(7)])
    assert tables(page + set_rows(xs, 600, rows)) == [
        ["| Part | A | B | C | D | E |", "| - | - | - | - | - | - |", "| Lid | x |  |  |  |  |",
         "| Seal |  |  | x |  |  |", "| Bolt |  |  |  | - |  |", "| Nut |  |  |  |  | x |",
         "| Cable |  | x |  |  |  |"]
    ]  # fmt: skip


def test_heads_turned_by_a_quarter_stand_over_their_columns() -> None:
    page = grid((72, 140, 170, 200, 230), (660, 590, 570, 550)) + text(76, 600, "Part")
    for x, head in ((160, "Spring"), (190, "Summer"), (220, "Autumn")):
        page += text(x, 596, head, turn="0 1 -1 0")
    page += set_rows((76, 150, 180, 210), 575, [("Lid", "x", "", "x"), ("Seal", "", "x", "x")])
    assert tables(page) == [
        ["| Part | Spring | Summer | Autumn |", "| - | - | - | - |", "| Lid | x |  | x |",
         "| Seal |  | x | x |"]
    ]  # fmt: skip


def test_rules_over_and_under_the_head_and_under_the_last_row() -> None:
    rows = [("Part", "Material", "Used for"), ("Lid", "steel", "cover"), ("Seal", "rubber", "rain")]
    page = "".join(rule(72, y, 400, y) for y in (618, 596, 536))
    page += set_rows((72, 180, 290), 602, rows) + text(290, 548, "and dust") + text(72, 480, BODY)
    assert tables(text(72, 700, BODY) + page) == [
        ["| Part | Material | Used for |", "| - | - | - |", "| Lid | steel | cover |",
         "| Seal | rubber | rain and dust |"]
    ]  # fmt: skip


def test_a_rule_under_each_row_and_none_above_the_head() -> None:
    rows = [("Term", "Meaning"), ("gauge", "measures the level"), ("", "of the water"),
            ("lid", "covers it")]  # fmt: skip
    page = "".join(rule(72, y, 400, y) for y in (596, 562, 542))
    places = (602, 583, 569, 548)
    for y, row in zip(places, rows, strict=True):
        page += set_rows((72, 180), y, [row])
    assert tables(text(72, 700, BODY) + page) == [
        ["| Term | Meaning |", "| - | - |", "| gauge | measures the level of the water |",
         "| lid | covers it |"]
    ]  # fmt: skip


def test_first_cells_at_half_the_height_of_their_rows() -> None:
    page = "".join(rule(72, y, 400, y) for y in (618, 596, 460))
    page += set_rows((72, 180), 602, [("Part", "Used for")])
    lines = [
        "keeping the rain",
        "and dust out",
        "a seal",
        "of the lid,",
        "which is a",
        "heavy plate",
    ]
    for n, line in enumerate(lines):
        page += text(180, 580 - 14 * n, line)
    page += text(72, 573, "Lid") + text(72, 552, "Seal") + text(72, 524, "Bolt")
    assert tables(text(72, 700, BODY) + page) == [
        ["| Part | Used for |", "| - | - |", "| Lid | keeping the rain and dust out |",
         "| Seal | a seal |", "| Bolt | of the lid, which is a heavy plate |"]
    ]  # fmt: skip


def test_white_between_words_of_one_cell_is_no_column() -> None:
    rows = [("Part", "Used for"), ("Lid", "rain"), ("Seal", "dust"), ("Bolt", "holding it all")]
    page = "".join(rule(72, y, 400, y) for y in (618, 596, 500))
    page += set_rows((72, 180), 602, rows) + text(330, 542, "well")
    assert tables(text(72, 700, BODY) + page)[0][-1] == "| Bolt | holding it all well |"


def test_tables_that_touch_and_have_other_columns() -> None:
    page = grid((72, 172, 300), (620, 600, 580)) + grid((72, 132, 232, 300), (580, 560, 540))
    page += set_rows((76, 176), 606, [("Code", "Meaning"), ("E1", "Tilt")])
    page += set_rows((76, 136, 236), 566, [("Part", "Material", "Mass"), ("Lid", "steel", "2 kg")])
    assert [table[0] for table in tables(page)] == [
        "| Code | Meaning |",
        "| Part | Material | Mass |",
    ]


def broken(head: str, following: str) -> str:
    """A table of which the first row stands in the page's first column, and the others on top of
    the second; the fonts are those of both parts' first row."""
    page = grid((60, 160, 260), (320, 300)) + grid((320, 420, 520), (720, 700, 680))
    for x, y, font, row in (
        (64, 306, head, ("Part", "Material")),
        (324, 706, following, ("Lid", "steel")),
        (324, 686, "F1", ("Seal", "rubber")),
    ):
        page += text(x, y, row[0], font=font) + text(x + 100, y, row[1], font=font)
    return page


def test_a_table_broken_at_the_end_of_a_column_is_one() -> None:
    rows = ["| Part | Material |", "| - | - |", "| Lid | steel |", "| Seal | rubber |"]
    assert tables(text(60, 720, "Parts") + broken("F2", "F1")) == [rows]


def test_tables_with_heads_of_their_own_are_not_joined() -> None:
    rows = ["| Lid | steel |", "| - | - |", "| Seal | rubber |"]
    assert tables(broken("F2", "F2")) == [rows]
    assert tables(broken("F1", "F1")) == [rows]


@pytest.mark.parametrize(
    "lines",
    [
        [("Rooms 1 and", "Desks 2 to 4", "Desks 2 to 5"), ("2 on floor 1", "by window 3", "left")],
        [("Changed to", "Changed to", "Changed to"), ("110VDC", "220VDC", "380VAC")],
    ],
)
def test_words_with_figures_in_the_lines_of_a_row_are_one_row(lines: list[Sequence[str]]) -> None:
    page = grid((72, 172, 272, 372), (620, 600, 560))
    page += set_rows((76, 176, 276), 606, [("Place", "First", "Second")])
    page += set_rows((76, 176, 276), 586, lines, step=14)
    row = " | ".join(map(" ".join, zip(*lines, strict=True)))
    assert tables(page) == [["| Place | First | Second |", "| - | - | - |", f"| {row} |"]]


def test_hyphens_at_line_ends_in_cells_are_those_of_the_document() -> None:
    page = grid((72, 172, 272), (620, 600, 560))
    page += set_rows((76, 176), 606, [("Bird", "Place")])
    page += set_rows((76, 176), 586, [("White-", "Wet-"), ("headed duck", "lands")], step=14)
    assert tables(page)[0][-1] == "| White-headed duck | Wet-lands |"
    lines = ["Ducks swim on all kinds of waters and riv-", "ers, and one knows them by their fea-",
             "thers in these wetlands, a whiteheaded one too."]  # fmt: skip
    assert tables(page + column(72, 500, lines))[0][-1] == "| Whiteheaded duck | Wetlands |"


def test_figures_in_the_lines_of_a_row_are_rows() -> None:
    page = grid((72, 172, 272, 372), (620, 600, 560))
    page += set_rows((76, 176, 276), 606, [("Year", "Pears", "Plums")])
    page += set_rows((76, 176, 276), 586, [("2001", "12", "7"), ("2002", "9", "11")], step=14)
    assert tables(page) == [
        ["| Year | Pears | Plums |", "| - | - | - |", "| 2001 | 12 | 7 |", "| 2002 | 9 | 11 |"]
    ]


def test_a_bold_head_over_columns_without_rules() -> None:
    rows = [("Part", "Material", "Used for"), ("Lid", "steel", "cover"), ("Seal", "rubber", "rain")]
    head, *body = rows
    page = "".join(
        text(x, 602, cell, font="F2") for x, cell in zip((72, 180, 290), head, strict=True)
    )
    page += set_rows((72, 180, 290), 584, body, step=18) + text(72, 520, BODY)
    assert tables(text(72, 700, BODY) + page) == [
        ["| Part | Material | Used for |", "| - | - | - |", "| Lid | steel | cover |",
         "| Seal | rubber | rain |"]
    ]  # fmt: skip


def headed(lefts: Sequence[float], rows: Sequence[Sequence[str]], below: str = "") -> list[str]:
    """Read a bold row, others below it and text after more white than is between them."""
    head, *body = rows
    page = "".join(text(x, 602, cell, font="F4") for x, cell in zip(lefts, head, strict=True))
    for n, row in enumerate(body):
        page += "".join(
            text(x, 584 - 18 * n, cell, font="F3") for x, cell in zip(lefts, row, strict=True)
        )
    page += text(lefts[0] - 8, 594 - 18 * len(rows), below, font="F3")
    table, *_ = tables(text(72, 700, BODY) + page + text(72, 400, BODY))
    return table


def written(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], f"|{' - |' * len(rows[0])}", *lines[1:]]


def test_cells_under_a_bold_head_as_long_as_lines_of_a_text() -> None:
    rows = [
        ("The room and its floor", "Used in 2 and 3 (both)", "Used in 2 and 3 (both)"),
        ("Room 1 and 2, floor 1", "Desk 1 and window 2", "Desk 1 and window 3"),
        ("Room 1 and 2, floor 1", "Desk 2 and windows 2 and 3", "Desk 2 and windows 2 and 3"),
        ("Room 3, floor 1 (left)", "Desk 3 and window 2", "Desk 3 and window 3"),
    ]
    assert headed((72, 210, 360), rows) == written(rows)


def test_rows_of_one_cell_under_a_bold_head_of_two() -> None:
    rows = [("Deed", "Deed"), ("Swims", "It glides over water"), ("Flies", ""), ("Calls", "Kow")]
    assert headed((72, 120), rows) == written(rows)


def test_text_after_more_white_is_no_row_of_a_table() -> None:
    """Here its second word stands in the second column, right below the cells."""
    rows = [("", "Class1", "Class2"), *(("R1", "True", "False"), ("R2", "False", "")) * 4]
    assert headed((72, 100, 170), rows, "With footnote") == written(rows)


def test_white_under_no_head_parts_no_columns() -> None:
    rows = [("", "Last", "Next"), ("Kind one", "4.3", "2.4"), ("Kind two", "2.5", "4.4"),
            ("Kind six", "3.5", "1.8"), ("Kind ten", "4.5", "2.8")]  # fmt: skip
    assert headed((72, 140, 180), rows) == written(rows)


def test_text_over_the_white_of_a_head_is_no_row() -> None:
    rows = [("Year", "Ducks", "Geese"), ("2019", "120", "80"), ("2020", "135", "95")]
    below = "Note: these are figures of the state, counted on its ponds"
    assert headed((72, 120, 175), rows, below) == written(rows)


def test_rows_without_a_first_cell_stand_as_far_apart_as_others() -> None:
    rows = [("Unit", "Measure", "Value"), ("kV", "Voltage", "12"), ("", "Place", "indoor"),
            ("", "Phases", "3"), ("Hz", "Frequency", "50")]  # fmt: skip
    assert headed((72, 120, 200), rows) == written(rows)


def test_short_words_in_every_column_are_rows_of_their_own() -> None:
    """White is wider above the last row alone; a merged cell leaves one place of a row empty."""
    head, *body = [("Room", "Light", "Heat", "Water"), ("R1", "True", "False", "True"),
                   ("R2", "False", "True", "False"), ("R3", "True", "", "False"),
                   ("R4", "False", "True", "True")]  # fmt: skip
    lefts = (72, 150, 230, 310)
    page = "".join(text(x, 602, cell, font="F2") for x, cell in zip(lefts, head, strict=True))
    page += set_rows(lefts, 586, body, step=13) + set_rows(lefts, 526, [("R5", *body[0][1:])])
    (table,) = tables(text(72, 700, BODY) + page + text(72, 460, BODY))
    assert len(table) == len(body) + 3
    assert table[2] == "| R1 | True | False | True |"


def test_a_bold_head_over_columns_as_near_as_words() -> None:
    page = ""
    for n, row in enumerate([("Tab1", "Tab2", "Tab3"), ("A", "B", "C"), ("D", "E", "F")]):
        for x, cell in zip((72, 102, 132), row, strict=True):
            page += text(x, 602 - 16 * n, cell, font="F3" if n else "F4")
    assert tables(text(72, 700, BODY) + page + text(72, 530, BODY)) == [
        ["| Tab1 | Tab2 | Tab3 |", "| - | - | - |", "| A | B | C |", "| D | E | F |"]
    ]


def test_a_bold_heading_over_short_lines_is_no_table() -> None:
    lines = ["The quick gauge", "A lid of steel", "It is closed", "by two bolts"]
    page = text(72, 616, "What it is", font="F4")
    page += "".join(text(72, 602 - 14 * n, line, font="F3") for n, line in enumerate(lines))
    assert tables(text(72, 700, BODY) + page) == []


@pytest.mark.parametrize("font", ["F1", "F2"])
def test_two_columns_of_text_between_rules_are_no_table(font: str) -> None:
    left = ["The first column begins here and", "goes on below, line after line,"] * 3
    right = ["The second column is read second", "although its lines stand beside"] * 3
    page = "".join(rule(60, y, 550, y) for y in (620, 500, 300))
    for n, row in enumerate(zip(left, right, strict=True)):
        page += "".join(
            text(x, 600 - 12 * n, part, size=10, font=font)
            for x, part in zip((60, 300), row, strict=True)
        )
    assert tables(page) == []


def test_headings_with_rules_below_are_no_table() -> None:
    page = ""
    for n in range(3):
        page += text(72, 700 - 100 * n, f"{n + 1} A heading", font="F2")
        page += rule(72, 695 - 100 * n, 540, 695 - 100 * n) + text(72, 670 - 100 * n, BODY)
    assert tables(page) == []
