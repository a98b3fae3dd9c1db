"""Files that are queued, and taken in by workers that are processes of their own."""

import json
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.jobs.queue import Waiting, waiting
from ragkit.store.open import Database, open_database
from ragkit_ingest.run.run import ingest
from ragkit_ingest.sources import RecordFields, SourceOptions
from ragkit_ingest.worker import shift
from ragkit_ingest.worker import worker as workers
from ragkit_ingest.worker.enqueue import QueueReport, enqueue
from tests.core.embed.tiny_model import write_model
from tests.faults.commands import PATIENCE_S, Command, locked, start

pytestmark = pytest.mark.usefixtures("shared_model")

LONG = "The annex of wing {0} carries {1} kg of gravel. " * 40
# What is so while these locks are held.
NOTHING_STORED = "LOCK TABLE document IN SHARE MODE"
ONE_NOT_TAKEN = "SELECT FROM job WHERE uri LIKE '%/11.md' FOR UPDATE"
FILES = 40  # of which a worker takes 16 together


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    return Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with open_database(settings) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    return made


def queue(database: Database, settings: Settings, folder: Path, **more: Any) -> QueueReport:
    return enqueue([folder], Embedders(settings), database, collection="default", **more)


@pytest.fixture
def tiny_model(settings: Settings, tmp_path: Path) -> Settings:
    """Settings with a model that embeds in no time, for tests of everything around it."""
    model = write_model(tmp_path / "tiny", seed=1)
    return settings.model_copy(update={"embed_model": str(model)})


@contextmanager
def worker(settings: Settings, *options: str) -> Iterator[Command]:
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    given = {"home": str(settings.home), "embed_model": settings.embed_model}
    process = start(url, "worker", *options, **given)
    try:
        yield process
    finally:
        process.kill()


def wait_until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def jobs(database: Database) -> list[tuple[str, str, int]]:
    found = database.store("default").job_ledger.jobs(limit=1000)
    return sorted((Path(job.uri).name, job.state, job.attempts) for job in found)


def versions(database: Database) -> dict[str, int]:
    found = database.store("default").documents("default")
    return {Path(one.uri).name: one.version for one in found}


def write(folder: Path, number: int, sentences: int = 1) -> None:
    text = "\n\n".join(LONG.format(f"{number}-{n}", n * 3) for n in range(sentences))
    (folder / f"{number:02}.md").write_text(f"# File {number}\n\n{text}\n")


def test_two_workers_take_each_file_once(
    database: Database, tiny_model: Settings, folder: Path
) -> None:
    for number in range(FILES):
        write(folder, number)
    report = queue(database, tiny_model, folder)
    assert (report.queued, report.waiting) == (FILES, FILES)
    assert {state for _, state, _ in jobs(database)} == {"queued"}
    with worker(tiny_model, "--until-empty") as one, worker(tiny_model, "--until-empty") as two:
        ends = [one.end(), two.end()]
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert sum(int(out.split()[0]) for _, out, _ in ends) == FILES
    assert {(state, attempts) for _, state, attempts in jobs(database)} == {("done", 1)}
    assert set(versions(database).values()) == {1}
    ledger = database.store("default").job_ledger
    embedded = sum(run.figures["embedded"] for run in ledger.runs())
    chunks = sum(job.figures["chunks"] for job in ledger.jobs(limit=1000))
    with database.pool.connection() as conn:
        assert conn.execute("SELECT count(*) FROM chunk").fetchone() == (embedded,)
    assert chunks == embedded
    assert queue(database, tiny_model, folder).others.unchanged == FILES


@pytest.mark.long
def test_what_a_killed_or_ended_worker_was_at_is_done_by_another(
    database: Database, settings: Settings, fresh_database: str, folder: Path
) -> None:
    for number in range(12):
        write(folder, number)
    queue(database, settings, folder)

    def is_at_work() -> bool:
        return any(state == "running" for _, state, _ in jobs(database))

    with locked(fresh_database, ONE_NOT_TAKEN):
        with locked(fresh_database, NOTHING_STORED), worker(settings) as killed:
            wait_until(is_at_work)
            killed.signal(signal.SIGKILL)
            assert killed.end()[0] == -signal.SIGKILL
        assert is_at_work()
        with worker(settings) as ended:
            with locked(fresh_database, NOTHING_STORED):
                wait_until(lambda: ("00.md", "running", 2) in jobs(database))
                ended.signal(signal.SIGTERM)
            assert ended.end()[0] == 0
    assert not is_at_work()
    with worker(settings, "--until-empty") as last:
        code, _, log = last.end()
    assert code == 0, log
    assert {state for _, state, _ in jobs(database)} == {"done"}
    assert set(versions(database).values()) == {1}
    assert len(versions(database)) == 12
    ends = [run.ended_at is not None for run in database.store("default").job_ledger.runs()]
    assert ends == [True, True, False], "of the last, the ended and the killed"


