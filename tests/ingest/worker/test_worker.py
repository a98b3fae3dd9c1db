"""The ingestion worker as a process of its own: killed, ended, doubled, without its database."""

import io
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool
from pydantic import SecretStr

from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJob, UploadJobs
from ragkit.store.open import Database, open_database
from ragkit.store.server.embedded import EmbeddedServer, stop
from ragkit_ingest.worker import shift as shifts
from ragkit_ingest.worker.shift import Shift
from ragkit_ingest.worker.spell import Spell
from tests.core.embed.tiny_model import write_model
from tests.faults.commands import PATIENCE_S, Command, locked, start
from tests.places import passable_folder

Pool = ConnectionPool[Connection[Any]]
T = TypeVar("T")
HANGS_S = 60  # a worker that has not ended by then does not end, however busy the machine
NOTHING_STORED = "LOCK TABLE document IN SHARE MODE"  # for as long as this lock is held
# Work that is embedding when the worker is told to end, and for longer than that is waited for.
EMBEDDING = """
import threading, time, torch
import ragkit_ingest.worker.worker
from ragkit_ingest.cli.worker import worker

def work(settings, *, until_empty):
    rows = torch.rand(1000, 1000)
    def embed():
        while True:
            torch.mm(rows, rows)
    for _ in range(2):
        threading.Thread(target=embed, daemon=True).start()
    print("embedding", flush=True)
    while True:
        time.sleep(0.05)

ragkit_ingest.worker.worker.work = work
worker()
"""
LONG = "The annex of wing {0} carries {1} kg of gravel. " * 40


@pytest.fixture
def database(fresh_database: str) -> Iterator[Database]:
    with open_database(Settings(database_url=fresh_database)) as opened:  # type: ignore[arg-type]
        opened.store("default").create_collection("c")
        yield opened


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that embeds in no time, for tests of everything around it."""
    return str(write_model(tmp_path_factory.mktemp("models") / "tiny", seed=1))


@contextmanager
def running(database_url: str, **settings: str) -> Iterator[Command]:
    """A worker process that is ready, and gone afterwards."""
    worker = start(database_url, "worker", **settings)

    def ready() -> bool:
        errors = worker.errors
        assert worker.is_running(), errors
        return "ready for uploads" in errors

    try:
        wait_until(ready)
        yield worker
    finally:
        worker.kill()


def keep(pool: Pool, **files: str) -> list[int]:
    """Upload texts; a file's name is written with __ in the place of its dot."""
    uploads = [
        Upload(name.replace("__", "."), io.BytesIO(text.encode())) for name, text in files.items()
    ]
    return Sources(pool, "default").keep("c", uploads, principal="p")


def long_text(paragraphs: int = 12) -> str:
    return "\n\n".join(LONG.format(n, n * 3) for n in range(paragraphs))


