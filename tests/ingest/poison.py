"""Files that lie, explode, loop, nest or are not what their names say, made on the spot.

Each maker gives a file's bytes; `FILES` names them. What has to become of them is the tests' to
say.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from tests.ingest.hostile_pdfs import PDFS

MEGABYTE: Final = 1 << 20
RELATION: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ROOT: Final = (
    f'<Relationships><Relationship Id="a" Type="{RELATION}/officeDocument"'
    ' Target="word/document.xml"/></Relationships>'
)
WORDS: Final = "<d xmlns='urn:w'><body><p><r><t>{}</t></r></p></body></d>"
_CONTAINER: Final = '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'


def zipped(members: Mapping[str, bytes | str], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Make a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def docx(body: str = WORDS.format("text"), **more: bytes | str) -> bytes:
    """Make a Word document of a body and further members."""
    return zipped({"_rels/.rels": _ROOT, "word/document.xml": body} | more)


def bomb(name: str, *others: tuple[str, str], size_mb: int = 260) -> bytes:
    """Make an archive of less than a megabyte with a member of so many megabytes of spaces."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for other, content in others:
            archive.writestr(other, content)
        with archive.open(name, "w", force_zip64=True) as member:
            for _ in range(size_mb):
                member.write(b" " * MEGABYTE)
    return buffer.getvalue()


def lying(claimed: int) -> bytes:
    """Make an archive whose member is said to have another size than it has."""
    data = bytearray(zipped({"big.txt": b"x" * 2 * MEGABYTE}))
    struct.pack_into("<I", data, data.rindex(b"big.txt") - 46 + 24, claimed)
    return bytes(data)


def nested(depth: int, width: int) -> bytes:
    """Make archives in archives, each with so many copies of the next."""
    data = zipped({"zeros.txt": bytes(MEGABYTE)})
    for _ in range(depth):
        data = zipped({f"{n:02}.zip": data for n in range(width)})
    return data


def laughs() -> str:
    """Ten entities, each of ten of the one before."""
    entities = "".join(
        f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "ha">' for n in range(10)
    )
    return f"<!DOCTYPE d [{entities}]><d>&l9;</d>"


def quadratic() -> str:
    """One long entity, used often."""
    return f'<!DOCTYPE d [<!ENTITY a "{"a" * 50_000}">]><d>{"&a;" * 50_000}</d>'


def mail(parts: str) -> bytes:
    """Make an e-mail of a body that is given with its own Content-Type."""
    return f"From: a@example.com\nSubject: Poison\nMIME-Version: 1.0\n{parts}".encode()


def mail_of_parts(count: int) -> bytes:
    """Make an e-mail of so many parts beside each other."""
    part = "--b\nContent-Type: application/octet-stream; name=a.txt\n\nx\n"
    return mail("Content-Type: multipart/mixed; boundary=b\n\n" + part * count + "--b--\n")


def mail_in_mail(depth: int) -> bytes:
    """Make an e-mail in an e-mail, and so on."""
    return mail("Content-Type: message/rfc822\n\nSubject: x\n" * depth + "\nInnermost.\n")


def multiparts(depth: int) -> bytes:
    """Make an e-mail of a part in a part, and so on."""
    opened = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(depth)
    )
    return mail(f"{opened}Content-Type: text/plain\n\nInnermost.\n")


