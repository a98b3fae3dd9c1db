"""Several ingestions at once, and one that was away too long: each file is taken in once."""

import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection

from ragkit.store.connection.connect import connect
from ragkit.store.connection.rows import first_value
from tests import commands
from tests.core.embed.tiny_model import write_model
from tests.faults.commands import finish, running, start, until, write_file

pytestmark = pytest.mark.faults

FILES = 500


@pytest.mark.parametrize("workers", [2, 8])
def test_each_file_is_embedded_once(fresh_database: str, tmp_path: Path, workers: int) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(FILES):
        write_file(folder / f"{number:03}.md", 1, paragraphs=1)
    model = str(write_model(tmp_path / "model", seed=1))
    with connect(fresh_database) as conn, connect(fresh_database) as other, conn.transaction():
        conn.execute("LOCK TABLE job")  # nobody begins before all are there
        command = ("ingest", str(folder), "--json")
        runs = [start(fresh_database, *command, embed_model=model) for _ in range(workers)]
        until(lambda: waiting(other) >= workers, runs[0], "all were there")
    reports = [finish(run) for run in runs]
    with connect(fresh_database) as conn:
        stored = conn.execute("SELECT max(version), count(*) FROM document").fetchone()
        chunks = conn.execute("SELECT count(*) FROM chunk").fetchone()
    assert stored == (1, FILES)
    assert chunks == (sum(report["embedded"] for report in reports),)
    assert sum(report["documents"]["added"] for report in reports) == FILES
    assert sum(report["embedded"] > 0 for report in reports) > 1  # the work was really shared
    for report in reports:
        documents = report["documents"]
        assert documents["added"] + documents["unchanged"] == FILES
        assert documents["failed"] == documents["lost"] == 0


def waiting(conn: Connection[Any]) -> int:
    """Count those who wait for a lock in the database that a connection is to."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = %s"
    return int(first_value(conn.cursor(), query, (conn.info.dbname,)))


def test_who_was_away_past_his_lease_writes_nothing(fresh_database: str, tmp_path: Path) -> None:
    file = tmp_path / "long.md"
    write_file(file, 1, paragraphs=100)
    away = start(fresh_database, "ingest", str(tmp_path), "--json")
    until(running(fresh_database, file.name), away, "the file was taken")
    away.signal(signal.SIGSTOP)
    try:
        with connect(fresh_database) as conn:  # as if its time had passed
            conn.execute("UPDATE job SET lease_until = now() - interval '1 second'")
        write_file(file, 2)
        report = finish(start(fresh_database, "ingest", str(tmp_path), "--json"))
        assert report["documents"]["added"] == 1
    finally:
        away.signal(signal.SIGCONT)
    report = finish(away)
    assert report["documents"]["added"] == report["documents"]["updated"] == 0
    with connect(fresh_database) as conn:
        (row,) = conn.execute("SELECT version, text FROM document")
        assert row[0] == 1
        assert "version2" in row[1]
        assert conn.execute("SELECT state FROM job").fetchall() == [("done",)]


def test_what_is_deleted_while_it_is_embedded_stays_deleted(
    fresh_database: str, tmp_path: Path
) -> None:
    documents = partial(
        commands.run, "documents", environment={"RAGKIT_DATABASE_URL": fresh_database}
    )
    file = tmp_path / "long.md"
    write_file(file, 1)
    finish(start(fresh_database, "ingest", str(tmp_path), "--json"))
    assert documents("list").returncode == 0  # which imports what deleting needs
    write_file(file, 2, paragraphs=150)
    run = start(fresh_database, "ingest", str(tmp_path), "--json")
    until(running(fresh_database, file.name), run, "the file was taken")
    with connect(fresh_database) as conn:
        (row,) = conn.execute("SELECT id FROM document")
    deleted = documents("delete", str(row[0]), "--yes", "--json")
    assert deleted.returncode == 0, deleted.stderr
    report = finish(run)
    assert report["documents"]["lost"] == 1
    with connect(fresh_database) as conn:
        assert conn.execute("SELECT count(*) FROM document").fetchone() == (0,)
        assert conn.execute("SELECT count(*) FROM chunk").fetchone() == (0,)
        assert conn.execute("SELECT state FROM job").fetchall() == [("cancelled",)]
