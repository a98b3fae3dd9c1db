"""What the ledger tells of queued files, and what a worker that is ended leaves there."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.open import Database, open_database
from ragkit_ingest.worker.enqueue import enqueue
from ragkit_ingest.worker.spell import Ended
from tests.ingest.waiting import work_off

pytestmark = pytest.mark.usefixtures("shared_model")


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    return Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with open_database(settings) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    (made / "sub").mkdir(parents=True)
    (made / "sub" / "a.md").write_text("# Leave\n\nEveryone has 25 days.\n")
    (made / "empty.txt").write_text("")
    return made


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


class OnceAtWork(threading.Event):
    """Is set as soon as a file is being worked on."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._ledger = database.store("default").job_ledger

    def is_set(self) -> bool:
        if not super().is_set() and self._ledger.jobs(state="running"):
            self.set()
        return super().is_set()


def test_a_queued_file_is_shown_with_its_place_fails_and_is_tried_again(
    database: Database, settings: Settings, folder: Path
) -> None:
    embedders = Embedders(settings)
    assert enqueue([folder], embedders, database, collection="default").queued == 2
    ledger = database.store("default").job_ledger
    numbers = {Path(job.uri).name: job.id for job in ledger.jobs()}
    shown = json.loads(run("jobs", "show", str(numbers["a.md"]), "--json"))
    assert (shown["state"], shown["place"]) == ("queued", str(folder))
    assert f"place: {folder}\n" in run("jobs", "show", str(numbers["a.md"]))
    reports = work_off(database, embedders)
    assert {Path(job.uri).name: job.state for job in ledger.jobs()} == {
        "a.md": "done",
        "empty.txt": "failed",
    }
    assert run("jobs", "retry", "--all") == "Queued again: 1 job\n"
    (folder / "empty.txt").write_text("Not empty any more.")
    reports += work_off(database, embedders)
    assert ledger.job(numbers["empty.txt"]).state == "done"
    assert ledger.job(numbers["empty.txt"]).place == str(folder)
    assert [report.added for report in reports] == [1, 1]


def test_a_file_that_was_not_queued_has_no_place(
    database: Database, settings: Settings, folder: Path
) -> None:
    from ragkit_ingest.run.run import ingest

    database.store("default").create_collection("default")
    ingest([folder / "empty.txt"], settings=settings)
    (job,) = database.store("default").job_ledger.jobs()
    assert job.place == ""
    assert "place" not in run("jobs", "show", str(job.id))
    page = folder / "page.html"
    assert run("jobs", "report", "--html", str(page)) == f"Run 1, 1 file: {page}\n"


def test_a_worker_that_is_ended_at_work_ends_its_run(
    database: Database, settings: Settings, folder: Path
) -> None:
    embedders = Embedders(settings)
    enqueue([folder], embedders, database, collection="default")
    with pytest.raises(Ended):
        work_off(database, embedders, OnceAtWork(database))
    ledger = database.store("default").job_ledger
    (ended,) = ledger.runs()
    assert ended.ended_at is not None
    states = [job.state for job in ledger.jobs()]  # as far as it came, which is a matter of time
    assert set(states) <= {"queued", "done", "failed"}
    assert ended.figures["documents"]["added"] == states.count("done")