def png(width: int, height: int, pixels: bytes = b"", extra: bytes = b"") -> bytes:
    """Make a picture that says that it is so large."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = _png_piece(b"IHDR", head) + extra + _png_piece(b"IDAT", zlib.compress(pixels, 9))
    return b"\x89PNG\r\n\x1a\n" + body + _png_piece(b"IEND", b"")


def _png_piece(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


_ZEROS: Final = zlib.compress(bytes(64 * MEGABYTE), 9)


def tiff(width: int, height: int, *, next_page: int = 0) -> bytes:
    """Make a TIFF that says that it is so large, and where its next page is."""
    entries = [
        *[(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1)],
        *[(262, 3, 1, 1), (273, 4, 1, 122), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, 4)],
    ]
    table = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    head = struct.pack("<2sHI", b"II", 42, 8)
    directory = struct.pack("<H", len(entries)) + table + struct.pack("<I", next_page)
    return head + directory + bytes(8)


def outlook(loop: bool = True) -> bytes:
    """Make an Outlook file whose table of sectors goes in a circle."""
    free, end, fat = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    head = struct.pack(
        "<8s16sHHHHH6sIIIIIIIIII",
        *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b""),
        *(0, 1, 1, 0, 4096, 2, 1, end, 0, 0),
    )
    sectors = [fat, 1 if loop else end, 2, free]  # the directory and its small table are circles
    table = struct.pack("<128I", *sectors, *([free] * 124))
    name = "Root Entry".encode("utf-16-le")
    root = struct.pack(
        "<64sHBBIII16sI8s8sIII",
        *(name, len(name) + 2, 5, 1, free, free, 0, b"", 0, b"", b"", 2, 4096, 0),
    )
    return head + struct.pack("<109I", 0, *([free] * 108)) + table + root + bytes(384) + bytes(512)


def notebook(outputs: int, size: int) -> str:
    """Make a notebook of a cell with so many outputs of so many characters."""
    made = [{"output_type": "stream", "name": "stdout", "text": "x" * size}] * outputs
    cell = {"cell_type": "code", "source": "print()", "metadata": {}, "outputs": made}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})


_BOOK: Final = (
    ("META-INF/container.xml", _CONTAINER),
    (
        "a.opf",
        '<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '</manifest><spine><itemref idref="a"/></spine></package>',
    ),
)


def epub(chapter: str) -> bytes:
    """Make a book of one chapter."""
    return zipped(dict(_BOOK) | {"a.xhtml": chapter})


Maker = Callable[[], bytes | str]

FILES: Final[Mapping[str, Maker]] = {
    **{name: partial(bytes, data) for name, data in PDFS.items()},
    # archives
    "bomb.docx": lambda: bomb("word/media/a.png", ("_rels/.rels", _ROOT)),
    "bomb.xlsx": lambda: bomb("xl/media/a.png", ("_rels/.rels", _ROOT)),
    "bomb.pptx": lambda: bomb("ppt/media/a.png", ("_rels/.rels", _ROOT)),
    "bomb.odt": lambda: bomb("content.xml"),
    "bomb.epub": lambda: bomb("a.xhtml", *_BOOK),
    "bomb.zip": lambda: bomb("spaces.txt"),
    "just-under.zip": lambda: zipped({f"{n}.txt": b" " * 25 * MEGABYTE for n in range(10)}),
    "claims-less.zip": lambda: lying(1000),
    "claims-more.zip": lambda: lying(3 * MEGABYTE),
    "nested.zip": lambda: nested(5, 16),
    # XML
    "laughs.xml": laughs,
    "quadratic.xml": quadratic,
    "laughs.docx": lambda: docx(laughs()),
    "laughs.odt": lambda: zipped({"content.xml": laughs()}),
    "laughs.epub": lambda: epub(laughs()),
    "deep.xml": lambda: "<a>" * 100_000,
    # not what they say
    "empty.pdf": lambda: b"",
    "empty.txt": lambda: b"",
    "binary.txt": lambda: bytes(range(256)) * 64,
    "zeros.txt": lambda: bytes(MEGABYTE),
    "text.docx": lambda: "This is no Word document.",
    # depth
    "deep.html": lambda: "<div>" * 100_000 + "Deep." + "<table><tr><td>" * 5_000,
    "deep.json": lambda: "[" * 200_000,
    "deep.md": lambda: "> " * 2_000 + "Deep.",
    "deep-list.md": lambda: "".join(" " * n + "- a\n" for n in range(200)),
    "deep.adoc": lambda: "*" * 2_000 + " Deep.\n" + "[" * 2_000,
    "deep.rst": lambda: "".join(" " * n + "- a\n\n" for n in range(1000)),
    "deep.org": lambda: "*" * 2_000 + " Deep.\n",
    "parts.eml": lambda: mail_of_parts(6_000),
    "mails.eml": lambda: mail_in_mail(3_000),
    "multiparts.eml": lambda: multiparts(3_000),
    # size
    "wide.csv": lambda: ",".join(["a"] * 1_000_000) + "\n",
    "line.txt": lambda: b"word " * (20 * MEGABYTE),
    "paragraphs.txt": lambda: b"a\n\n" * 500_100,
    "outputs.ipynb": lambda: notebook(3, 1_000_000),
    # pictures
    "huge.png": lambda: png(60_000, 60_000),
    "text.png": lambda: png(8, 8, bytes(200), _png_piece(b"zTXt", b"a\0\0" + _ZEROS)),
    "huge.tiff": lambda: tiff(60_000, 60_000),
    "pages.tiff": lambda: tiff(1, 1, next_page=8),
    "loop.msg": outlook,
}
