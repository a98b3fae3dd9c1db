"""Ingestions that are broken off, killed or run twice at once, as processes of their own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ragkit.store.connect import connect

pytestmark = pytest.mark.slow
FILES = 24


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    for number in range(FILES):
        paragraph = f"Document {number} says that wing {number} carries {number * 3} kg. "
        (made / f"{number:02}.txt").write_text(paragraph * 120)
    return made


def start(database: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ragkit", *arguments],
        env=os.environ | {"RAGKIT_DATABASE_URL": database},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    result: dict[str, Any] = json.loads(out)
    return result


def wait_for_documents(database: str, wanted: int, process: subprocess.Popen[str]) -> None:
    """Return as soon as some documents are stored and the run is still going on."""
    with connect(database) as conn:
        while process.poll() is None:
            table = conn.execute("SELECT to_regclass('document')").fetchone()
            if table == (None,):
                continue
            row = conn.execute("SELECT count(*) FROM document").fetchone()
            assert row is not None
            if row[0] >= wanted:
                return
    pytest.fail("the run ended before it could be interrupted")


def contents(database: str) -> Sequence[tuple[Any, ...]]:
    """Everything a search reads, without the numbers that a run gives out."""
    with connect(database) as conn:
        return conn.execute(
            "SELECT d.uri, d.content_hash, c.ordinal, c.start_char, c.end_char, c.tokens, c.terms,"
            " v.embedding::text FROM document d JOIN chunk c ON c.document_id = d.id"
            " JOIN vectors_1 v ON v.chunk_id = c.id ORDER BY d.uri, c.ordinal"
        ).fetchall()


@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_the_next_run_goes_on_where_one_was_broken_off(
    fresh_database: str, folder: Path, kill: signal.Signals
) -> None:
    process = start(fresh_database, "ingest", str(folder), "--json")
    wait_for_documents(fresh_database, 1, process)
    process.send_signal(kill)
    _, err = process.communicate(timeout=60)
    if kill == signal.SIGINT:
        assert process.returncode == 130
        assert "Traceback" not in err
        assert "run the same command again" in err
    report = finish(start(fresh_database, "ingest", str(folder), "--json"))
    documents = report["documents"]
    assert documents["unchanged"] >= 1
    assert documents["added"] + documents["updated"] + documents["unchanged"] == FILES
    stored = contents(fresh_database)
    assert len({row[0] for row in stored}) == FILES
    again = finish(start(fresh_database, "ingest", str(folder), "--json"))
    assert again["documents"]["unchanged"] == FILES
    assert contents(fresh_database) == stored


def test_two_runs_at_once_share_the_work(fresh_database: str, folder: Path) -> None:
    runs = [start(fresh_database, "ingest", str(folder), "--json") for _ in range(2)]
    reports = [finish(run) for run in runs]
    assert sum(report["documents"]["added"] for report in reports) == FILES
    assert sum(report["documents"]["updated"] for report in reports) == 0
    for report in reports:
        documents = report["documents"]
        assert documents["added"] + documents["unchanged"] == FILES
    with connect(fresh_database) as conn:
        assert conn.execute("SELECT max(version), count(*) FROM document").fetchone() == (1, FILES)
