"""A text whose splitting or analysis never ends costs its file and nothing else."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJobs
from ragkit.store.open import Database, open_database
from ragkit_ingest.parser import pool
from ragkit_ingest.worker import worker
from ragkit_ingest.worker.enqueue import enqueue
from tests.commands import Commands
from tests.ingest.parser.faulty_splitter import ANALYSER_HANGS, SPLITTER_HANGS

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("shared_model")]

COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("faulty_splitter.py")))
WALL_S = 5  # long enough for an ordinary file on a busy machine
REASON = f"splitter took longer than {WALL_S} s (RAGKIT_PARSE_WALL_S)"
TEXTS = {
    "leave.md": "# Leave\n\nEveryone has 25 days of leave.\n",
    "split.md": f"# A\n\n{SPLITTER_HANGS}\n",
    "terms.txt": f"{ANALYSER_HANGS}\n",
    "travel.md": "# Travel\n\nA night costs at most 500.\n",
}
HANGING = ["split.md", "terms.txt"]


@pytest.fixture(autouse=True)
def faulty_splitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "COMMAND", COMMAND)


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    url = SecretStr(fresh_database)
    home = tmp_path / "home"
    return Settings(database_url=url, home=home, parse_wall_s=WALL_S, jobs=1)


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with open_database(settings) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    for name, text in TEXTS.items():
        (made / name).write_text(text)
    return made


def stored(database: Database, tenant: str = "default", collection: str = "default") -> list[str]:
    known = database.store(tenant).known(collection)
    return sorted(uri.rpartition("/")[2] for uri in known)


def test_ingest_reports_the_file_and_stores_the_others(
    fresh_database: str, folder: Path, tmp_path: Path, database: Database
) -> None:
    ragkit = Commands(fresh_database, tmp_path)
    ragkit.environment |= {"RAGKIT_PARSE_WALL_S": str(WALL_S), "RAGKIT_HOME": str(tmp_path / "h")}
    report = ragkit.json("ingest", str(folder), code=3)
    failures = {Path(one["uri"]).name: (one["stage"], one["reason"]) for one in report["failures"]}
    assert failures == dict.fromkeys(HANGING, ("chunk", REASON))
    assert stored(database) == ["leave.md", "travel.md"]


def test_a_worker_goes_on_with_the_other_tenants_upload(
    database: Database, settings: Settings
) -> None:
    for tenant, names in (("one", HANGING), ("two", ["leave.md", "travel.md"])):
        database.store(tenant).create_collection("c")
        uploads = [Upload(name, io.BytesIO(TEXTS[name].encode())) for name in names]
        Sources(database.pool, tenant).keep("c", uploads, principal="p")
    worker.work(settings, until_empty=True)
    failed = UploadJobs(database.pool, "one").page(limit=9)
    assert {(job.state, job.stage, job.reason) for job in failed} == {("failed", "chunk", REASON)}
    assert len(failed) == len(HANGING)
    assert [job.state for job in UploadJobs(database.pool, "two").page(limit=9)] == ["done"] * 2
    assert len(stored(database, "two", "c")) == 2


def test_a_worker_goes_on_with_the_other_queued_files(
    database: Database, settings: Settings, folder: Path
) -> None:
    enqueue([folder], Embedders(settings), database, collection="default")
    done = worker.work(settings, until_empty=True)
    failures = [failure for report in done.reports for failure in report.failures]
    assert sorted(Path(failure.uri).name for failure in failures) == HANGING
    assert {(failure.stage, failure.reason) for failure in failures} == {("chunk", REASON)}
    assert stored(database) == ["leave.md", "travel.md"]
