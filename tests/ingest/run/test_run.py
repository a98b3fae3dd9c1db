"""Whole ingestions into the real database: what is stored, left alone, replaced and reported."""

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from ragkit.embed.local import LocalEmbedder
from ragkit.errors import NotFoundError
from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.connection.connect import connect
from ragkit.store.open import open_database
from ragkit_ingest.executor import pipeline
from ragkit_ingest.executor.channel import Room
from ragkit_ingest.run.changes import GROUP
from ragkit_ingest.run.report import Failure, Progress
from ragkit_ingest.run.run import ingest
from ragkit_ingest.worker.enqueue import enqueue
from ragkit_ingest.worker.preview import preview

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.embed.contract import Row

pytestmark = pytest.mark.usefixtures("shared_model")

PATIENCE_S = 60  # on a busy machine

TABLES = (
    "collection",
    "document",
    "chunk",
    "vectors_1",
    "lexical_posting",
    "lexical_segment",
    "job",
)


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    return Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    (made / "leave.md").write_text("# Leave\n\nEveryone has 25 days of leave.\n")
    (made / "制度.txt").write_text("年假为十五天。出差住宿标准为每晚五百元。\n", encoding="gb18030")
    (made / "notes.xyz").write_text("another format")
    (made / ".hidden.md").write_text("# Hidden\n")
    return made


