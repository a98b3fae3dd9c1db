"""`kill -9` at random moments of ingestions that add and update files.

A reader looks at everything throughout: no document may ever be seen half. After one more run, left
alone, everything is as a clean ingestion makes it, down to the scores of search results.

The embedding model is real but tiny, so that most of a run's time, and so of the kills, goes to
what can be left half: reading, splitting and above all writing.
"""

import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from ragkit.knowledge.base import KnowledgeBase
from ragkit.settings.settings import Settings
from ragkit.store.connection.connect import connect
from tests.core.embed.tiny_model import write_model
from tests.faults.commands import Command, contents, finish, least_cosine, start, write_file

pytestmark = pytest.mark.faults

FILES = 50
KILLS = 50
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


def test_a_killed_ingestion_leaves_nothing_half(fresh_database: str, folder: Path) -> None:
    seed = random.Random(SEED)
    began = time.monotonic()
    finish(ingest(fresh_database, folder))
    run_s = time.monotonic() - began
    killed = 0
    with looking(fresh_database) as looks:
        for version in range(2, 2 + MOST_RUNS):
            for number in seed.sample(range(FILES), CHANGED):
                write_file(folder / f"{number:02}.md", version)
            process = ingest(fresh_database, folder)
            began = time.monotonic()
            if process.is_running(wait_s=seed.uniform(0.3, 1.0) * run_s):
                process.signal(signal.SIGKILL)
                killed += process.end()[0] == -signal.SIGKILL  # it may have ended just before
            else:
                run_s = time.monotonic() - began  # it has less to do than the first one
                finish(process)
            if killed == KILLS:
                break
        report = finish(ingest(fresh_database, folder))
        assert report["documents"]["failed"] == 0
    print(f"{killed} killed at work; {looks.count} looks saw every document whole")
    assert killed == KILLS
    assert looks.count > KILLS
    assert looks.torn == []
    assert finish(ingest(fresh_database, folder))["documents"]["unchanged"] == FILES
    with clean(fresh_database) as other:
        finish(ingest(other, folder))
        assert contents(fresh_database) == contents(other)
        assert least_cosine(fresh_database, other) > 0.999
        for question in ("version9 wing 07", "how much does the wing carry in a gust?"):
            here, there = found(fresh_database, question), found(other, question)
            assert here == pytest.approx(there, rel=1e-4, abs=2e-3)


def ingest(database: str, folder: Path) -> Command:
    model = str(folder.with_name("model"))
    own = {"chunk_overlap_tokens": "0", "embed_model": model}
    return start(database, "ingest", str(folder), "--json", **own)


def found(database: str, question: str) -> dict[str, float]:
    """All that a search finds, each passage with its score by meaning and by words."""
    settings = Settings(database_url=database)  # type: ignore[arg-type]
    with KnowledgeBase.open(settings) as knowledge:
        return {
            f"{hit.uri} {hit.start} {leg}": score
            for hit in knowledge.search(question, k=1000)
            for leg, score in hit.scores.items()
        }


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
