"""Looks at the same places, one after the other: what is read again, what the ledger keeps, and
what is deleted when a place is away.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import fsspec
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.settings.settings import Settings
from ragkit.store.open import Database, open_database
from ragkit_ingest import sources
from ragkit_ingest.run import run
from ragkit_ingest.run.report import IngestReport
from ragkit_ingest.run.run import ingesting
from ragkit_ingest.run.watch_state import WatchState
from ragkit_ingest.sources import RecordFields, SourceOptions
from ragkit_ingest.sources.files import LocalTree

pytestmark = pytest.mark.usefixtures("shared_model")

TEXT = "# Leave\n\nEveryone has 25 days of leave.\n"


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
    (made / "leave.md").write_text(TEXT)
    (made / "travel.md").write_text("# Travel\n\nTrains are first class.\n")
    return made


class Clock:
    """Seconds that pass only when they are told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of looks: files were all written within the last hour of it."""
    clock = Clock()
    monkeypatch.setattr(run, "WatchState", lambda: WatchState(clock=lambda: 0.0, steady=clock))
    return clock


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were opened, in order."""
    names: list[str] = []
    own, own_open = LocalTree.read, LocalTree.open

    def read(tree: LocalTree, path: str, max_bytes: int) -> bytes:
        names.append(path)
        return own(tree, path, max_bytes)

    def opening(tree: LocalTree, path: str) -> BinaryIO:
        names.append(path)
        return own_open(tree, path)

    monkeypatch.setattr(LocalTree, "read", read)
    monkeypatch.setattr(LocalTree, "open", opening)
    return names


@contextmanager
def watching(
    place: Path | str,
    settings: Settings,
    *,
    sync: bool = False,
    sources: SourceOptions | None = None,
) -> Iterator[Callable[[], IngestReport]]:
    with ingesting([place], settings=settings, watch=True, sync=sync, sources=sources) as look:
        yield look


def runs(database: Database) -> int:
    return len(database.store("default").job_ledger.runs())


def names(database: Database) -> list[str]:
    return [Path(one.uri).name for one in database.store("default").documents("default")]


def counts(report: IngestReport) -> tuple[int, ...]:
    return report.added, report.updated, report.unchanged, report.deleted, report.failed


def test_what_is_surely_unchanged_is_not_read_again(
    settings: Settings, database: Database, folder: Path, clock: Clock, opened: list[str]
) -> None:
    with watching(folder, settings) as look:
        assert counts(look()) == (2, 0, 0, 0, 0)
        assert (sorted(opened), runs(database)) == (["leave.md", "travel.md"], 1)
        opened.clear()
        clock.now_s = 5.0  # what was read at once may have been written again in the same tick
        assert counts(look()) == (0, 0, 2, 0, 0)
        assert (sorted(opened), runs(database)) == (["leave.md", "travel.md"], 1)
        opened.clear()
        for now_s in (10.0, 15.0):
            clock.now_s = now_s
            assert counts(look()) == (0, 0, 2, 0, 0)
        assert (opened, runs(database)) == ([], 1)
        (folder / "leave.md").write_text(TEXT.replace("25", "30"))
        clock.now_s = 20.0
        assert counts(look()) == (0, 1, 1, 0, 0)
        assert (opened, runs(database)) == (["leave.md"], 2)


