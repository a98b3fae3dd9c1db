"""The embedded database killed under whoever is at work on it: ragkit starts it again."""

import io
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from ragkit.errors import DatabaseError
from ragkit.settings.settings import Settings
from ragkit.store.connection.connect import connect
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.open import open_database
from ragkit.store.server.embedded import EmbeddedServer, status, stop
from ragkit.store.server.postmaster import Postmaster
from tests.core.embed.tiny_model import write_model
from tests.faults.commands import Command, finish, locked, start, until, write_file
from tests.places import passable_folder

pytestmark = pytest.mark.faults

FILES = 40
RUNNING = "SELECT count(*) FROM job WHERE state = 'running'"


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of the embedded database, which as root another account must be able to enter."""
    made = passable_folder().resolve()
    try:
        yield made
    finally:
        stop(made)
        shutil.rmtree(made)


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(write_model(tmp_path / "model", seed=1))


def count(home: Path, query: str) -> int:
    """Count by a query; -1 while the database cannot answer it."""
    running = Postmaster(home).running()
    if running is None:
        return -1
    try:
        with connect(running.url) as conn:
            if conn.execute("SELECT to_regclass('document')").fetchone() == (None,):
                return -1
            row = conn.execute(query.encode()).fetchone()
    except (DatabaseError, psycopg.OperationalError):  # not reached, or ended in the middle
        return -1
    assert row is not None
    return int(row[0])


def address(home: Path) -> str:
    url = status(home).url
    assert url is not None
    return url


def kill_postmaster(home: Path) -> None:
    pid = status(home).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def kill_while_busy(home: Path, command: Command) -> None:
    """Kill the server while a file is worked on and nothing can be stored."""
    until(lambda: count(home, "SELECT 1") == 1, command, "the tables were made")
    with locked(address(home), "LOCK TABLE document IN SHARE MODE"):
        until(lambda: count(home, RUNNING) > 0, command, "a file was worked on")
        kill_postmaster(home)


def test_an_ingestion_goes_on(home: Path, model: str, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(FILES):
        write_file(folder / f"{number:02}.md", 1, paragraphs=40)
    words = ("ingest", str(folder), "--json")
    settings = {"home": str(home), "embed_model": model}
    finish(start(None, "collections", "create", "default", "--json", **settings))
    with EmbeddedServer.open(home):
        command = start(None, *words, **settings)
        kill_while_busy(home, command)
        report = finish(command)
    assert (report["documents"]["failed"], report["documents"]["added"]) == (0, FILES)
    again = finish(start(None, *words, **settings))
    assert again["documents"]["unchanged"] == FILES


def test_a_worker_goes_on(home: Path, model: str) -> None:
    settings = {"home": str(home), "embed_model": model}
    text = b"The canary sings at noon."
    with open_database(Settings(home=home)) as database:
        database.store("default").create_collection("c")
        uploads = [Upload("a.txt", io.BytesIO(text))]
        Sources(database.pool, "default").keep("c", uploads, principal="p")
    command = start(None, "worker", **settings)
    try:
        kill_while_busy(home, command)
        done = "SELECT count(*) FROM job WHERE state = 'done'"
        until(lambda: count(home, done) == 1, command, "the upload was stored")
        assert count(home, "SELECT count(*) FROM document") == 1
    finally:
        command.signal(signal.SIGTERM)
        assert command.end()[0] == 0


def test_a_server_answers_again(home: Path, tmp_path: Path) -> None:
    write_file(tmp_path / "wing.md", 1)
    finish(start(None, "ingest", str(tmp_path / "wing.md"), "--json", home=str(home)))
    command = start(None, "serve", "--no-page", "--no-worker", home=str(home), serve_port="0")
    try:
        until(lambda: "http://" in command.output, command, "it served")
        url = next(word for word in command.output.split() if word.startswith("http://"))
        sent = {"query": "What does the wing carry?"}
        before = httpx.post(f"{url}/v1/search", json=sent, timeout=60)
        assert "wing.md" in before.text
        kill_postmaster(home)
        after = httpx.post(f"{url}/v1/search", json=sent, timeout=60)
        if after.status_code != 200:  # what was being answered when it was killed
            after = httpx.post(f"{url}/v1/search", json=sent, timeout=60)
        assert after.json()["data"] == before.json()["data"]
        assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
    finally:
        command.signal(signal.SIGTERM)
        assert command.end()[0] == 0
