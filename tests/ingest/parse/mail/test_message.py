"""E-mails: charsets and names declared wrongly, alternatives, attachments, Outlook's own."""

import email.policy
import io
import struct
from collections.abc import Mapping
from email.message import EmailMessage

import pytest

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import CONTAINERS, members_of, parse_bytes
from ragkit_ingest.parse.mail import msg
from ragkit_ingest.parse.mail.flowed import unflowed
from ragkit_ingest.parse.mail.message import text_of
from ragkit_ingest.parse.mail.outlook import Properties
from tests.places import DATA

SAMPLES = DATA / "documents" / "email"
HEAD = "From: Ann <ann@example.org>\r\nTo: Bob <bob@example.org>\r\nSubject: Lenses\r\n"


def parse(data: bytes) -> ParsedText:
    return parse_bytes(data, ".eml")


def body(head: str, content: bytes) -> str:
    """Parse a mail of one part and return its text below the header paragraph."""
    text = parse(f"{HEAD}MIME-Version: 1.0\r\n{head}\r\n\r\n".encode() + content).text
    lead = "# Lenses\n\nFrom: Ann <ann@example.org>\nTo: Bob <bob@example.org>\n\n"
    assert text.startswith(lead)
    return text.removeprefix(lead)


def reason(data: bytes, suffix: str = ".eml") -> str:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, suffix)
    assert "\n" not in caught.value.reason
    return caught.value.reason


def mail(text: str = "Hello.") -> EmailMessage:
    message = EmailMessage(policy=email.policy.SMTP)
    message["From"] = "李伟 <li@example.cn>"
    message["To"] = "Bob <bob@example.org>"
    message["Cc"] = "Carol <carol@example.org>"
    message["Subject"] = "显微镜的报价 " * 6
    message["Date"] = "Thu, 05 Feb 2026 09:30:00 +0800"
    message.set_content(text)
    return message


def test_header_text_and_metadata() -> None:
    parsed = parse(mail("Dear Bob,\n\nit costs 12.\n").as_bytes())
    subject = " ".join(["显微镜的报价"] * 6)
    assert parsed.text == (
        f"# {subject}\n\nFrom: 李伟 <li@example.cn>\nTo: Bob <bob@example.org>\n"
        "Cc: Carol <carol@example.org>\nDate: 2026-02-05 09:30 +0800\n\nDear Bob,\n\nit costs 12.\n"
    )
    assert parsed.title == subject
    assert parsed.metadata == {
        "author": "李伟",
        "from": "李伟 <li@example.cn>",
        "to": "Bob <bob@example.org>",
        "cc": "Carol <carol@example.org>",
        "created": "2026-02-05T09:30:00+08:00",
    }
    kinds = [(block.kind, block.level) for block in parsed.blocks]
    assert kinds == [("heading", 1), ("paragraph", 0), ("paragraph", 0), ("paragraph", 0)]


RARE = "朱镕基与显微镜：请尽快确认订单的数量和价格。"  # GB 2312 lacks its second character


@pytest.mark.parametrize(
    ("declared", "real"),
    [
        ('; charset="gb2312"', "gb18030"),
        ("; charset=iso-8859-1", "gb18030"),
        ("; charset=us-ascii", "utf-8"),
        ("; charset=x-unknown-9", "gb18030"),
        ("; charset=utf-8", "gb18030"),
        ("; charset=", "utf-8"),
        ("", "gb18030"),
        ("; charset=zip", "utf-8"),
    ],
)
def test_charsets_that_lie_or_miss(declared: str, real: str) -> None:
    head = f"Content-Type: text/plain{declared}\r\nContent-Transfer-Encoding: 8bit"
    assert body(head, RARE.encode(real)) == RARE + "\n"


def test_western_text_stays_western() -> None:
    french = "Où est passée la réponse ? Très déçu, à bientôt chère élève, ça suffit."
    assert text_of(french.encode("cp1252"), "iso-8859-1") == french
    assert text_of("naïve café".encode("latin-1"), "latin-1") == "naïve café"


def test_transfer_encodings() -> None:
    quoted = (
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable"
    )
    assert body(quoted, b"caf=C3=A9 =\r\nau lait =ZZ") == "café au lait =ZZ\n"
    coded = "Content-Type: text/plain; charset=gbk\r\nContent-Transfer-Encoding: base64"
    assert body(coded, b"z9TOor61") == "显微镜\n"


def test_subjects_split_in_the_middle_of_a_character() -> None:
    raw = b"Subject: =?utf-8?B?5pi+5b4=?=\r\n =?utf-8?B?rumVnA==?=\r\nFrom: a@b.c\r\n\r\nx\r\n"
    assert parse(raw).title == "显微镜"
    plain = "Subject: 显微镜报价单请查收\r\nFrom: a@b.c\r\n\r\nx\r\n".encode("gb18030")
    assert parse(plain).title == "显微镜报价单请查收"
    assert parse(b"Subject: =?x-none?Q?a=20b?=\r\n\r\nx").title == "a b"


