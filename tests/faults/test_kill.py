"""`kill -9` at random moments of ingestions and workers that add and update files.

A reader looks at everything throughout: no document may ever be seen half. After one more run, left
alone, everything is as a clean ingestion makes it, down to the scores of search results.

The embedding model is real but tiny, so that most of a run's time, and so of the kills, goes to
what can be left half: reading, splitting and above all writing.
"""

import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from ragkit.knowledge.base import KnowledgeBase
from ragkit.settings.settings import Settings
from ragkit.store.connection.connect import connect
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.open import open_database
from tests.core.embed.tiny_model import write_model
from tests.faults.commands import Command, contents, finish, least_cosine, start, write_file

pytestmark = pytest.mark.faults

FILES = 50
MOST_RUNS = 150  # some end before they are killed
CHANGED = 12  # files with a new version before each run that is killed
SEED = 20261122

# Of each document: its text, its chunks' texts in order, and how many of them have a vector. Chunks
# do not overlap here, so that together they are the text.
_LOOK = """
    SELECT d.uri, d.version, d.text, c.texts, c.vectors FROM document d CROSS JOIN LATERAL (
        SELECT array_agg(substr(d.text, c.start_char + 1, c.end_char - c.start_char)
            ORDER BY c.ordinal) AS texts, count(v.chunk_id) AS vectors
        FROM chunk c LEFT JOIN vectors_1 v ON v.chunk_id = c.id WHERE c.document_id = d.id) c
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    for number in range(FILES):
        write_file(made / f"{number:02}.md", 1)
    write_model(tmp_path / "model", seed=SEED)
    return made


class Ingest:
    """`ragkit ingest` of the folder."""

    kills = 50

    def __init__(self, database: str, folder: Path) -> None:
        self.database = database
        self.folder = folder
        self.settings = {
            "chunk_overlap_tokens": "0",
            "embed_model": str(folder.with_name("model")),
        }

    def send(self, names: Sequence[str]) -> None:
        """Hand over the files of these names, which are new or have changed."""

    def begin(self) -> Command:
        """Start what takes files in."""
        return start(self.database, "ingest", str(self.folder), "--json", **self.settings)

    def finish(self, command: Command) -> None:
        """Wait for the end, at which no file may have failed."""
        assert finish(command)["documents"]["failed"] == 0

    def retry(self) -> None:
        """Try the files again that were set aside: which several programs ended with at hand."""


class Queue(Ingest):
    """`ragkit ingest --queue` of the folder, and a worker that is killed."""

    kills = 15

    def send(self, names: Sequence[str]) -> None:
        command = ("ingest", str(self.folder), "--queue", "--json")
        finish(start(self.database, *command, **self.settings))

    def begin(self) -> Command:
        return start(self.database, "worker", "--until-empty", **self.settings)

    def finish(self, command: Command) -> None:
        code, out, err = command.end()
        assert code == 0, (out, err)

    def retry(self) -> None:
        expected = len(set_aside(self.database))
        report = finish(start(self.database, "jobs", "retry", "--all", "--json"))
        assert len(report["retried"]) == expected


class Uploads(Queue):
    """Files that are uploaded, and a worker that is killed."""

    def retry(self) -> None:
        """Send them again: the bytes of an upload that failed are deleted."""
        self.send(set_aside(self.database))

    def send(self, names: Sequence[str]) -> None:
        with ExitStack() as opened:
            settings = Settings(database_url=self.database)  # type: ignore[arg-type]
            database = opened.enter_context(open_database(settings))
            database.store("default").add_collection("default")
            files = [opened.enter_context((self.folder / name).open("rb")) for name in names]
            uploads = [Upload(name, file) for name, file in zip(names, files, strict=True)]
            if uploads:
                Sources(database.pool, "default").keep("default", uploads, principal="ann")


@pytest.mark.parametrize("way", [Ingest, Queue, Uploads])
def test_a_killed_ingestion_leaves_nothing_half(
    fresh_database: str, folder: Path, way: type[Ingest]
) -> None:
    seed = random.Random(SEED)
    names = [f"{number:02}.md" for number in range(FILES)]
    at_work = way(fresh_database, folder)
    at_work.send(names)
    began = time.monotonic()
    at_work.finish(at_work.begin())
    run_s = time.monotonic() - began
    killed = 0
    with looking(fresh_database) as looks:
        for version in range(2, 2 + MOST_RUNS):
            changed = seed.sample(names, CHANGED)
            for name in changed:
                write_file(folder / name, version)
            at_work.send(changed)
            process = at_work.begin()
            began = time.monotonic()
            if process.is_running(wait_s=seed.uniform(0.3, 1.0) * run_s):
                process.signal(signal.SIGKILL)
                killed += process.end()[0] == -signal.SIGKILL  # it may have ended just before
            else:
                run_s = time.monotonic() - began  # it has less to do than the first one
                at_work.finish(process)
            if killed == way.kills:
                break
        at_work.finish(at_work.begin())  # sets aside what ended the last of too many
        at_work.retry()
        at_work.finish(at_work.begin())
    print(f"{killed} killed at work; {looks.count} looks saw every document whole")
    assert killed == way.kills
    assert looks.count > way.kills
    assert looks.torn == []
    stored = rows(fresh_database)
    at_work.send([])
    at_work.finish(at_work.begin())
    assert rows(fresh_database) == stored
    with clean(fresh_database) as other:
        at_other = way(other, folder)
        at_other.send(names)
        at_other.finish(at_other.begin())
        assert contents(fresh_database) == contents(other)
        assert least_cosine(fresh_database, other) > 0.999
        for question in ("version9 wing 07", "how much does the wing carry in a gust?"):
            here, there = found(fresh_database, question), found(other, question)
            assert here == pytest.approx(there, rel=1e-4, abs=2e-3)


def rows(database: str) -> Sequence[tuple[object, ...]]:
    """Return the rows of all documents and passages, by which a change shows."""
    with connect(database) as conn:
        return conn.execute(
            "SELECT d.id, d.version, c.id, c.xmin::text FROM document d"
            " JOIN chunk c ON c.document_id = d.id ORDER BY c.id"
        ).fetchall()


def found(database: str, question: str) -> dict[str, float]:
    """All that a search finds, each passage with its score by meaning and by words."""
    settings = Settings(database_url=database)  # type: ignore[arg-type]
    with KnowledgeBase.open(settings) as knowledge:
        return {
            f"{hit.uri} {hit.start} {leg}": score
            for hit in knowledge.search(question, k=1000)
            for leg, score in hit.scores.items()
        }


def set_aside(database: str) -> list[str]:
    """Return the names of the files that failed, which all ended several programs."""
    with connect(database) as conn:
        failed = conn.execute("SELECT uri, reason FROM job WHERE state = 'failed'").fetchall()
    assert all(reason.startswith("the program ended while at work") for _, reason in failed)
    return sorted({uri.rpartition("/")[2].removeprefix("upload:") for uri, _ in failed})


class Looks:
    """What a reader saw: how often it looked, and every document that was not whole."""

    def __init__(self) -> None:
        self.count = 0
        self.torn: list[str] = []

    def look(self, conn: psycopg.Connection[tuple[object, ...]]) -> None:
        for uri, version, text, texts, embedded in conn.execute(_LOOK):
            assert isinstance(text, str)
            assert isinstance(texts, list)
            whole = "".join("".join(texts).split()) == "".join(text.split())
            said = {word for word in text.split() if word.startswith("version")}
            if not whole or len(said) != 1 or embedded != len(texts):
                self.torn.append(f"{uri} version {version}: {said}, {embedded} of {len(texts)}")
        self.count += 1


@contextmanager
def looking(database: str) -> Iterator[Looks]:
    """Look at everything again and again, in a thread."""
    looks, stop = Looks(), threading.Event()

    def run() -> None:
        with connect(database) as conn:
            while not stop.wait(0.05):
                looks.look(conn)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield looks
    finally:
        stop.set()
        thread.join()


@contextmanager
def clean(database: str) -> Iterator[str]:
    """Make another database beside one."""
    head, _, query = database.rpartition("?")
    base, _, name = head.rpartition("/")
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}_clean TEMPLATE template0".encode())
        yield f"{base}/{name}_clean?{query}"
        conn.execute(f"DROP DATABASE {name}_clean WITH (FORCE)".encode())
