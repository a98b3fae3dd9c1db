"""What a run may be asked for besides taking files in: copies, sync, force, a look ahead, watching,
options of a collection's own.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.errors import NotFoundError
from ragkit.settings.settings import Settings
from ragkit.store.jobs.worker import Job, Worker
from ragkit.store.open import Database, open_database
from ragkit_ingest.run.report import IngestReport
from ragkit_ingest.run.run import ingest
from ragkit_ingest.sources import SourceOptions
from ragkit_ingest.worker.preview import preview
from ragkit_ingest.worker.watch import watched

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


def names(database: Database) -> list[str]:
    return [Path(one.uri).name for one in database.store("default").documents("default")]


def test_files_with_the_same_content_are_stored_once_and_listed(
    settings: Settings, database: Database, folder: Path
) -> None:
    (folder / "old").mkdir()
    (folder / "old" / "leave.md").write_text(TEXT)
    (folder / "old" / "again.md").write_text(TEXT)
    report = ingest([folder], settings=settings)
    assert (report.added, report.copies, report.embedded) == (2, 2, 2)
    assert names(database) == ["leave.md", "travel.md"]
    store = database.store("default")
    (copies,) = store.copies("default").values()
    assert [(Path(copy.uri).name, copy.similarity) for copy in copies] == [
        ("again.md", 1.0),
        ("leave.md", 1.0),
    ]
    again = ingest([folder], settings=settings)
    assert (again.unchanged, again.added, again.copies) == (4, 0, 0)


def test_files_with_the_same_content_that_fails_wait_for_the_first_of_them_only(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        (folder / f"{number}.txt").touch()
    waited: list[Job] = []
    release = Worker.release

    def noted(self: Worker, job: Job) -> None:
        waited.append(job)
        release(self, job)

    monkeypatch.setattr(Worker, "release", noted)
    report = ingest([folder], settings=settings)
    assert (report.added, report.failed) == (2, 40)
    assert {failure.reason for failure in report.failures} == {"the file is empty (0 bytes)"}
    assert len({job.uri for job in waited}) == len(waited), "none waits twice"


def test_a_copy_takes_the_document_over_when_its_file_changes(
    settings: Settings, database: Database, folder: Path
) -> None:
    ingest([folder], settings=settings)
    (folder / "other.md").write_text(TEXT)
    assert ingest([folder], settings=settings).copies == 1
    (folder / "leave.md").write_text(TEXT.replace("25", "30"))
    report = ingest([folder], settings=settings)
    assert report.embedded == 1, "what the copy has is embedded already"
    assert names(database) == ["leave.md", "other.md", "travel.md"]
    store = database.store("default")
    texts = {Path(one.uri).name: store.text(one.id) for one in store.documents("default")}
    assert texts["other.md"] == TEXT
    assert "30 days" in texts["leave.md"]


def test_what_the_user_says_of_a_file_makes_it_another_document(
    settings: Settings, folder: Path, database: Database
) -> None:
    ingest([folder], settings=settings)
    report = ingest([folder], settings=settings, sources=SourceOptions(metadata={"year": 2020}))
    assert report.updated == 2
    with database.pool.connection() as conn:
        found = conn.execute("SELECT DISTINCT metadata FROM document").fetchall()
    assert found == [({"year": 2020},)]


def test_sync_deletes_what_has_vanished_from_the_places_and_nothing_else(
    settings: Settings, database: Database, folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("# Elsewhere\n\nAnother place.\n")
    ingest([folder, elsewhere], settings=settings)
    (folder / "leave.md").unlink()
    elsewhere.unlink()
    assert ingest([folder], settings=settings).deleted == 0
    report = ingest([folder], settings=settings, sync=True)
    assert (report.deleted, report.unchanged) == (1, 1)
    assert names(database) == ["travel.md", "elsewhere.md"]


def test_force_takes_unchanged_files_anew(settings: Settings, folder: Path) -> None:
    ingest([folder], settings=settings)
    report = ingest([folder], settings=settings, force=True)
    assert (report.updated, report.unchanged, report.embedded) == (2, 0, 2)


def test_a_look_ahead_says_what_would_be_done_and_does_nothing(
    settings: Settings, database: Database, folder: Path
) -> None:
    first = preview([folder], settings=settings)
    assert [(Path(uri).name, what) for uri, what, _ in first.would] == [
        ("leave.md", "add"),
        ("travel.md", "add"),
    ]
    with pytest.raises(NotFoundError):
        database.store("default").documents("default")
    ingest([folder], settings=settings)
    (folder / "leave.md").unlink()
    (folder / "travel.md").write_text("# Travel\n\nOn foot.\n")
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    then = preview([folder], settings=settings, sync=True)
    assert {(Path(uri).name, what) for uri, what, _ in then.would} == {
        ("gone.md", "fail"),
        ("leave.md", "delete"),
        ("travel.md", "update"),
    }
    assert names(database) == ["leave.md", "travel.md"]
    assert then.as_json()["documents"] == {
        "added": 0,
        "updated": 1,
        "unchanged": 0,
        "deleted": 1,
        "failed": 1,
    }


def test_a_collection_has_options_of_its_own(
    settings: Settings, database: Database, folder: Path
) -> None:
    ingest([folder], settings=settings)
    store = database.store("default")
    store.set_ingest_options("default", {"mask": "email"})
    (folder / "leave.md").write_text(TEXT + "\nAsk ada@example.com.\n")
    report = ingest([folder], settings=settings)
    assert report.updated == 2, "other options make other documents"
    assert report.notes == {"masked email": 1}
    texts = [store.text(one.id) for one in store.documents("default")]
    assert not any("ada@example.com" in text for text in texts)
    assert ingest([folder], settings=settings).unchanged == 2


class Ended(Exception):
    """The watching is over."""


def test_watching_tells_of_what_changed_and_of_a_failure_once(
    settings: Settings, folder: Path
) -> None:
    told: list[IngestReport] = []
    rounds = iter(range(5))

    def later(seconds: float) -> None:
        number = next(rounds)
        if number == 0:
            (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF")
        elif number == 2:
            (folder / "leave.md").write_text(TEXT.replace("25", "30"))
        elif number == 4:
            raise Ended

    with pytest.raises(Ended):
        watched(lambda: ingest([folder], settings=settings), told.append, every_s=1, sleep=later)
    assert [(one.added, one.updated, one.failed) for one in told] == [
        (2, 0, 0),
        (0, 0, 1),
        (0, 1, 1),
    ]


LONG = " ".join(f"Clause {n} binds both parties for {n * 7} days." for n in range(60))


@pytest.mark.parametrize("together", [True, False])
def test_near_duplicates_are_left_out_and_listed(
    settings: Settings, database: Database, tmp_path: Path, together: bool
) -> None:
    folder = tmp_path / "contracts"
    folder.mkdir()
    dropping = settings.model_copy(update={"near_duplicates": "drop"})
    (folder / "a.txt").write_text(LONG)
    if not together:
        assert ingest([folder], settings=dropping).added == 1
    (folder / "b.txt").write_text(LONG.replace("Clause 30 binds", "Clause 30 unbinds"))
    (folder / "c.txt").write_text(LONG[::-1])
    report = ingest([folder], settings=dropping)
    assert (report.copies, report.embedded > 0) == (1, True)
    assert names(database) == ["a.txt", "c.txt"]
    (copies,) = database.store("default").copies("default").values()
    assert [Path(copy.uri).name for copy in copies] == ["b.txt"]
    assert 0.9 <= copies[0].similarity < 1
    assert ingest([folder], settings=dropping).unchanged == 3


def test_near_duplicates_are_flagged(
    settings: Settings, database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "contracts"
    folder.mkdir()
    flagging = settings.model_copy(update={"near_duplicates": "flag"})
    (folder / "a.txt").write_text(LONG)
    (folder / "b.txt").write_text(LONG.replace("Clause 30 binds", "Clause 30 unbinds"))
    assert ingest([folder], settings=flagging).added == 2
    with database.pool.connection() as conn:
        found = dict(conn.execute("SELECT uri, metadata FROM document").fetchall())
    flags = {Path(uri).name: metadata.get("near_duplicate_of") for uri, metadata in found.items()}
    assert sorted(flags.items(), key=str) in (
        [("a.txt", None), ("b.txt", str(folder / "a.txt"))],
        [("a.txt", str(folder / "b.txt")), ("b.txt", None)],
    )


def test_lines_that_repeat_across_a_folder_are_left_out(
    settings: Settings, database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n, subject in enumerate(["gliders", "engines", "propellers", "landing gears"]):
        said = f"Note {n} is about {subject} and says what {subject} need in winter."
        (folder / f"{n}.txt").write_text(
            f"Confidential: property of Example Aviation Limited.\n\n{said}\n"
        )
    dropping = settings.model_copy(update={"boilerplate": "drop"})
    report = ingest([folder], settings=dropping)
    assert report.notes == {"boilerplate lines": 4}
    store = database.store("default")
    texts = [store.text(one.id) for one in store.documents("default")]
    assert not any("Confidential" in text for text in texts)
    assert "Note 0 is about gliders" in texts[0]
    assert ingest([folder], settings=dropping).unchanged == 4
