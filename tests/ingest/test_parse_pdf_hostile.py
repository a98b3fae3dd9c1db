"""PDFs that refer to themselves, lie or explode: text or one line of reason, in bounded time."""

import struct
import time
import zlib

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import parse_bytes
from ragkit_ingest.sandbox import ParseLimits, ParserPool
from tests.ingest.pdfs import SHOW_IMAGE, assembled, image, pdf, text

CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
ONE_PAGE = b"<< /Type /Pages /Kids [5 0 R] /Count 1 >>"
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
SOME_TEXT = text(72, 400, "Some text.").encode()
FORM = (
    b"/Type /XObject /Subtype /Form /BBox [0 0 612 792]"
    b" /Resources << /XObject << /X 7 0 R >> /Font << /F1 3 0 R >> >> "
)


def page(extra: str = "") -> bytes:
    return (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 6 0 R"
        f" /Resources << /Font << /F1 3 0 R >> {extra} >> >>"
    ).encode()


def stream(body: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s>>\nstream\n%s\nendstream" % (len(body), more, body)


def document(*objects: bytes) -> bytes:
    return assembled(objects, "/Root 1 0 R")


def object_stream_loop() -> bytes:
    """An object stream that extends itself and says that it lies within itself."""
    held = zlib.compress(b"1 0 2 40 " + CATALOG.ljust(40) + ONE_PAGE)
    out = b"%PDF-1.5\n"
    at = len(out)
    out += b"4 0 obj\n" + stream(
        held, b"/Type /ObjStm /N 2 /First 9 /Extends 4 0 R /Filter /FlateDecode "
    )
    out += b"\nendobj\n"
    start = len(out)
    entries = [(0, 0, 0), (2, 4, 0), (2, 4, 1), (0, 0, 0), (2, 4, 0), (2, 5, 0), (1, start, 0)]
    table = b"".join(struct.pack(">BIB", *entry) for entry in entries)
    head = b"/Type /XRef /Size 7 /W [1 4 1] /Root 1 0 R /Prev %d " % start
    out += b"6 0 obj\n" + stream(table, head) + b"\nendobj\n"
    assert at == 9
    return out + b"startxref\n%d\n%%%%EOF\n" % start


PAGE_TREE_LOOP = document(CATALOG, b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>", FONT)
DEEP_TREE = document(
    CATALOG,
    *(
        b"<< /Type /Pages /Kids [%d 0 R] /Count 1 /Parent %d 0 R >>" % (n + 3, n + 1)
        for n in range(5000)
    ),
)
MANY_CLAIMED = document(
    CATALOG,
    b"<< /Type /Pages /Kids [5 0 R] /Count 1000000 >>",
    FONT,
    b"<< >>",
    page(),
    stream(SOME_TEXT),
)


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
    "objects",
    [
        (
            b"<< /Type /Catalog /Pages 2 0 R /Outlines 7 0 R >>", ONE_PAGE, FONT, b"<< >>", page(),
            stream(SOME_TEXT), b"<< /Type /Outlines /First 8 0 R /Last 8 0 R >>",
            b"<< /Title (a) /Parent 7 0 R /Next 8 0 R /First 8 0 R /Dest [5 0 R /Fit] >>",
        ),
        (
            CATALOG, b"<< /Type /Pages /Kids [5 0 R 2 0 R] /Count 2 >>", FONT, b"<< >>", page(),
            stream(SOME_TEXT),
        ),
        (
            CATALOG, ONE_PAGE, FONT, b"<< >>", page("/XObject << /X 7 0 R >>"),
            stream(SOME_TEXT + b"/X Do"), stream(b"/X Do ", FORM),
        ),
    ],
    ids=["outline loop", "page tree with a loop in it", "a form that shows itself"],
)  # fmt: skip
def test_a_loop_costs_no_text(objects: tuple[bytes, ...]) -> None:
    assert parse_bytes(document(*objects), ".pdf").text == "Some text.\n"


def test_a_bomb_ends_with_its_process_and_the_next_file_is_read() -> None:
    paths = zlib.compress(b"0 0 m 1 1 l S\n" * (2 << 20), 1)
    bomb = document(
        CATALOG, ONE_PAGE, FONT, b"<< >>", page(), stream(paths, b"/Filter /FlateDecode ")
    )
    with ParserPool(1, ParseLimits(memory_mb=256, cpu_s=10)) as pool:
        with pytest.raises(IngestError) as caught:
            pool.submit(bomb, ".pdf").result()
        assert caught.value.reason in {
            "parser crashed (signal 6)",
            "parser ran out of memory (limit 256 MB)",
            "parser used more than 10 s of CPU time",
        }
        after = pdf([text(72, 400, "The next file.")])
        assert pool.submit(after, ".pdf").result().text == "The next file.\n"


def test_a_picture_as_thin_as_a_line_is_not_enlarged() -> None:
    data = pdf([SHOW_IMAGE], page="/MediaBox [0 0 14400 1]", picture=image(1, 1, b"a"))
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, ".pdf")
    assert caught.value.reason.startswith("no text layer")
