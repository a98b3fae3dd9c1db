"""The builder of canonical texts: what stands at the ends, pages with nothing on them."""

from ragkit.types import Block, Page, ParsedText
from ragkit_ingest.parse.builder import Builder


def test_pages_with_nothing_on_them_leave_no_empty_lines() -> None:
    builder = Builder()
    builder.page(1)
    builder.page(2)
    builder.paragraph("Text.")
    builder.page(3)
    builder.page(4)
    builder.paragraph("More.")
    builder.page(5)
    builder.page(6)
    assert builder.result() == ParsedText(
        "Text.\n\nMore.\n",
        (Block(0, 5, "paragraph"), Block(7, 12, "paragraph")),
        (Page(0, 2), Page(7, 4)),
    )


def test_a_result_can_be_asked_for_again() -> None:
    builder = Builder()
    builder.paragraph("Text.")
    assert (
        builder.result() == builder.result() == ParsedText("Text.\n", (Block(0, 5, "paragraph"),))
    )


def test_nothing_at_all() -> None:
    builder = Builder()
    builder.page(1)
    assert builder.result() == ParsedText("")