def test_html_only_where_no_plain_text_says_it() -> None:
    message = mail("Plain words.")
    message.add_alternative("<p>HTML <b>words</b>.</p>", subtype="html")
    assert parse(message.as_bytes()).text.endswith("\n\nPlain words.\n")
    stub = mail("Your program cannot show HTML.")
    stub.add_alternative("<h2>Offer</h2><p>价格 <b>12</b></p>", subtype="html")
    assert parse(stub.as_bytes()).text.endswith("\n\n## Offer\n\n价格 12\n")


def test_a_footer_does_not_hide_the_html_before_it() -> None:
    message = EmailMessage()
    message["Subject"] = "s"
    message.set_content("<p>The news.</p>", subtype="html")
    message.make_mixed()
    footer = EmailMessage()
    footer.set_content("list footer")
    message.attach(footer)
    assert parse(message.as_bytes()).text == "# s\n\nThe news.\n\nlist footer\n"


def test_attachments_and_pictures() -> None:
    inner = EmailMessage()
    inner["Subject"] = "Old: news/views"
    inner["From"] = "x@example.org"
    inner.set_content("inner text")
    message = mail("See below.")
    message.add_alternative("<p>See <img src='cid:logo'></p>", subtype="html")
    page = message.get_payload()[1]  # type: ignore[index]
    assert isinstance(page, EmailMessage)
    page.add_related(b"png", "image", "png", cid="<logo>", filename="logo.png")
    message.add_attachment("表 1".encode(), "text", "csv", filename="报价 单.csv")
    message.add_attachment(b"%PDF", "application", "pdf", filename="../../a.pdf")
    message.add_attachment(b"2", "application", "pdf", filename="a.pdf")
    message.add_attachment(b"jpg", "image", "jpeg", filename="photo.jpg")
    message.add_attachment(inner)
    data = message.as_bytes()
    members = members_of(data, ".eml")
    assert [name for name, _ in members] == [
        "报价 单.csv",
        "a.pdf",
        "a (2).pdf",
        "photo.jpg",
        "Old: news-views.eml",
    ]
    assert dict(members)["报价 单.csv"] == "表 1".encode()
    assert parse(members[-1][1]).text == "# Old: news/views\n\nFrom: x@example.org\n\ninner text\n"
    parsed = parse(data)
    assert parsed.notes == {"inline images": 1}
    names = "报价 单.csv, a.pdf, a (2).pdf, photo.jpg, Old: news-views.eml"
    assert parsed.metadata["attachments"] == names
    assert f"\nAttachments: {names}\n\nSee below.\n" in parsed.text
    assert "inner text" not in parsed.text


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b'attachment; filename="=?gb2312?B?z9TOor61LnR4dA==?="', "显微镜.txt"),
        (
            b"attachment; filename*0*=utf-8''%E6%98%BE%E5%BE%AE; filename*1*=%E9%95%9C.txt",
            "显微镜.txt",
        ),
        (
            b'attachment; filename="' + "显微镜报价单.txt".encode("gb18030") + b'"',
            "显微镜报价单.txt",
        ),
        (b"attachment; filename*=klingon''a.txt", "a.txt"),
        (b"attachment", "attachment.txt"),
    ],
)
def test_names_of_attachments(header: bytes, name: str) -> None:
    data = (
        HEAD.encode() + b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: text/plain\r\nContent-Disposition: "
        + header
        + b"\r\n\r\nhi\r\n--b--\r\n"
    )
    assert members_of(data, ".eml") == [(name, b"hi")]


def test_flowed_text_is_joined() -> None:
    assert unflowed("one \ntwo\n> a \n> b\n-- \nme ") == "one two\n> a b\n-- \nme "
    head = "Content-Type: text/plain; format=flowed; delsp=yes"
    assert body(head, "显微 \r\n镜".encode()) == "显微镜\n"


def test_what_is_no_readable_mail() -> None:
    assert reason(b"just a text\nwith: a colon\n") == (
        "not an e-mail: it has no header such as From or Subject"
    )
    locked = (
        "MIME-Version: 1.0\r\nContent-Type: {}\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA"
    )
    for kind in ("application/pkcs7-mime; smime-type=enveloped-data", "multipart/encrypted"):
        assert reason((HEAD + locked.format(kind)).encode()) == (
            "encrypted or sealed e-mail: save it decrypted to read it"
        )
    deep = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(1000))
    assert reason((HEAD + deep).encode()) == "parts nested too deeply for an e-mail"


def test_truncation_loses_only_what_is_cut_off() -> None:
    message = mail("All of it. " * 10)
    message.add_attachment(b"x" * 500, "application", "octet-stream", filename="a.bin")
    data = message.as_bytes()
    for size in range(250, len(data), 97):
        assert parse(data[:size]).metadata["from"] == "李伟 <li@example.cn>"
        members_of(data[:size], ".eml")


def test_headers_that_exhaust_a_parser() -> None:
    for value in ("a,<(" * 50_000, "(" * 100_000, "=?utf-8?q?a?= " * 50_000):
        assert parse(f"From: {value}\n\nhi".encode()).text.endswith("hi\n")


