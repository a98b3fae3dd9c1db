"""Originals of documents that were taken in from places: by the hash that ingestion has stored."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.errors import NotFoundError
from ragkit.settings.settings import Settings
from ragkit.store.jobs.originals import Originals
from ragkit.store.open import open_database
from ragkit_ingest.run.run import ingest
from tests.commands import Commands
from tests.ingest.pdfs import column, pdf

INFO = "/Title (Leave) /Author (Ada) /CreationDate (D:20200402)"


def leave(days: int) -> bytes:
    return pdf([column(72, 700, [f"Everybody has {days} days of leave a year."])], info=INFO)


@pytest.mark.usefixtures("shared_model")
def test_files_are_known_again_whatever_the_user_said_of_them(
    fresh_database: str, tmp_path: Path
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for days in (28, 30):
        (folder / f"{days}.pdf").write_bytes(leave(days))
    (folder / "30.pdf.meta.json").write_text('{"title": "Days", "author": "Eve", "year": 2024}')
    (tmp_path / "alone.pdf").write_bytes(leave(32))
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("inside.pdf", leave(34))
    ragkit = Commands(fresh_database, tmp_path)
    ragkit("ingest", "documents")
    ragkit("ingest", "alone.pdf", "--meta", "dept=人事", "--title", "Alone")
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        named = {one.uri: one.id for one in database.store("default").documents("default")}
        originals = Originals(database.pool, "default")
        for path, days in ((folder / "28.pdf", 28), (folder / "30.pdf", 30)):
            assert originals.read(originals.find(named.pop(str(path)))) == leave(days)
        assert originals.read(originals.find(named.pop(str(tmp_path / "alone.pdf")))) == leave(32)
        ((uri, inside),) = named.items()
        assert uri.endswith("more.zip!/inside.pdf")
        with pytest.raises(NotFoundError, match="only uploads, and files of folders"):
            originals.find(inside)


@pytest.mark.usefixtures("shared_model")
def test_a_masked_file_has_no_original(fresh_database: str, tmp_path: Path) -> None:
    path = tmp_path / "write.pdf"
    path.write_bytes(pdf([column(72, 700, ["Write to ada@example.com about leave."])]))
    masking = Settings(database_url=SecretStr(fresh_database), mask="email")
    ingest([path], settings=masking)
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        (document,) = database.store("default").documents("default")
        with pytest.raises(NotFoundError, match="private data is masked"):
            Originals(database.pool, "default").find(document.id)