@pytest.mark.long
def test_what_is_there_when_its_turn_comes_is_taken(
    database: Database, settings: Settings, folder: Path, tmp_path: Path
) -> None:
    import zipfile

    for number in range(5):
        write(folder, number)
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("inside.md", "# Inside\n\nIn the archive.\n")
    (folder / "rows.jsonl").write_text('{"body": "A record of gliders."}\n')
    (folder / "03.md.meta.json").write_text('{"title": "Three", "year": 2020}')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "away.md").write_text("# Away\n")
    options = SourceOptions(metadata={"team": "blue"}, records=RecordFields(("body",)))
    assert queue(database, settings, folder, sources=options).queued == 7
    assert queue(database, settings, elsewhere).queued == 1
    shutil.rmtree(elsewhere)
    write(folder, 0, sentences=2)  # it changes,
    (folder / "01.md").unlink()  # it vanishes,
    write(folder, 2, sentences=3)  # it changes and is taken in by somebody else first
    assert ingest([folder / "02.md"], settings=settings, sources=options).added == 1
    ledger = database.store("default").job_ledger
    (four,) = [job.id for job in ledger.jobs() if job.uri.endswith("04.md")]
    ledger.cancel([four])
    with worker(settings, "--until-empty") as process:
        code, out, log = process.end()
    assert code == 3, log
    assert out == (
        "4 added, 0 updated, 0 unchanged, 1 failed. Left to workers that can read the files: 1.\n"
    )
    assert versions(database) == {
        "00.md": 1,
        "02.md": 1,
        "03.md": 1,
        "inside.md": 1,
        "rows.jsonl#1": 1,
    }
    states = {name: state for name, state, _ in jobs(database)}
    assert (states["01.md"], states["04.md"], states["away.md"]) == (
        *("failed", "cancelled", "queued"),
    )
    with database.pool.connection() as conn:
        rows = conn.execute("SELECT title, metadata FROM document WHERE uri LIKE '%03.md'")
        assert rows.fetchone() == ("Three", {"team": "blue", "year": 2020})
        waits = conn.execute("SELECT attempts, reason FROM job WHERE uri LIKE '%away.md'")
        attempts, reason = waits.fetchone() or (None, "")
    assert attempts == 0
    assert "cannot be reached" in reason
    assert waiting(database.pool, "default")[0].files == 1


def test_looks_that_take_longer_than_the_pause_between_them_put_no_end_off(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[None] = []

    def slow(*_: object) -> list[Waiting]:
        looks.append(None)
        assert len(looks) < 100, "it does not end"
        threading.Event().wait(0.1)
        return []

    monkeypatch.setattr(shift, "POLL_S", 0.05)
    monkeypatch.setattr(shift, "waiting", slow)
    assert workers.work(settings, until_empty=True) == workers.Done((), 0)


def test_queueing_reads_and_hashes_and_no_more(
    database: Database, settings: Settings, folder: Path
) -> None:
    write(folder, 0)
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    first = queue(database, settings, folder)
    assert (first.queued, first.waiting, first.others.failed) == (1, 1, 1)
    again = queue(database, settings, folder)
    assert (again.queued, again.waiting) == (1, 1), "the same job waits still"
    assert jobs(database) == [("00.md", "queued", 0)]
    assert database.store("default").documents("default") == []


def test_queueing_as_it_is_typed(
    fresh_database: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    write(folder, 0)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["ingest", *arguments])

    done = run(str(folder), "--queue")
    assert done.stdout == (
        "Queued: 1 file\nWaiting in collection 'default': 1 file\n`ragkit worker` reads them.\n"
    )
    found = json.loads(run(str(folder), "--queue", "--json").stdout)
    assert (found["queued"], found["waiting"]) == (1, 1)
    for nonsense in (["--queue", "--watch"], ["--queue", "--force"]):
        assert run(str(folder), *nonsense).exit_code == 1
    said = str(run("-", "--name", "a.md", "--queue").exception)
    assert said.startswith("Standard input cannot be queued")
