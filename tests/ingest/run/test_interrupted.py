"""Ingestions that are broken off, killed or run twice at once, as processes of their own."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ragkit.store.connection.connect import connect
from ragkit.store.connection.rows import first_value
from ragkit_ingest.run.changes import GROUP
from tests.faults.commands import contents, finish, locked, start, until, vectors

FIRST = GROUP  # files that an ingestion takes together
FILES = FIRST + 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    for number in range(FILES):
        paragraph = f"Document {number} says that wing {number} carries {number * 3} kg. "
        (made / f"{number:02}.txt").write_text(paragraph * 3)
    return made


def stored(database: str) -> Callable[[], int]:
    """Return what counts the documents."""

    def count() -> int:
        with connect(database) as conn:
            return int(first_value(conn.cursor(), "SELECT count(*) FROM document"))

    return count


@pytest.mark.long
@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_the_next_run_goes_on_where_one_was_broken_off(
    fresh_database: str, folder: Path, kill: signal.Signals
) -> None:
    last = folder / f"{FILES - 1}.txt"
    finish(start(fresh_database, "ingest", str(last), "--json"))
    last.write_text("Another version.")
    count = stored(fresh_database)
    # The job of the last file is locked: the files that are taken before it are stored, it is not.
    with locked(fresh_database, "SELECT FROM job FOR UPDATE"):
        process = start(fresh_database, "ingest", str(folder), "--json")
        until(lambda: count() == 1 + FIRST, process, "the first files were stored")
        process.signal(kill)
    code, _, err = process.end()
    if kill == signal.SIGINT:
        assert code == 130
        assert "Traceback" not in err
        assert "run the same command again" in err
    else:
        assert code == -signal.SIGKILL
    assert count() == 1 + FIRST
    report = finish(start(fresh_database, "ingest", str(folder), "--json"))
    documents = report["documents"]
    assert documents["unchanged"] >= FIRST
    assert documents["updated"] == 1
    assert documents["added"] + documents["updated"] + documents["unchanged"] == FILES
    before = contents(fresh_database), vectors(fresh_database).tolist()
    assert len({row[0] for row in before[0]}) == FILES
    again = finish(start(fresh_database, "ingest", str(folder), "--json"))
    assert again["documents"]["unchanged"] == FILES
    assert (contents(fresh_database), vectors(fresh_database).tolist()) == before


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
