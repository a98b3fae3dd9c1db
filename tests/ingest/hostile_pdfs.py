"""PDFs that refer to themselves, lie, are cut off or locked, made on the spot."""

import struct
import zlib
from collections.abc import Mapping
from typing import Final

from tests.ingest.pdfs import assembled, text

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

PAGES = (ONE_PAGE, FONT, b"<< >>", page(), stream(SOME_TEXT))
OUTLINE_LOOP = document(
    b"<< /Type /Catalog /Pages 2 0 R /Outlines 7 0 R >>", *PAGES,
    b"<< /Type /Outlines /First 8 0 R /Last 8 0 R >>",
    b"<< /Title (a) /Parent 7 0 R /Next 8 0 R /First 8 0 R /Dest [5 0 R /Fit] >>",
)  # fmt: skip
LABEL_LOOP = document(
    b"<< /Type /Catalog /Pages 2 0 R /PageLabels 7 0 R >>", *PAGES,
    b"<< /Kids [8 0 R] >>", b"<< /Limits [0 0] /Kids [7 0 R] >>",
)  # fmt: skip
TREE_WITH_A_LOOP = document(CATALOG, b"<< /Type /Pages /Kids [5 0 R 2 0 R] /Count 2 >>", *PAGES[1:])
FORM_LOOP = document(
    CATALOG, ONE_PAGE, FONT, b"<< >>", page("/XObject << /X 7 0 R >>"),
    stream(SOME_TEXT + b"/X Do"), stream(b"/X Do ", FORM),
)  # fmt: skip
_SECRET: Final = b"<" + b"41" * 32 + b">"
ENCRYPTED = assembled(
    (
        *(CATALOG, *PAGES),
        b"<< /Filter /Standard /V 1 /R 2 /O %s /U %s /P -44 >>" % (_SECRET, _SECRET),
    ),
    "/Root 1 0 R /Encrypt 7 0 R /ID [<00> <00>]",
)
TRUNCATED = document(CATALOG, *PAGES)[:200]

PDFS: Final[Mapping[str, bytes]] = {
    "truncated.pdf": TRUNCATED,
    "encrypted.pdf": ENCRYPTED,
    "page-tree-loop.pdf": PAGE_TREE_LOOP,
    "deep-page-tree.pdf": DEEP_TREE,
    "million-pages.pdf": MANY_CLAIMED,
    "object-stream-loop.pdf": object_stream_loop(),
    "outline-loop.pdf": OUTLINE_LOOP,
    "label-loop.pdf": LABEL_LOOP,
    "page-and-loop.pdf": TREE_WITH_A_LOOP,
    "form-loop.pdf": FORM_LOOP,
}
