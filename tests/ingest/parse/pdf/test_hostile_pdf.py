"""PDFs that refer to themselves, lie or explode: text or one line of reason, in bounded time."""

import time
import zlib

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import parse_bytes
from ragkit_ingest.parser.pool import ParseLimits, ParserPool
from tests.ingest.hostile_pdfs import (
    CATALOG,
    DEEP_TREE,
    FONT,
    FORM_LOOP,
    LABEL_LOOP,
    MANY_CLAIMED,
    ONE_PAGE,
    OUTLINE_LOOP,
    PAGE_TREE_LOOP,
    TREE_WITH_A_LOOP,
    document,
    object_stream_loop,
    page,
    stream,
)
from tests.ingest.pdfs import SHOW_IMAGE, image, pdf, text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (PAGE_TREE_LOOP, "damaged PDF: none of its pages can be read"),
        (DEEP_TREE, "damaged PDF: none of its pages can be read"),
        (MANY_CLAIMED, "damaged PDF: more than 1000 of its pages cannot be read"),
        (object_stream_loop(), "damaged PDF: none of its pages can be read"),
    ],
    ids=["page tree loop", "deep page tree", "a million pages claimed", "object stream loop"],
)
def test_what_refers_to_itself_or_lies_is_damaged(data: bytes, reason: str) -> None:
    begin = time.process_time()
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, ".pdf")
    assert caught.value.reason == reason
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    "data", [OUTLINE_LOOP, TREE_WITH_A_LOOP, FORM_LOOP],
    ids=["outline loop", "page tree with a loop in it", "a form that shows itself"],
)  # fmt: skip
def test_a_loop_costs_no_text(data: bytes) -> None:
    assert parse_bytes(data, ".pdf").text == "Some text.\n"


def test_a_bomb_ends_with_its_process_and_the_next_file_is_read() -> None:
    paths = zlib.compress(b"0 0 m 1 1 l S\n" * (2 << 20), 1)
    bomb = document(
        CATALOG, ONE_PAGE, FONT, b"<< >>", page(), stream(paths, b"/Filter /FlateDecode ")
    )
    with ParserPool(1, ParseLimits(memory_mb=256, cpu_s=10)) as pool:
        with pytest.raises(IngestError) as caught:
            pool.submit(bomb, ".pdf").result()
        assert caught.value.reason in {
            "parser crashed (signal 6): save the file anew with another program",
            "parser ran out of memory (RAGKIT_PARSE_MEMORY_MB, 256 MB)",
            "parser used more than 10 s of CPU time (RAGKIT_PARSE_CPU_S)",
        }
        next_file = pdf([text(72, 400, "The next file.")])
        assert pool.submit(next_file, ".pdf").result().text == "The next file.\n"


def test_page_labels_in_a_circle_cost_their_process_and_no_more() -> None:
    with ParserPool(1) as pool:
        with pytest.raises(IngestError) as caught:
            pool.submit(LABEL_LOOP, ".pdf").result()
        assert caught.value.reason == (
            "parser crashed (signal 11): save the file anew with another program"
        )
        next_file = pdf([text(72, 400, "The next file.")])
        assert pool.submit(next_file, ".pdf").result().text == "The next file.\n"


def test_a_picture_as_thin_as_a_line_is_not_enlarged() -> None:
    data = pdf([SHOW_IMAGE], page="/MediaBox [0 0 14400 1]", picture=image(1, 1, b"a"))
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, ".pdf")
    assert caught.value.reason.startswith("no text layer")


def test_thousands_of_bold_lines_and_rules_take_bounded_time() -> None:
    page = "".join(
        text(50, 13_900 - 6 * n, "Bold", size=5, font="F4")
        + text(200 + 7 * n % 90, 13_900 - 6 * n, "and beside", size=5, font="F4")
        for n in range(1500)
    ) + "".join(f"40 {13_950 - 30 * n} m 500 {13_950 - 30 * n} l S\n" for n in range(390))
    begin = time.process_time()
    parsed = parse_bytes(pdf([page], page="/MediaBox [0 0 3000 14000]"), ".pdf")
    assert parsed.text.count("Bold") == 1500
    assert time.process_time() - begin < 20
