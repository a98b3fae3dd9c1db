"""What could not be looked into once, and can be now, is no failure in the ledger any more."""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.settings.settings import Settings
from ragkit.store.open import Database, open_database
from ragkit_ingest.run.run import ingest
from ragkit_ingest.sources import RecordFields, SourceOptions

pytestmark = pytest.mark.usefixtures("shared_model")


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    return Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with open_database(settings) as opened:
        # One that an ingestion makes goes again, with its ledger, where nothing could be read.
        opened.store("default").create_collection("default")
        yield opened


def states(database: Database) -> dict[str, str]:
    return {Path(job.uri).name: job.state for job in database.store("default").job_ledger.jobs()}


@pytest.mark.parametrize("unreadable", ["documents", "sub"])
def test_a_folder_that_can_be_listed_again(
    unreadable: str,
    database: Database,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "documents"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.md").write_text("# Leave\n")
    (folder / "empty.txt").write_text("")
    scandir = os.scandir

    def refuse(path: str) -> object:  # permissions say nothing to root, who may run this
        if Path(path).name == unreadable:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    with monkeypatch.context() as context:
        context.setattr(os, "scandir", refuse)
        ingest([folder], settings=settings)
    assert states(database)[unreadable] == "failed"
    assert ingest([tmp_path / "documents" / "empty.txt"], settings=settings).failed == 1
    assert states(database)[unreadable] == "failed", "nobody looked into it"
    report = ingest([folder], settings=settings)
    assert (report.added, report.failed) == (1, 1)
    assert states(database) == {"a.md": "done", "empty.txt": "failed", unreadable: "done"}
    jobs = database.store("default").job_ledger.jobs(state="done")
    assert [(job.stage, job.reason) for job in jobs] == [("", ""), ("", "")]


def test_an_archive_and_a_file_of_records_that_can_be_read_again(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "x.zip").write_bytes(b"PK\x03\x04 torn")
    (folder / "rows.csv").write_bytes(b"another\nx\n")
    options = SourceOptions(records=RecordFields(("body",)))
    ingest([folder], settings=settings, sources=options)
    assert {states(database)[name] for name in states(database)} == {"failed"}
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("a.md", "# Leave\n")
    (folder / "rows.csv").write_bytes(b"body\nx\n")
    assert ingest([folder], settings=settings, sources=options).failed == 0
    assert set(states(database).values()) == {"done"}
