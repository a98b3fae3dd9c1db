"""SIGTERM and Ctrl-C while a process is stuck: it ends soon, and another does its work."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragkit.settings.settings import Settings
from ragkit.store.connection.connect import connect
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.open import open_database
from ragkit.store.server.embedded import EmbeddedServer, status
from tests.core.embed.tiny_model import write_model
from tests.faults.commands import PATIENCE_S, Command, finish, locked, until
from tests.places import passable_folder

pytestmark = pytest.mark.faults

END_S = 20  # far above the two seconds that are promised, far below for ever
TEXT = "The canary sings at noon."
NOTHING_STORED = "LOCK TABLE document IN SHARE MODE"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
# The exit codes of what ends by itself, by command and signal.
CODES = {
    ("worker", signal.SIGTERM): 0,
    ("worker", signal.SIGINT): 0,
    ("ingest", signal.SIGTERM): 143,
    ("ingest", signal.SIGINT): 130,
}
both = pytest.mark.parametrize("name", ["worker", "ingest"])
signals = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


@dataclass(frozen=True)
class Work:
    """One file to take in, by `ragkit worker` from the uploads or by `ragkit ingest`."""

    name: str
    database: str
    model: str
    folder: Path

    def start(self, prepare: Callable[[], None] | None = None, *options: str) -> Command:
        words = [self.name, *([str(self.folder)] if self.name == "ingest" else []), *options]
        return Command(self.database, words, {"embed_model": self.model}, prepare)

    def is_done_by_another(self) -> None:
        """Have another process do what was broken off, and see that it is done once."""
        if self.name == "worker":
            code, out, err = self.start(None, "--until-empty").end()
            assert code == 0, out + err
        else:
            finish(self.start(None, "--json"))
        with connect(self.database) as conn:
            assert conn.execute("SELECT version FROM document").fetchall() == [(1,)]
            assert conn.execute("SELECT state FROM job").fetchall() == [("done",)]


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(write_model(tmp_path / "model", seed=1))


@contextmanager
def work(name: str, database: str, model: str, tmp_path: Path) -> Iterator[Work]:
    """Make something to do for a command."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT)
    with open_database(Settings(database_url=database)) as opened:  # type: ignore[arg-type]
        opened.store("default").create_collection("default")
        if name == "worker":
            upload = Upload("a.txt", io.BytesIO(TEXT.encode()))
            Sources(opened.pool, "default").keep("default", [upload], principal="p")
    yield Work(name, database, model, folder)


def ends(command: Command, number: signal.Signals) -> int | None:
    """Send a signal, wait for the end, and return the exit code."""
    command.signal(number)
    try:
        assert not command.is_running(wait_s=END_S), "it did not end"
        return command.end()[0]
    finally:
        command.kill()


def hold_interpreter() -> None:
    """Have an embedding that lets no other Python code run, as a regular expression can."""
    from ragkit_ingest.run.embedding import Embedding

    def embed(*_: object) -> None:
        os.write(2, b"STUCK\n")
        re.fullmatch("(a|a)*b", "a" * 200)

    Embedding.embed = embed  # type: ignore[assignment, method-assign]


def hang_in_embedding() -> None:
    """Have an embedding that does not end, while other threads run."""
    import threading

    from ragkit_ingest.run.embedding import Embedding

    def embed(*_: object) -> None:
        os.write(2, b"STUCK\n")
        threading.Event().wait()

    Embedding.embed = embed  # type: ignore[assignment, method-assign]


def hang_parsers() -> None:
    """Have parsers that never answer."""
    from ragkit_ingest.parser.pool import ParserPool

    defaults = ParserPool.__init__.__kwdefaults__
    assert defaults is not None
    defaults["command"] = ("sleep",)  # its arguments are the limits: 1536 and 60


def has_hanging_parser(command: Command) -> bool:
    for children in Path(f"/proc/{command.pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                if Path(f"/proc/{child}/comm").read_text() == "sleep\n":
                    return True
    return False


def waiting(database: str) -> int:
    """Count the sessions that wait for a lock."""
    with connect(database) as conn:
        query = f"{WAITING} AND datname = current_database()"
        row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


@both
@signals
def test_code_that_holds_the_interpreter(
    name: str, number: signal.Signals, fresh_database: str, model: str, tmp_path: Path
) -> None:
    with work(name, fresh_database, model, tmp_path) as todo:
        command = todo.start(hold_interpreter)
        until(lambda: "STUCK" in command.errors, command, "it was stuck")
        assert ends(command, number) == -signal.SIGKILL
        todo.is_done_by_another()


@both
@signals
def test_an_embedding_that_does_not_end(
    name: str, number: signal.Signals, fresh_database: str, model: str, tmp_path: Path
) -> None:
    with work(name, fresh_database, model, tmp_path) as todo:
        command = todo.start(hang_in_embedding)
        until(lambda: "STUCK" in command.errors, command, "it was stuck")
        assert ends(command, number) == CODES[name, number]
        todo.is_done_by_another()


@both
def test_a_parser_that_hangs(name: str, fresh_database: str, model: str, tmp_path: Path) -> None:
    with work(name, fresh_database, model, tmp_path) as todo:
        command = todo.start(hang_parsers)
        until(lambda: has_hanging_parser(command), command, "a parser hung")
        assert ends(command, signal.SIGTERM) == CODES[name, signal.SIGTERM]
        todo.is_done_by_another()


@both
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_statement_that_waits_for_a_lock(
    name: str, number: signal.Signals, fresh_database: str, model: str, tmp_path: Path
) -> None:
    """What waits in the server ends as well, while the lock is still held."""
    with work(name, fresh_database, model, tmp_path) as todo:
        with locked(fresh_database, NOTHING_STORED):
            command = todo.start()
            until(lambda: waiting(fresh_database) > 0, command, "it waited for the lock")
            assert ends(command, number) == CODES.get((name, number), -number)
            deadline = time.monotonic() + PATIENCE_S
            while waiting(fresh_database):
                assert time.monotonic() < deadline, "the statement did not end"
        todo.is_done_by_another()


@both
def test_a_database_that_does_not_answer(name: str, model: str, tmp_path: Path) -> None:
    home = passable_folder()
    try:
        with (
            EmbeddedServer.open(home, durable=False) as server,
            work(name, server.url, model, tmp_path) as todo,
        ):
            command = todo.start()
            with locked(server.url, NOTHING_STORED):
                until(lambda: waiting(server.url) > 0, command, "something was to be stored")
                with stopped(home):
                    code = ends(command, signal.SIGTERM)
            assert code == CODES[name, signal.SIGTERM]
            todo.is_done_by_another()
    finally:
        shutil.rmtree(home)


@contextmanager
def stopped(home: Path) -> Iterator[None]:
    """Stop all processes of the server of a home for a while."""
    postmaster = status(home).pid
    assert postmaster is not None
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    processes = [postmaster, *map(int, children)]
    try:
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):  # one that had just ended when the others stopped
                os.kill(process, signal.SIGCONT)
