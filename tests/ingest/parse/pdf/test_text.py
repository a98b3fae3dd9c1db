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