def test_a_file_written_again_in_the_same_tick_is_seen(
    settings: Settings, folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = LocalTree.stamp
    monkeypatch.setattr(  # a file system whose clock stands
        LocalTree, "stamp", lambda tree, path: replace_times(own(tree, path))
    )
    with watching(folder, settings) as look:
        look()
        (folder / "leave.md").write_text(TEXT.replace("25", "30"))  # as long, the same inode
        clock.now_s = 5.0
        assert counts(look()) == (0, 1, 1, 0, 0)


def replace_times(stamp: object) -> object:
    from ragkit_ingest.sources.item import Stamp

    assert isinstance(stamp, Stamp)
    return Stamp((stamp.mark[0], stamp.mark[3]), changed_at=0.0)


def test_an_old_file_is_read_once(
    settings: Settings, folder: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "WatchState", lambda: WatchState(clock=lambda: 1e12, steady=Clock()))
    with watching(folder, settings) as look:
        look()
        opened.clear()
        assert counts(look()) == (0, 0, 2, 0, 0)
    assert opened == []


def test_what_the_store_has_not_is_read_though_it_is_unchanged(
    settings: Settings, database: Database, folder: Path, clock: Clock, opened: list[str]
) -> None:
    with watching(folder, settings) as look:
        for now_s in (0.0, 5.0, 10.0):
            clock.now_s = now_s
            look()
        opened.clear()
        store = database.store("default")
        store.delete_uris("default", [str(folder / "leave.md")])
        assert counts(look()) == (1, 0, 1, 0, 0)
        assert opened == ["leave.md"]
        store.set_ingest_options("default", {"mask": "email"})
        assert counts(look()) == (0, 2, 0, 0, 0)


def test_a_file_that_failed_is_not_tried_again_until_it_is_asked_for(
    settings: Settings, database: Database, folder: Path, clock: Clock, opened: list[str]
) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF")
    ledger = database.store("default").job_ledger
    with watching(folder, settings) as look:
        for now_s in (0.0, 5.0, 10.0):
            clock.now_s = now_s
            assert look().failed == 1
        assert runs(database) == 1
        (job,) = ledger.jobs(state="failed")
        opened.clear()
        assert look().failures[0].uri == str(folder / "broken.pdf")
        assert opened == []
        ledger.retry([job.id])
        assert look().failed == 1
        assert opened == ["broken.pdf"]


def test_a_look_is_told_with_the_time_of_day(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.database_url is not None
    monkeypatch.setenv("RAGKIT_DATABASE_URL", settings.database_url.get_secret_value())
    monkeypatch.setattr(
        "ragkit_ingest.worker.watch.watched", lambda look, tell, every_s: tell(look())
    )
    done = CliRunner().invoke(app, ["ingest", str(folder), "--watch"], catch_exceptions=False)
    assert re.match(r"[012]\d:[0-5]\d:[0-5]\d\nAdded: 2 documents", done.stdout)


def test_an_archive_and_records_are_left_alone_as_a_whole(
    settings: Settings, folder: Path, clock: Clock, opened: list[str]
) -> None:
    import zipfile

    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("a.md", "# A\n\nOne thing.\n")
        archive.writestr("b.md", "# B\n\nAnother thing.\n")
    rows = folder / "rows.csv"
    rows.write_text("body\nA record.\nAnother record.\n")
    options = SourceOptions(records=RecordFields(("body",)))
    with watching(folder, settings, sync=True, sources=options) as look:
        assert counts(look()) == (6, 0, 0, 0, 0)
        assert {"more.zip", "rows.csv"} <= set(opened)
        for now_s in (5.0, 10.0):
            clock.now_s = now_s
            assert counts(look()) == (0, 0, 6, 0, 0)
        opened.clear()
        assert counts(look()) == (0, 0, 6, 0, 0)
        assert opened == []
        rows.write_text("body\nA record.\n")
        assert counts(look()) == (0, 0, 5, 1, 0)


def test_a_sidecar_that_changes_makes_its_file_anew(
    settings: Settings, folder: Path, clock: Clock
) -> None:
    with watching(folder, settings) as look:
        for now_s in (0.0, 5.0, 10.0):
            clock.now_s = now_s
            look()
        (folder / "leave.md.meta.json").write_text('{"year": 2020}')
        assert counts(look()) == (0, 1, 1, 0, 0)


def test_stamps_of_a_remote_store_come_with_its_list(clock: Clock) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/stamps/a.md", b"one")
    try:
        (item,) = sources.find(["memory://stamps"])
        stamp = item.stamp()
        assert stamp is not None
        assert item.stamp() == stamp
        memory.pipe("/stamps/a.md", b"two")
        (again,) = sources.find(["memory://stamps"])
        assert again.stamp() != stamp
    finally:
        memory.rm("/stamps", recursive=True)


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_folder_that_is_away_for_a_while_loses_nothing(
    settings: Settings, database: Database, folder: Path, clock: Clock, how: str
) -> None:
    kept = folder.with_name("kept")
    with watching(folder, settings, sync=True) as look:
        look()
        shutil.move(folder, kept)
        if how == "empty":  # as the place of a drive that is not mounted
            folder.mkdir()
        for _ in range(2):
            report = look()
            assert counts(report) == (0, 0, 0, 0, 1)
            assert report.failures[0].uri == str(folder)
        assert names(database) == ["leave.md", "travel.md"]
        assert ("none was deleted" if how == "empty" else "cannot be listed") in (
            report.failures[0].reason
        )
        if how == "empty":
            folder.rmdir()
        shutil.move(kept, folder)
        assert counts(look()) == (0, 0, 2, 0, 0)
        (folder / "leave.md").unlink()
        assert counts(look()) == (0, 0, 1, 1, 0)
    assert names(database) == ["travel.md"]


def test_a_folder_below_that_is_away_loses_nothing(
    settings: Settings, database: Database, folder: Path, clock: Clock
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may list every folder")
    (folder / "sub").mkdir()
    (folder / "sub" / "deep.md").write_text("# Deep\n\nDown there.\n")
    with watching(folder, settings, sync=True) as look:
        look()
        (folder / "sub").chmod(0)
        assert look().deleted == 0
        (folder / "sub").chmod(0o700)
    assert "deep.md" in names(database)
