"""Mailboxes and web archives: mails by themselves, names that stay, files that are none."""

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import members_of, parse_bytes

FIRST = (
    b"From: Ann <ann@example.org>\nSubject: Lens\n\nWipe it.\n\n%sFrom now on daily.\n\nFrom her\n"
)
SECOND = b"From: Bo <bo@example.org>\nSubject: =?utf-8?q?a/=E4=BC=9A?=\n\nText\n"
LINE = b"From ann@example.org Tue Feb  3 10:00:00 2026\n"
BOX = LINE + FIRST % b">" + b"\n" + LINE + SECOND + b"\n"


def test_each_mail_is_a_file() -> None:
    members = members_of(BOX, ".mbox")
    assert [mail for _, mail in members] == [FIRST % b"", SECOND]
    assert [name.rpartition(" ")[0] for name, _ in members] == ["Lens", "a-会"]
    assert all(name.endswith(".eml") for name, _ in members)
    assert parse_bytes(members[0][1], ".eml").title == "Lens"


def test_a_mail_keeps_its_name_when_others_go() -> None:
    names = [name for name, _ in members_of(BOX, ".mbox")]
    assert [name for name, _ in members_of(LINE + SECOND, ".mbox")] == names[1:]
    assert [name for name, _ in members_of(BOX + LINE + SECOND, ".mbox")] == names


def test_line_ends_of_windows() -> None:
    members = members_of(BOX.replace(b"\n", b"\r\n"), ".mbox")
    assert len(members) == 2


@pytest.mark.parametrize("data", [b"hello", b"Subject: x\n\nFrom a 2026\n", b"From here\n"])
def test_what_is_no_mailbox(data: bytes) -> None:
    with pytest.raises(IngestError, match="not a mailbox: it does not begin with"):
        members_of(data, ".mbox")


ARCHIVE = (
    "From: <Saved by Blink>\r\nSubject: Lens\r\nMIME-Version: 1.0\r\nContent-Type:"
    ' multipart/related; type="text/html"; boundary="b"\r\n\r\n--b\r\nContent-Type: {}\r\n'
    "Content-Transfer-Encoding: quoted-printable\r\n\r\n<html><body><h1>=C4=E3</h1>"
    "<p>Wipe=3D the lens every day with a soft cloth.</p></body></html>\r\n--b\r\n"
    "Content-Type: text/css\r\n\r\nsecret\r\n--b--\r\n"
)


def test_the_page_of_a_web_archive() -> None:
    parsed = parse_bytes(ARCHIVE.format("text/html; charset=gbk").encode(), ".mhtml")
    assert parsed.text == "# 你\n\nWipe= the lens every day with a soft cloth.\n"
    assert parsed.title == "Lens"


def test_web_archives_that_are_none() -> None:
    with pytest.raises(IngestError, match="a web archive without a page"):
        parse_bytes(ARCHIVE.format("image/png").encode(), ".mht")
    with pytest.raises(IngestError, match="not an e-mail"):
        parse_bytes(b"hello", ".mht")
