"""The ingestion worker as a process of its own: killed, ended, doubled, without its database."""

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.settings import Settings
from ragkit.store.embedded import EmbeddedServer, stop
from ragkit.store.open import Database, open_database
from ragkit.store.sources import Sources, Upload
from ragkit.store.uploads import UploadJob, UploadJobs

Pool = ConnectionPool[Connection[Any]]
T = TypeVar("T")
HANGS_S = 60  # a worker that has not ended by then does not end, however busy the machine
# Work that is embedding when the worker is told to end, and for longer than that is waited for.
EMBEDDING = """
import threading, time, torch
import ragkit_ingest.worker
from ragkit_ingest.cli_worker import worker

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

ragkit_ingest.worker.work = work
worker()
"""
LONG = "The annex of wing {0} carries {1} kg of gravel. " * 40


@pytest.fixture
def database(fresh_database: str) -> Iterator[Database]:
    with open_database(Settings(database_url=fresh_database)) as opened:  # type: ignore[arg-type]
        opened.store("default").create_collection("c")
        yield opened


@contextmanager
def running(log: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process that is ready, and gone afterwards; its log is added to the file."""
    log.touch()
    size = log.stat().st_size

    def ready() -> bool:
        said = log.read_text()[size:]
        assert process.poll() is None, said
        return "ready for uploads" in said

    with log.open("ab") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "ragkit", "worker"],
            env=os.environ | {"RAGKIT_" + name: value for name, value in variables.items()},
            stderr=err,
        )
    try:
        wait_until(ready)
        yield process
    finally:
        process.kill()
        process.wait()


def keep(pool: Pool, **files: str) -> list[int]:
    """Upload texts; a file's name is written with __ in the place of its dot."""
    uploads = [
        Upload(name.replace("__", "."), io.BytesIO(text.encode())) for name, text in files.items()
    ]
    return Sources(pool, "default").keep("c", uploads, principal="p")


def long_text(sentences: int = 60) -> str:
    return "\n\n".join(LONG.format(n, n * 3) for n in range(sentences))


def wait_until(look: Callable[[], T], *, timeout_s: float = 60) -> T:
    """Look again and again until something true is seen."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(0.02)
    pytest.fail("it did not happen in time")


def settled(pool: Pool, jobs: list[int]) -> list[UploadJob]:
    """Wait until these jobs are done or failed."""

    def look() -> list[UploadJob]:
        found = UploadJobs(pool, "default").some(jobs)
        return found if all(job.state in {"done", "failed"} for job in found) else []

    return wait_until(look, timeout_s=120)


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


@pytest.mark.slow
def test_uploads_become_documents_and_failures_say_why(
    database: Database, fresh_database: str, tmp_path: Path
) -> None:
    pool = database.pool
    early = keep(pool, a__txt="The canary sings at noon.", b__xyz="?", c__pdf="canary, no PDF")
    with running(tmp_path / "log", DATABASE_URL=fresh_database) as worker:
        done, unknown, broken = settled(pool, early)
        assert (done.state, done.done, done.total) == ("done", 1, 1)
        assert done.document is not None
        assert database.store("default").text(done.document) == "The canary sings at noon."
        assert (unknown.state, unknown.stage) == ("failed", "parse")
        assert unknown.reason.startswith(".xyz files cannot be read; these can: .txt, .md")
        assert (broken.state, broken.stage) == ("failed", "parse")
        (again,) = settled(pool, keep(pool, a__txt="The canary sings at noon."))
        (changed,) = settled(pool, keep(pool, a__txt="The canary is silent."))
        assert again.document == changed.document == done.document
        assert database.store("default").document(done.document).version == 2
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=HANGS_S) == 0
    log = (tmp_path / "log").read_text()
    assert "canary" not in log
    said = re.findall(r"job \d+ of tenant 'default': (.+), [\d.]+ s", log)
    assert sorted(said) == [
        f"document {done.document} is unchanged",
        f"document {done.document}, version 1, 1 chunks",
        f"document {done.document}, version 2, 1 chunks",
        "failed at parse",
        "failed at parse",
    ]


@pytest.mark.slow
def test_an_embedding_that_goes_on_does_not_abort_the_end() -> None:
    with subprocess.Popen([sys.executable, "-c", EMBEDDING], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"embedding\n"
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=HANGS_S) == 0


@pytest.mark.slow
def test_what_a_killed_worker_was_at_is_done_by_another(
    database: Database, fresh_database: str, tmp_path: Path
) -> None:
    (job,) = keep(database.pool, a__txt=long_text())
    with running(tmp_path / "log", DATABASE_URL=fresh_database):
        wait_until(begun(database.pool, job))
    assert UploadJobs(database.pool, "default").get(job).state == "running"
    with running(tmp_path / "log", DATABASE_URL=fresh_database):
        (done,) = settled(database.pool, [job])
    assert (done.state, done.attempts) == ("done", 2)
    assert [row[1] for row in chunks(database.pool)] == list(range(done.total))


@pytest.mark.slow
def test_a_worker_that_is_told_to_end_gives_its_job_back_at_once(
    database: Database, fresh_database: str, tmp_path: Path
) -> None:
    (job,) = keep(database.pool, a__txt=long_text(400))
    with running(tmp_path / "log", DATABASE_URL=fresh_database) as worker:
        wait_until(begun(database.pool, job))
        told = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=HANGS_S) == 0
        assert time.monotonic() - told < 4  # on a busy machine; a second on an idle one
    given_back = UploadJobs(database.pool, "default").get(job)
    assert (given_back.state, given_back.attempts, given_back.done) == ("queued", 0, 0)


@pytest.mark.slow
def test_two_workers_share_and_double_nothing(
    database: Database, fresh_database: str, tmp_path: Path
) -> None:
    files = {f"f{n:02}__txt": long_text(6) + str(n) for n in range(24)}
    with (
        running(tmp_path / "one", DATABASE_URL=fresh_database),
        running(tmp_path / "two", DATABASE_URL=fresh_database),
    ):
        jobs = settled(database.pool, keep(database.pool, **files))
    assert {(job.state, job.attempts) for job in jobs} == {("done", 1)}
    assert {one.version for one in database.store("default").documents("c")} == {1}
    logs = [re.findall(r"job (\d+)", (tmp_path / name).read_text()) for name in ("one", "two")]
    assert all(logs)
    assert sorted(int(job) for log in logs for job in log) == [job.id for job in jobs]


@pytest.mark.slow
def test_a_worker_outlasts_its_database(tmp_path: Path) -> None:
    home = Path(tempfile.mkdtemp(prefix="ragkit-tests-"))
    try:
        with EmbeddedServer.open(home, durable=False) as server:
            url = server.url
            with open_database(Settings(database_url=url)) as database:  # type: ignore[arg-type]
                database.store("default").create_collection("c")
                (job,) = keep(database.pool, a__txt=long_text())
            with running(tmp_path / "log", DATABASE_URL=url):
                with open_database(Settings(database_url=url)) as database:  # type: ignore[arg-type]
                    wait_until(begun(database.pool, job))
                stop(home)
                wait_until(lambda: "waiting for the database" in (tmp_path / "log").read_text())
                with (
                    EmbeddedServer.open(home, durable=False),
                    open_database(Settings(database_url=url)) as database,  # type: ignore[arg-type]
                ):
                    (done,) = settled(database.pool, [job])
                    assert (done.state, done.attempts) == ("done", 1)
    finally:
        stop(home)
