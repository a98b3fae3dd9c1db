"""Office files that lie, explode, are locked or torn: a line of reason each, and little memory."""

import struct
import tracemalloc
import zipfile

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import ParseOptions, parse_bytes
from tests.ingest.poison import MEGABYTE, zipped

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ROOT = (
    f'<Relationships><Relationship Id="a" Type="{RELATIONS}/officeDocument"'
    ' Target="word/document.xml"/></Relationships>'
)
BODY = '<d xmlns="urn:w"><body><p><r><t>text</t></r></p></body></d>'


def docx(**members: bytes | str) -> bytes:
    return zipped({"_rels/.rels": ROOT, "word/document.xml": BODY} | members)


def reason(data: bytes, suffix: str = ".docx", budget: int = 8 * MEGABYTE) -> str:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, suffix, ParseOptions(unzipped_bytes=budget))
    assert caught.value.stage == "parse"
    assert "\n" not in caught.value.reason
    return caught.value.reason


def test_the_plain_document_is_read() -> None:
    assert parse_bytes(docx(), ".docx", ParseOptions(unzipped_bytes=MEGABYTE)).text == "text\n"


@pytest.fixture(scope="module")
def bomb() -> bytes:
    return docx(**{"word/media/image1.png": bytes(100 * MEGABYTE)})


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx"])
def test_a_bomb_stops_at_the_budget(bomb: bytes, suffix: str) -> None:
    assert len(bomb) < MEGABYTE
    tracemalloc.start()
    message = reason(bomb, suffix)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message == "unpacks to more than the budget of 8 MB (RAGKIT_PARSE_UNZIPPED_MB)"
    assert peak < 32 * MEGABYTE


def test_many_small_members_share_the_budget() -> None:
    members = {f"word/{n}.xml": b"<a>" + bytes(MEGABYTE - 3) for n in range(9)}
    assert reason(docx(**members)).startswith("unpacks to more than the budget")


def test_a_member_that_lies_about_its_size_is_damaged() -> None:
    data = bytearray(docx(**{"word/big.xml": b"x" * 5 * MEGABYTE}))
    place = data.rindex(b"word/big.xml") - 46  # its entry in the archive's directory
    assert data[place : place + 4] == b"PK\x01\x02"
    struct.pack_into("<I", data, place + 24, 1000)
    assert reason(bytes(data)) == "damaged zip member 'word/big.xml'"


def test_too_many_members() -> None:
    members = {f"{n}": b"" for n in range(20_001)}
    assert reason(zipped(members)) == "more than 20000 members in its zip archive"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "content",
    [
        '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><d>&b;</d>',
        '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d><body><p>&x;</p></body></d>',
        "<!-- " + "x" * MEGABYTE + " --><!DOCTYPE d><d/>",
    ],
)
def test_a_document_type_is_refused(content: str, encoding: str) -> None:
    message = reason(docx(**{"word/document.xml": content.encode(encoding)}))
    assert message == "a DOCTYPE in its member 'word/document.xml'"


def test_an_encrypted_member_is_named() -> None:
    data = bytearray(docx())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = data.index(mark)
        data[place + offset] |= 1
    assert reason(bytes(data)) == "encrypted: its zip members need a password"


def test_an_unusual_compression_is_refused() -> None:
    odd = zipped({"_rels/.rels": ROOT}, method=zipfile.ZIP_LZMA)
    assert reason(odd) == "zip method 14, which Office never uses"


def test_office_files_that_are_no_zip() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)
    locked = ole + "EncryptedPackage".encode("utf-16-le")
    remedy = "save it without a password in today's format"
    assert reason(locked) == f"encrypted: it needs a password; {remedy}"
    assert reason(ole) == f"an old binary Office file; {remedy}"
    assert reason(b"hello") == "not really a zip archive, which its format is made of"
    assert reason(b"") == "the file is empty (0 bytes)"
    assert reason(zipped({"a.txt": "x"})) == (
        "not an Office document: its archive has no main part"
    )


def test_every_truncation_is_one_line_of_reason() -> None:
    data = docx()
    assert {reason(data[:size]) for size in range(4, len(data), 41)} == {
        "truncated or damaged zip archive, which its format is made of"
    }


def test_damaged_xml_is_named() -> None:
    message = reason(docx(**{"word/document.xml": "<d><body>"}))
    assert message.startswith("damaged XML in its member 'word/document.xml': ")


def test_nesting_is_bounded() -> None:
    deep = "<d><body>" + "<p>" * 5000 + "</p>" * 5000 + "</body></d>"
    assert "word/document.xml" in reason(docx(**{"word/document.xml": deep}))


def test_a_document_without_text_is_empty() -> None:
    assert reason(docx(**{"word/document.xml": "<d/>"})) == "the file is empty: no text in it"
