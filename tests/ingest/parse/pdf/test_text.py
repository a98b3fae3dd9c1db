"""What a PDF's characters are turned to: marks of lists, leaders, fields, turned text."""

import pytest

from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes
from tests.ingest.pdfs import column, pdf, text


def parse(*pages: str, **options: str) -> ParsedText:
    return parse_bytes(pdf(pages, **options), ".pdf")  # type: ignore[arg-type]


def listed(mark: str) -> str:
    lines = [f"{mark} Close the lid of the gauge and", "fasten it", f"{mark} Send a report"]
    return text(72, 720, "Before you go:") + column(72, 700, lines)


@pytest.mark.parametrize("mark", ["\x95", "\x7f", "\xb7", "-", "\x01"])
def test_marks_of_lists_become_dashes(mark: str) -> None:
    assert parse(listed(mark)).text == (
        "Before you go:\n\n- Close the lid of the gauge and fasten it\n\n- Send a report\n"
    )


def test_a_mark_as_a_line_of_its_own_joins_its_item() -> None:
    page = text(72, 720, "Before you go, do these two, in the order that they are given here:")
    for n, item in enumerate(["Close the lid of the gauge", "Send a report"]):
        page += text(72, 700 - 14 * n, "\xb7", size=8) + text(90, 700 - 14 * n, item)
    assert parse(page).text.endswith("here:\n\n- Close the lid of the gauge\n\n- Send a report\n")


def test_leaders_are_no_text() -> None:
    page = (
        text(72, 720, "1 Mounting " + "." * 40 + " 5")
        + text(72, 700, "2 Cleaning" + " ." * 30 + " 17")
        + text(72, 680, "And so on ... until 3.5.2 is done.")
    )
    written = parse(page).text
    assert ".." not in written.replace(" ... until", "")
    assert ". ." not in written
    assert "1 Mounting 5" in written.replace("  ", " ")
    assert "2 Cleaning 17" in written.replace("  ", " ")
    assert "And so on ... until 3.5.2 is done." in written


def form(*widgets: str) -> bytes:
    """A page with a form of one widget a field."""
    references = " ".join(f"{5 + n} 0 R" for n in range(len(widgets)))
    page = text(72, 720, "Order of parts") + text(72, 600, "Sign below.")
    return pdf(
        [page],
        catalog=f"/AcroForm << /Fields [{references}] >>",
        page=f"/Annots [{references}]",
        extra=[
            f"<< /Type /Annot /Subtype /Widget /Rect [150 {690 - 20 * n} 350 {704 - 20 * n}]"
            f" {widget} >>"
            for n, widget in enumerate(widgets)
        ],
    )


def test_what_is_filled_into_a_form_stands_at_its_place() -> None:
    data = form(
        "/FT /Tx /T (f1) /TU (Name of the station) /V (Upper mill)",
        "/FT /Tx /T (Depth) /V (2.5 m)",
        "/FT /Btn /T (Alarm) /V /Yes /AS /Yes /AP << /N << /Yes null /Off null >> >>",
        "/FT /Btn /T (Frost) /V /Off /AS /Off /AP << /N << /Yes null /Off null >> >>",
    )
    assert parse_bytes(data, ".pdf").text == (
        "Order of parts\n\nName of the station: Upper mill\nDepth: 2.5 m\n[x] Alarm\n[ ] Frost"
        "\n\nSign below.\n"
    )


def test_fields_that_say_nothing_or_are_secret_are_left_out() -> None:
    data = form(
        "/FT /Tx /T (Empty)",
        "/FT /Tx /T (Code) /V (secret) /Ff 8192",
        "/FT /Tx /T (Gone) /V (hidden) /F 2",
        "/FT /Btn /T (Send) /Ff 65536",
    )
    assert parse_bytes(data, ".pdf").text.split() == "Order of parts Sign below.".split()


UPWARDS, DOWNWARDS, UPSIDE_DOWN = "0 1 -1 0", "0 -1 1 0", "-1 0 0 -1"
TURNED = [
    "The gauge measures the level of the water",
    "every sixty seconds, and keeps the last",
    "thousand values.",
]


@pytest.mark.parametrize(
    ("turn", "places"),
    [
        (UPWARDS, [(100, 100), (114, 100), (128, 100)]),
        (DOWNWARDS, [(400, 700), (386, 700), (372, 700)]),
        (UPSIDE_DOWN, [(500, 100), (500, 114), (500, 128)]),
    ],
)
def test_a_page_whose_text_is_turned_is_read_in_its_direction(
    turn: str, places: list[tuple[int, int]]
) -> None:
    page = "".join(text(x, y, line, turn=turn) for (x, y), line in zip(places, TURNED, strict=True))
    assert parse(page).text == " ".join(TURNED) + "\n"


def test_a_table_on_a_page_whose_text_is_turned() -> None:
    page = ""
    for row, cells in enumerate([("Part", "Mass"), ("Lid", "2 kg"), ("Seal", "1 kg")]):
        for column_, cell in enumerate(cells):
            page += text(112 + 20 * row, 104 + 100 * column_, cell, turn=UPWARDS)
    page += "".join(f"{98 + 20 * n} 100 m {98 + 20 * n} 300 l S\n" for n in range(4))
    page += "".join(f"98 {y} m 158 {y} l S\n" for y in (100, 200, 300))
    assert parse(page).text == ("| Part | Mass |\n| - | - |\n| Lid | 2 kg |\n| Seal | 1 kg |\n")


def test_a_turned_paragraph_beside_the_text_comes_last_in_its_own_order() -> None:
    body = column(200, 700, ["The text of the page stands upright, as it", "does elsewhere."] * 2)
    margin = text(128, 100, TURNED[2], turn=UPWARDS) + text(100, 100, TURNED[0], turn=UPWARDS)
    margin += text(114, 100, TURNED[1], turn=UPWARDS)
    assert parse(margin + body).text.endswith("\n\n" + " ".join(TURNED) + "\n")


def test_letters_of_windows_in_a_font_without_names() -> None:
    assert parse(text(72, 700, "The gauge\x92s lid \x96 of steel.")).text == (
        "The gauge’s lid – of steel.\n"
    )