def test_dates_and_headers_that_make_no_sense() -> None:
    parsed = parse(b"From: \r\nDate: 99 Foo 2026 77:00\r\nTo: " + b"a@b.c, " * 5000 + b"\r\n\r\nhi")
    assert "created" not in parsed.metadata
    assert len(parsed.metadata["to"]) == 1000


needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"no test documents at {SAMPLES}: set RAGKIT_TEST_DATA"
)


@needs_samples
@pytest.mark.parametrize("name", ["eml_simple.eml", "msg_simple.msg"])
def test_real_files(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    parsed = parse_bytes(data, name[-4:])
    assert parsed.title == "Simple Email"
    assert parsed.metadata["from"] == "Alice Example <alice@example.com>"
    assert parsed.metadata["to"] == "Bob Example <bob@example.com>"
    assert parsed.text.endswith("\n\nHello Bob,\n\nThis is a simple email body.\n")
    assert members_of(data, name[-4:]) == []
    assert name[-4:] in CONTAINERS


@needs_samples
def test_outlook_files_cut_or_foreign() -> None:
    data = (SAMPLES / "msg_simple.msg").read_bytes()
    assert parse_bytes(data, ".msg").metadata["created"] == "2026-05-20T10:30:00+00:00"
    assert reason(b"hello", ".msg") == "not an Outlook message: it is no compound file"
    reasons = {reason(data[:size], ".msg") for size in (8, 100, 511)}
    assert reasons == {"truncated or damaged Outlook message"}


class Streams:
    """Stands for a compound file: its streams by path."""

    def __init__(self, streams: Mapping[str, bytes]) -> None:
        self.streams = {tuple(path.split("/")): data for path, data in streams.items()}

    def openstream(self, path: list[str]) -> io.BytesIO:
        return io.BytesIO(self.streams[tuple(path)])

    def properties(self) -> Properties:
        paths = {path[:size] for path in self.streams for size in range(1, len(path) + 1)}
        return Properties(self, {path: path for path in paths}, ())


PROPERTIES = "__properties_version1.0"


def fixed(head: int, **values: int) -> bytes:
    """Write a list of properties of fixed size below a head of so many bytes."""
    entries = (struct.pack("<HHIQ", 3, int(key[1:], 16), 0, value) for key, value in values.items())
    return bytes(head) + b"".join(entries)


def utf16(text: str) -> bytes:
    return text.encode("utf-16-le")


def test_an_outlook_message_with_attachments(monkeypatch: pytest.MonkeyPatch) -> None:
    attached = "__attach_version1.0_#0000000{}"
    inner = f"{attached.format(2)}/__substg1.0_3701000d"
    streams = Streams(
        {
            # Code page 936, and sent on 2026-02-05 at 01:30 UTC.
            PROPERTIES: fixed(32, x3fde=936, x0039=134_147_286_000_000_000),
            "__substg1.0_0037001f": utf16("报价"),
            "__substg1.0_0c1a001f": utf16("Li Wei"),
            "__substg1.0_5d01001f": utf16("li@example.cn"),
            "__substg1.0_1000001e": b"   ",
            "__substg1.0_10130102": "<p>价格 <b>12</b></p>".encode("gbk"),
            "__recip_version1.0_#00000000/" + PROPERTIES: fixed(8, x0c15=2),
            "__recip_version1.0_#00000000/__substg1.0_3001001f": utf16("Carol"),
            attached.format(0) + "/" + PROPERTIES: fixed(8),
            attached.format(0) + "/__substg1.0_3707001f": utf16("..\\表.csv"),
            attached.format(0) + "/__substg1.0_37010102": b"1,2",
            attached.format(1) + "/" + PROPERTIES: fixed(8),
            attached.format(1) + "/__substg1.0_3707001f": utf16("logo.png"),
            attached.format(1) + "/__substg1.0_3712001f": utf16("cid1"),
            attached.format(2) + "/" + PROPERTIES: fixed(8),
            attached.format(2) + "/__substg1.0_3001001f": utf16("Old mail"),
            inner + "/" + PROPERTIES: fixed(24),
            inner + "/__substg1.0_0037001f": utf16("Old mail"),
            inner + "/__substg1.0_1000001f": utf16("old text"),
        }
    )
    monkeypatch.setattr(msg, "open_outlook", lambda data: streams.properties())
    parsed = parse_bytes(b"x", ".msg")
    assert parsed.text == (
        "# 报价\n\nFrom: Li Wei <li@example.cn>\nCc: Carol\nDate: 2026-02-05 01:30 +0000\n"
        "Attachments: 表.csv, Old mail.eml\n\n价格 12\n"
    )
    assert parsed.notes == {"inline images": 1}
    members = members_of(b"x", ".msg")
    assert members[0] == ("表.csv", b"1,2")
    assert members[1][0] == "Old mail.eml"
    assert parse(members[1][1]).text == "# Old mail\n\nold text\n"
    assert len(members) == 2