def rows(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    assert settings.database_url is not None
    with connect(settings.database_url.get_secret_value()) as conn:
        return conn.execute(query.encode()).fetchall()


def state(settings: Settings) -> dict[str, str]:
    """A hash over every row of every table with its xmin, which any write changes."""
    return {
        table: hashlib.sha256(
            repr(rows(settings, f"SELECT xmin, t.* FROM {table} t ORDER BY t")).encode()  # noqa: S608
        ).hexdigest()
        for table in TABLES
    }


def test_a_folder_becomes_documents(settings: Settings, folder: Path) -> None:
    report = ingest([folder], settings=settings)
    assert (report.added, report.updated, report.unchanged, report.failed) == (2, 0, 0, 0)
    assert {Path(file.uri).name: file.reason for file in report.skipped_files} == {
        ".hidden.md": "hidden (--hidden takes them)",
        "notes.xyz": "a format that ragkit does not read (.xyz)",
    }
    assert report.chunks == report.embedded == 2
    stored = rows(settings, "SELECT uri, title, language, version, text FROM document ORDER BY uri")
    assert stored == [
        (str(folder / "leave.md"), "Leave", "en", 1, "# Leave\n\nEveryone has 25 days of leave.\n"),
        (str(folder / "制度.txt"), "制度", "zh", 1, "年假为十五天。出差住宿标准为每晚五百元。\n"),
    ]


def test_a_document_remembers_the_size_of_its_file(settings: Settings, folder: Path) -> None:
    ingest([folder], settings=settings)
    sizes = "SELECT bytes, octet_length(text) FROM document ORDER BY uri"
    assert rows(settings, sizes) == [(40, 40), (41, 61)], "GB 18030 takes two bytes, UTF-8 three"


@pytest.mark.parametrize("name", ["leave.md", "制度.txt"])
def test_one_place_is_a_text_or_a_path(settings: Settings, folder: Path, name: str) -> None:
    assert ingest(str(folder / name), settings=settings).added == 1
    assert ingest(folder / name, settings=settings).unchanged == 1
    assert preview(str(folder / name), settings=settings).unchanged == 1
    with open_database(settings) as database:
        queued = enqueue(folder / name, Embedders(settings), database, collection="default")
    assert (queued.queued, queued.others.unchanged) == (0, 1)


def test_a_second_run_embeds_nothing_and_changes_no_row(settings: Settings, folder: Path) -> None:
    ingest([folder], settings=settings)
    before = state(settings)
    report = ingest([folder], settings=settings)
    assert (report.added, report.updated, report.unchanged) == (0, 0, 2)
    assert report.embedded == report.chunks == 0
    assert state(settings) == before


def test_a_changed_file_replaces_its_document(settings: Settings, folder: Path) -> None:
    ingest([folder], settings=settings)
    (folder / "leave.md").write_text("# Leave\n\nEveryone has 30 days of leave.\n")
    report = ingest([folder], settings=settings)
    assert (report.added, report.updated, report.unchanged) == (0, 1, 1)
    assert rows(settings, "SELECT version, text FROM document WHERE title = 'Leave'") == [
        (2, "# Leave\n\nEveryone has 30 days of leave.\n")
    ]
    assert rows(settings, "SELECT count(*) FROM chunk") == [(2,)]
    assert rows(settings, "SELECT count(*) FROM lexical_tombstone") == [(0,)]


def test_other_chunk_sizes_make_the_documents_anew(settings: Settings, folder: Path) -> None:
    ingest([folder], settings=settings)
    smaller = settings.model_copy(update={"chunk_tokens": 32})
    assert ingest([folder], settings=smaller).updated == 2


def test_a_failing_file_is_reported_with_stage_and_reason_and_the_others_finish(
    settings: Settings, folder: Path
) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF")
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    (folder / "empty.txt").write_bytes(b"")
    report = ingest([folder], settings=settings)
    assert report.added == 2
    found = {Path(failure.uri).name: failure for failure in report.failures}
    assert {name: failure.stage for name, failure in found.items()} == {
        "broken.pdf": "parse",
        "empty.txt": "parse",
        "gone.md": "read",
    }
    assert all(failure.reason and "\n" not in failure.reason for failure in report.failures)
    assert found["gone.md"].reason == "it is a link that leads nowhere"
    ledger = rows(
        settings, "SELECT uri, stage, reason FROM job WHERE state = 'failed' ORDER BY uri"
    )
    assert [Failure(*row) for row in ledger] == list(report.failures)
    again = ingest([folder], settings=settings)
    assert again.failures == report.failures
    assert again.unchanged == 2


def test_how_long_a_text_may_be_is_a_setting_and_named_when_it_is_too_short(
    settings: Settings, tmp_path: Path
) -> None:
    assert settings.parse_text_mchars == 16
    limited = settings.model_copy(update={"parse_text_mchars": 1})
    (tmp_path / "long.txt").write_bytes(b"x" * 1_000_001)
    (failure,) = ingest([tmp_path / "long.txt"], settings=limited).failures
    assert failure.reason == (
        "its text has more than 1 million characters (RAGKIT_PARSE_TEXT_MCHARS): divide the file,"
        " or take a table's rows one by one with --text"
    )


def test_a_new_version_that_fails_leaves_the_old_document(settings: Settings, folder: Path) -> None:
    ingest([folder], settings=settings)
    (folder / "leave.md").write_bytes(b"\x00\x01\x02\x03" * 100)
    report = ingest([folder], settings=settings)
    assert report.failed == 1
    assert rows(settings, "SELECT version FROM document WHERE title = 'Leave'") == [(1,)]


def test_a_missing_path_fails_before_anything_is_done(
    settings: Settings, folder: Path, empty_database: str
) -> None:
    settings = settings.model_copy(update={"database_url": SecretStr(empty_database)})
    with pytest.raises(NotFoundError, match=r"no file or folder '.*nowhere'"):
        ingest([folder, folder / "nowhere"], settings=settings)
    assert rows(settings, "SELECT count(*) FROM pg_tables WHERE tablename = 'document'") == [(0,)]


def test_a_file_named_twice_is_taken_once(settings: Settings, folder: Path) -> None:
    report = ingest([folder, folder / "leave.md", folder], settings=settings)
    assert report.added == 2


def test_a_file_over_the_limit_is_not_read(settings: Settings, folder: Path) -> None:
    (folder / "large.txt").write_bytes(b"word " * 500_000)
    small = settings.model_copy(update={"max_file_mb": 1})
    (failure,) = ingest([folder], settings=small).failures
    assert (failure.stage, failure.reason) == ("read", "2.4 MB are over RAGKIT_MAX_FILE_MB, 1 MB")


def test_progress_ends_with_every_file(settings: Settings, folder: Path) -> None:
    seen: list[Progress] = []
    ingest([folder], settings=settings, on_progress=seen.append)
    assert (seen[-1].files, seen[-1].total, seen[-1].chunks) == (2, 2, 2)
    assert [p.files for p in seen] == sorted(p.files for p in seen)


def test_offsets_of_every_chunk_point_into_the_stored_text(
    settings: Settings, folder: Path
) -> None:
    text = "# 手册\n\n" + "第一条：员工应当准时上班。Be on time! 🕘 é́ \n\n" * 50
    (folder / "long.md").write_text(text, encoding="utf-8")
    ingest([folder], settings=settings.model_copy(update={"chunk_tokens": 64}))
    found = rows(
        settings,
        "SELECT c.start_char, c.end_char, d.text, substr(d.text, c.start_char + 1,"
        " c.end_char - c.start_char) FROM chunk c JOIN document d ON d.id = c.document_id",
    )
    assert len(found) > 15
    for start, end, stored, cut in found:
        assert stored[start:end] == cut
        assert cut == cut.strip()


def test_what_a_run_cannot_soon_do_is_left_to_others(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way = 3 * GROUP
    monkeypatch.setattr(pipeline, "FILES_UNDER_WAY", under_way)
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(under_way + 3 * GROUP):
        (folder / f"{number}.txt").write_text(f"Number {number}.")
    embed, enter = LocalEmbedder.embed_ids, Room.enter
    full = threading.Event()
    taken: list[int] = []

    def noted(room: Room, size: int) -> None:
        if room.used == under_way:
            full.set()  # and what reads waits here for room
        enter(room, size)

    def late(embedder: LocalEmbedder, given: "Sequence[Row]") -> "Vectors":
        assert full.wait(PATIENCE_S)
        ((count,),) = rows(settings, "SELECT count(*) FROM job WHERE state = 'running'")
        taken.append(count)
        return embed(embedder, given)

    monkeypatch.setattr(Room, "enter", noted)
    monkeypatch.setattr(LocalEmbedder, "embed_ids", late)
    report = ingest([folder], settings=settings)
    assert under_way <= taken[0] <= under_way + GROUP
    assert report.added == under_way + 3 * GROUP
