"""Real archives and mails, unpacked by real parser processes."""

import io
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parser.pool import ParserPool
from ragkit_ingest.parser.spool import Part
from ragkit_ingest.sources import expanded, find


def test_a_mail_with_an_attachment_in_an_archive_and_a_torn_one(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["Subject"] = "Leave"
    mail.set_content("See the attachment.")
    mail.add_attachment(b"# Leave\n", maintype="text", subtype="markdown", filename="leave.md")
    _zip(tmp_path / "x.zip", {"mail.eml": mail.as_bytes(), "../a.md": b"A", "x.bin": b"?"})
    (tmp_path / "y.zip").write_bytes(b"PK\x03\x04 torn")
    listing = find([str(tmp_path)])
    good, torn = listing
    with ParserPool(1) as pool:

        def unpack(data: bytes, suffix: str) -> list[tuple[str, Part]]:
            return pool.members(data, suffix).result()

        items = list(expanded(good, good.read(1 << 20), unpack))
        with pytest.raises(IngestError, match="parse: "):
            expanded(torn, torn.read(1 << 20), unpack)
    root = f"{tmp_path}/x.zip!"
    assert [item.uri for item in items] == [
        f"{root}/mail.eml",
        f"{root}/a.md",
        f"{root}/mail.eml!/leave.md",
    ]
    assert items[2].read(100) == b"# Leave\n"
    assert [file.uri for file in listing.skipped.named] == [f"{root}/x.bin"]
    assert listing.covers(f"{root}/gone.md")
    assert not listing.covers(f"{tmp_path}/y.zip!/gone.md")


def _zip(file: Path, members: dict[str, bytes]) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    file.write_bytes(data.getvalue())