def wait_until(look: Callable[[], T]) -> T:
    """Look again and again until something true is seen."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(0.02)
    pytest.fail("it did not happen in time")


def settled(pool: Pool, jobs: list[int]) -> list[UploadJob]:
    """Wait until these jobs are done or failed."""

    def look() -> list[UploadJob]:
        uploads = UploadJobs(pool, "default").some(jobs)
        return uploads if all(job.state in {"done", "failed"} for job in uploads) else []

    return wait_until(look)


def begun(pool: Pool, job: int) -> Callable[[], bool]:
    """Say whether the first chunks of an upload are embedded."""
    return lambda: UploadJobs(pool, "default").get(job).done > 0


def chunks(pool: Pool) -> list[tuple[Any, ...]]:
    with pool.connection() as conn:
        return conn.execute(
            "SELECT d.uri, c.ordinal, c.start_char, v.embedding::text FROM document d"
            " JOIN chunk c ON c.document_id = d.id JOIN vectors_1 v ON v.chunk_id = c.id"
            " ORDER BY d.uri, c.ordinal"
        ).fetchall()


def test_uploads_become_documents_and_failures_say_why(
    database: Database, fresh_database: str
) -> None:
    pool = database.pool
    early = keep(pool, a__txt="The canary sings at noon.", b__xyz="?", c__pdf="canary, no PDF")
    with running(fresh_database) as worker:
        done, unknown, broken = settled(pool, early)
        assert (done.state, done.done, done.total) == ("done", 1, 1)
        assert done.document is not None
        assert database.store("default").text(done.document) == "The canary sings at noon."
        assert (unknown.state, unknown.stage) == ("failed", "parse")
        assert unknown.reason.startswith("'b.xyz' cannot be read: .xyz is none of the formats")
        assert (broken.state, broken.stage) == ("failed", "parse")
        (again,) = settled(pool, keep(pool, a__txt="The canary sings at noon."))
        (changed,) = settled(pool, keep(pool, a__txt="The canary is silent."))
        assert again.document == changed.document == done.document
        assert database.store("default").document(done.document).version == 2
        worker.signal(signal.SIGTERM)
        code, _, log = worker.end()
        assert code == 0
    assert "canary" not in log
    outcomes = re.findall(r"job \d+ of tenant 'default': (.+), [\d.]+ s", log)
    assert sorted(outcomes) == [
        f"document {done.document} is unchanged",
        f"document {done.document}, version 1, 1 chunks",
        f"document {done.document}, version 2, 1 chunks",
        "failed at parse",
        "failed at parse",
    ]


def test_an_embedding_that_goes_on_does_not_abort_the_end() -> None:
    """In a process that Python itself started and ends, as it aborts there or nowhere."""
    with subprocess.Popen([sys.executable, "-c", EMBEDDING], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"embedding\n"
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=HANGS_S) == 0


def test_what_a_killed_worker_was_at_is_done_by_another(
    database: Database, fresh_database: str, tiny_model: str
) -> None:
    (job,) = keep(database.pool, a__txt=long_text())
    with (
        locked(fresh_database, NOTHING_STORED),
        running(fresh_database, embed_model=tiny_model),
    ):
        wait_until(begun(database.pool, job))
    assert UploadJobs(database.pool, "default").get(job).state == "running"
    with running(fresh_database, embed_model=tiny_model):
        (done,) = settled(database.pool, [job])
    assert (done.state, done.attempts) == ("done", 2)
    assert done.total > 32
    assert [row[1] for row in chunks(database.pool)] == list(range(done.total))


@pytest.mark.long
def test_a_worker_that_is_told_to_end_gives_its_job_back_at_once(
    database: Database, fresh_database: str
) -> None:
    (job,) = keep(database.pool, a__txt=long_text(100))
    with running(fresh_database) as worker:
        wait_until(begun(database.pool, job))
        worker.signal(signal.SIGTERM)
        assert worker.end()[0] == 0
    given_back = UploadJobs(database.pool, "default").get(job)  # not done, as if it had gone on
    assert (given_back.state, given_back.attempts, given_back.done) == ("queued", 0, 0)


def test_two_workers_share_and_double_nothing(
    database: Database, fresh_database: str, tiny_model: str
) -> None:
    # More than a worker is at together.
    files = {f"f{n:03}__txt": LONG.format(n, n * 3) for n in range(100)}
    with (
        running(fresh_database, embed_model=tiny_model) as one,
        running(fresh_database, embed_model=tiny_model) as two,
    ):
        with locked(fresh_database, NOTHING_STORED):
            numbers = keep(database.pool, **files)
            wait_until(lambda: at_work(database.pool) == 2)
        jobs = settled(database.pool, numbers)
        logs = [re.findall(r"job (\d+)", worker.errors) for worker in (one, two)]
    assert {(job.state, job.attempts) for job in jobs} == {("done", 1)}
    documents = database.store("default").documents("c")
    assert {document.version for document in documents} == {1}
    assert all(logs)
    assert sorted(int(job) for log in logs for job in log) == [job.id for job in jobs]


class Holding(Spell):
    """Holds the files of one tenant until the shift ends, and fails those of others at once."""

    def run(self) -> None:
        while files := self._worker.next_files(1):
            if self._queue.tenant == "greedy":
                self._stop.wait(PATIENCE_S)
            self._worker.fail(files[0].job, "parse", "seen")


def test_files_that_take_long_hold_up_no_other_tenants(
    database: Database, monkeypatch: pytest.MonkeyPatch, fresh_database: str
) -> None:
    """Two tenants send files at once; those of one fill all the places that it can have."""
    jobs: dict[str, list[int]] = {}
    for tenant, count in (("greedy", 3), ("modest", 1)):
        for n in range(count):
            database.store(tenant).create_collection(f"c{n}")
            uploads = [Upload(f"{m}.txt", io.BytesIO(b"Text.")) for m in range(3)]
            numbers = Sources(database.pool, tenant).keep(f"c{n}", uploads, principal="p")
            jobs.setdefault(tenant, []).extend(numbers)
    greedy, modest = (UploadJobs(database.pool, tenant) for tenant in jobs)
    monkeypatch.setattr(shifts, "Spell", Holding)
    shift = Shift(database, Embedders(Settings(jobs=2, database_url=SecretStr(fresh_database))))
    with in_a_thread(shift):
        wait_until(lambda: all(job.state == "failed" for job in modest.some(jobs["modest"])))
        states = [job.state for job in greedy.some(jobs["greedy"])]
        assert (states.count("running"), states.count("queued")) == (2, 7)


def test_parsers_that_have_nothing_to_do_are_ended_and_others_started(
    database: Database, monkeypatch: pytest.MonkeyPatch, fresh_database: str, tiny_model: str
) -> None:
    monkeypatch.setattr(shifts, "_REST_AFTER_S", 0.5)
    settings = Settings(database_url=SecretStr(fresh_database), embed_model=tiny_model)
    shift = Shift(database, Embedders(settings))
    pools = shift._shared.parsers, shift._shared.splitters
    with in_a_thread(shift):
        for name in ("first", "second"):
            jobs = keep(database.pool, **{f"{name}__txt": f"The {name} annex is dry."})
            wait_until(partial(are_done, database.pool, jobs))
            wait_until(lambda: not any(pool._running for pool in pools))


@contextmanager
def in_a_thread(shift: Shift) -> Iterator[None]:
    """Have a shift work in a thread until the end of the block, where it is interrupted."""
    ended: list[BaseException] = []

    def work() -> None:
        try:
            shift.run()
        except BaseException as error:  # noqa: BLE001  looked at below
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        shift._errors.append(KeyboardInterrupt())  # type: ignore[arg-type]
        thread.join(HANGS_S)
    assert [type(error) for error in ended] == [KeyboardInterrupt]


def are_done(pool: Pool, jobs: list[int]) -> bool:
    return all(job.state == "done" for job in UploadJobs(pool, "default").some(jobs))


def at_work(pool: Pool) -> int:
    """Count the workers that have a job."""
    with pool.connection() as conn:
        rows = conn.execute("SELECT DISTINCT worker FROM job WHERE state = 'running'")
        return len(rows.fetchall())


def test_a_worker_outlasts_its_database(tiny_model: str) -> None:
    home = passable_folder()
    try:
        with EmbeddedServer.open(home, durable=False) as server:
            url = server.url
            with open_database(Settings(database_url=url)) as database:  # type: ignore[arg-type]
                database.store("default").create_collection("c")
                (job,) = keep(database.pool, a__txt=long_text())
            with (
                locked(url, NOTHING_STORED),
                running(url, embed_model=tiny_model) as worker,
            ):
                with open_database(Settings(database_url=url)) as database:  # type: ignore[arg-type]
                    wait_until(begun(database.pool, job))
                stop(home)
                wait_until(lambda: "waiting for the database" in worker.errors)
                with (
                    EmbeddedServer.open(home, durable=False),
                    open_database(Settings(database_url=url)) as database,  # type: ignore[arg-type]
                ):
                    (done,) = settled(database.pool, [job])
                    assert (done.state, done.attempts) == ("done", 1)
    finally:
        stop(home)
