"""Electronic books: reading order, titles, pages, and books that are locked or hostile."""

import io
import zipfile
from collections.abc import Mapping

import pytest

from ragkit.errors import IngestError
from ragkit.types import Page
from ragkit_ingest.parse import ParseOptions, parse_bytes
from tests.places import DATA

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="urn:dc"><metadata>
<dc:title>Lens Care</dc:title><dc:creator>Ann Lee</dc:creator><dc:creator>Bo Ek</dc:creator>
<dc:language>en</dc:language><dc:date>2026-02-03</dc:date></metadata><manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="b" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="p" href="p.jpg" media-type="image/jpeg"/>
<item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="nav"/><itemref idref="a"/><itemref idref="p"/><itemref idref="b"/>
<itemref idref="gone"/><itemref idref="nobody"/></spine></package>"""
NAV = """<html xmlns:epub="urn:e"><body><nav epub:type="toc"><ol>
<li><a href="text/one.xhtml">First <i>steps</i></a></li>
<li><a href="text/two%20b.xhtml#x">Later</a></li></ol></nav></body></html>"""
ONE = (
    '<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd"><html><body>{}'
)


def book(files: Mapping[str, bytes | str] | None = None) -> bytes:
    buffer = io.BytesIO()
    members: dict[str, bytes | str] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": PACKAGE,
        "OEBPS/nav.xhtml": NAV,
        "OEBPS/text/one.xhtml": ONE.format("<p>Wipe the lens.</p><p>Twice.</p></body></html>"),
        "OEBPS/text/two b.xhtml": "<html><body><h2>Storing</h2><p>Keep it dry.</p></body></html>",
        "OEBPS/p.jpg": b"\xff\xd8\xff",
        **(files or {}),
    }
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def reason(data: bytes, budget: int = 8 << 20) -> str:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, ".epub", ParseOptions(unzipped_bytes=budget))
    assert "\n" not in caught.value.reason
    return caught.value.reason


def test_chapters_in_reading_order_with_titles_from_the_contents() -> None:
    parsed = parse_bytes(book(), ".epub")
    assert parsed.text == (
        "# First steps\n\nWipe the lens.\n\nTwice.\n\n## Storing\n\nKeep it dry.\n"
    )
    assert parsed.pages == (
        Page(0, 1, "First steps"),
        Page(parsed.text.index("## Storing"), 2, "Later"),
    )
    assert parsed.title == "Lens Care"
    assert parsed.metadata == {
        "author": "Ann Lee, Bo Ek",
        "book_language": "en",
        "created": "2026-02-03",
    }
    assert parsed.notes["missing chapters"] == 1
    assert [(block.kind, block.level) for block in parsed.blocks] == [
        ("heading", 1),
        ("paragraph", 0),
        ("paragraph", 0),
        ("heading", 2),
        ("paragraph", 0),
    ]


def test_titles_from_an_older_books_contents() -> None:
    ncx = (
        '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://127.0.0.1:1/ncx.dtd">'
        "<ncx><navMap><navPoint><navLabel><text>Beginning</text></navLabel>"
        '<content src="text/one.xhtml"/></navPoint></navMap></ncx>'
    )
    package = PACKAGE.replace(' properties="nav"', "").replace(
        'href="nav.xhtml" media-type="application/xhtml+xml"',
        'href="toc.ncx" media-type="application/x-dtbncx+xml"',
    )
    data = book({"OEBPS/book.opf": package, "OEBPS/toc.ncx": ncx})
    assert parse_bytes(data, ".epub").text.startswith("# Beginning\n\nWipe the lens.\n")


ENCRYPTION = (
    '<encryption xmlns:e="urn:enc"><e:EncryptedData><e:CipherData><e:CipherReference URI="{}"/>'
    "</e:CipherData></e:EncryptedData></encryption>"
)


def test_rights_management_is_said_and_locked_fonts_do_no_harm() -> None:
    locked = book({"META-INF/encryption.xml": ENCRYPTION.format("OEBPS/text/two%20b.xhtml")})
    assert reason(locked) == (
        "encrypted by digital rights management (DRM): only its own reader opens it"
    )
    fonts = book({"META-INF/encryption.xml": ENCRYPTION.format("OEBPS/font.otf")})
    assert parse_bytes(fonts, ".epub").title == "Lens Care"


def test_hostile_books() -> None:
    bomb = book({"OEBPS/text/one.xhtml": b"<p>" + bytes(20 << 20)})
    assert reason(bomb).startswith("unpacks to more than the budget of 8 MB")
    evil = '<!DOCTYPE package [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + PACKAGE
    assert reason(book({"OEBPS/book.opf": evil})) == (
        "a DOCTYPE that declares entities in its member 'OEBPS/book.opf'"
    )
    outside = PACKAGE.replace("text/one.xhtml", "../../../../etc/passwd")
    assert "root:" not in parse_bytes(book({"OEBPS/book.opf": outside}), ".epub").text
    assert reason(book({"META-INF/container.xml": "<container/>"})) == (
        "not an EPUB book: its archive names no package document"
    )
    assert reason(b"hello") == "not really a zip archive, which its format is made of"
    assert reason(book()[:-30]) == "truncated or damaged zip archive, which its format is made of"


@pytest.mark.skipif(not (DATA / "documents").is_dir(), reason=f"no test documents at {DATA}")
def test_a_real_book() -> None:
    path = DATA / "documents" / "epub" / "epub_purvis_poetry.epub"
    parsed = parse_bytes(path.read_bytes(), ".epub")
    assert (parsed.title, parsed.metadata["author"]) == ("Poetry", "Sarah Louisa Forten Purvis")
    labels = [page.label for page in parsed.pages]
    assert labels == ["Titlepage", "Imprint", "Poetry", "Colophon", "Uncopyright"]
    assert [page.number for page in parsed.pages] == [1, 2, 3, 4, 5]
