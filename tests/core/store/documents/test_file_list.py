"""Files found by name among many: which fit, in which order, and how little of them travels."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.errors import NotFoundError
from ragkit.store.documents.file_list import SORTS, FileList, Files, Sort
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJobs
from ragkit.store.open import Database, open_database
from ragkit.testing import FakeEmbedder
from ragkit.testing.corpus import fill, new_document
from tests.databases import Databases

MANY = 3000
INSERT_MANY = """
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, chars, text)
    SELECT 'default', id, 'upload:report-' || n || '.pdf', sha256(n::text::bytea), '', '',
        'Report ' || to_char(n, 'FM0000'), 'en', '', '{}', '{0}', '{1}', 1, 'x'
    FROM collection, generate_series(1, %s) n WHERE name = 'many'
"""
DOCUMENTS = (
    new_document("folder/zebra.md", "Striped."),
    new_document("b.md", "One.", "Two.", title="alpha 100%"),
    new_document("a.md", "One.", title="Beta_1"),
    new_document("c.md", "One.", title="BetaX1"),
    new_document("差旅.md", "差旅报销。", title="差旅规定"),
    new_document("q.md", "One.", title="ÜBER ALLES' OR 1=1 --"),
)


@pytest.fixture(scope="module")
def database(databases: Databases) -> Iterator[Database]:
    """A database that tests only read."""
    with (
        databases.take() as url,
        open_database(Settings(database_url=SecretStr(url))) as database,
    ):
        store = database.store("default")
        fill(store, FakeEmbedder(), DOCUMENTS)
        for name in ("many", "empty"):
            store.create_collection(name)
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(INSERT_MANY, (MANY,))
        yield database


@pytest.fixture
def files(database: Database) -> Files:
    return Files(database.pool, "default")


def names(found: FileList) -> list[str]:
    return [file.title or file.uri for file in found.files]


def test_documents_are_found_by_title_and_uri_in_any_case_sorted_by_name(files: Files) -> None:
    everything = files.page("default", limit=10)
    assert names(everything) == [
        *("alpha 100%", "Beta_1", "BetaX1", "folder/zebra.md", "ÜBER ALLES' OR 1=1 --", "差旅规定")
    ]
    assert (everything.matched, everything.all) == (6, 6)
    assert everything.files[0].chunks == 2
    assert names(files.page("default", "BETA", limit=10)) == ["Beta_1", "BetaX1"]
    assert names(files.page("default", "FOLDER/Z", limit=10)) == ["folder/zebra.md"]
    assert names(files.page("default", "über", limit=10)) == ["ÜBER ALLES' OR 1=1 --"]
    assert names(files.page("default", "旅规", limit=10)) == ["差旅规定"]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("%", ["alpha 100%"]),
        ("_", ["Beta_1"]),
        ("\\", []),
        ("' OR 1=1 --", ["ÜBER ALLES' OR 1=1 --"]),
        ("%s", []),
        ("\0", []),
        ("\ud800", []),
        ("nothing of the kind", []),
    ],
)
def test_no_character_has_a_meaning_of_its_own(
    files: Files, part: str, expected: list[str]
) -> None:
    found = files.page("default", part, limit=10)
    assert names(found) == expected
    assert (found.matched, found.all) == (len(expected), 6)


def test_what_is_not_there_is_not_found(database: Database, files: Files) -> None:
    assert files.page("empty", limit=10) == FileList((), 0, 0)
    with pytest.raises(NotFoundError, match="no collection 'nowhere'"):
        files.page("nowhere", limit=10)
    with pytest.raises(NotFoundError):
        Files(database.pool, "other").page("default", limit=10)


def test_of_many_only_the_first_travel(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[int] = []
    execute = psycopg.Cursor.execute

    def counting(self: Any, *args: Any, **options: Any) -> Any:
        done = execute(self, *args, **options)
        received.append(max(0, self.rowcount))
        return done

    monkeypatch.setattr(psycopg.Cursor, "execute", counting)
    found = files.page("many", limit=20)
    assert (found.matched, found.all) == (MANY, MANY)
    assert names(found) == [f"Report {n:04}" for n in range(1, 21)]
    found = files.page("many", "report 1", limit=5)
    assert (found.matched, found.all) == (1000, MANY)
    assert names(found) == [f"Report {n}" for n in range(1000, 1005)]
    assert 0 < sum(received) <= 20 + 5 + 10, "rows, with those of counts and look-ups"


def test_the_next_page_begins_where_the_last_one_ended(files: Files) -> None:
    page = files.page("many", limit=500, offset=2500)
    assert (names(page)[0], len(page.files), page.matched) == ("Report 2501", 500, MANY)
    beyond = files.page("many", limit=500, offset=MANY)
    assert beyond == FileList((), MANY, MANY), "and all are still counted"


@pytest.fixture(scope="module")
def mixed(database: Database) -> Files:
    """Three documents of several kinds and sizes, and uploads that wait, run and have failed."""
    store = database.store("default")
    entries = (
        replace(new_document("x/plan.pdf", "One.", title="Plan"), size_bytes=2_000_000),
        new_document("notes.md", "Some words, and more.", title="Notes"),
        replace(new_document("table.csv", "One."), size_bytes=10),
    )
    kinds = ("application/pdf", "text/markdown", "text/csv")
    fill(
        store,
        FakeEmbedder(),
        [replace(new, media_type=kind) for new, kind in zip(entries, kinds, strict=True)],
        collection="mixed",
    )
    sent = [Upload(name, io.BytesIO(b"1234")) for name in ("b.docx", "a.pdf", "c.md")]
    waiting, running, failed = Sources(database.pool, "default").keep(
        "mixed", sent, principal="ann"
    )
    update = "UPDATE job SET state = %s, reason = %s, done = 3, total = 7 WHERE id = %s"
    with database.pool.connection() as conn:
        conn.execute(update, ("running", "", running))
        conn.execute(update, ("failed", "there is no text in it", failed))
        conn.execute("UPDATE document SET updated_at = '2026-01-01' WHERE uri = 'notes.md'")
    assert waiting < running < failed
    return Files(database.pool, "default")


TYPES = {"application/pdf": 0, ".pdf": 0, "text/markdown": 1, ".md": 1, "text/csv": 2}


@pytest.mark.parametrize(
    ("sort", "rising", "falling"),
    [
        (
            "name",
            "a.pdf b.docx c.md Notes Plan table.csv",
            "table.csv Plan Notes c.md b.docx a.pdf",
        ),
        (
            "type",
            "a.pdf Plan c.md Notes table.csv b.docx",
            "b.docx table.csv c.md Notes a.pdf Plan",
        ),
        (
            "size",
            "a.pdf b.docx c.md table.csv Notes Plan",
            "Plan Notes table.csv a.pdf b.docx c.md",
        ),
        (
            "state",
            "c.md a.pdf b.docx Notes Plan table.csv",
            "Notes Plan table.csv b.docx a.pdf c.md",
        ),
    ],
)
def test_files_are_sorted_by_each_column(
    mixed: Files, sort: Sort, rising: str, falling: str
) -> None:
    for descending, expected in ((False, rising), (True, falling)):
        listed = mixed.page(
            "mixed", limit=9, sort=sort, descending=descending, types=TYPES, uploads=True
        )
        assert names(listed) == expected.split()
        assert (listed.matched, listed.all) == (6, 6)
    assert SORTS == ("name", "type", "size", "date", "state")


def test_the_latest_file_comes_first(mixed: Files) -> None:
    dates = [file.date for file in mixed.page("mixed", limit=9, sort="date", uploads=True).files]
    assert dates == sorted(dates)
    assert dates[0].year == 2026
    latest = mixed.page("mixed", limit=9, sort="date", descending=True, uploads=True).files
    assert [file.date for file in latest] == dates[::-1]


def test_a_file_says_how_large_it_is_and_how_it_stands(mixed: Files) -> None:
    listed = {
        file.title or file.uri: file for file in mixed.page("mixed", limit=9, uploads=True).files
    }
    sizes = {name: (file.size_bytes, file.is_text_size) for name, file in listed.items()}
    assert sizes == {
        **{"Plan": (2_000_000, False), "Notes": (21, True), "table.csv": (10, False)},
        **{"a.pdf": (4, False), "b.docx": (4, False), "c.md": (4, False)},
    }
    assert {name: file.state for name, file in listed.items()} == {
        **{"Plan": "done", "Notes": "done", "table.csv": "done"},
        **{"a.pdf": "running", "b.docx": "queued", "c.md": "failed"},
    }
    assert (listed["a.pdf"].done, listed["a.pdf"].total) == (3, 7)
    assert (listed["c.md"].reason, listed["c.md"].document) == ("there is no text in it", None)
    assert listed["Plan"].job is None
    assert names(mixed.page("mixed", limit=9)) == ["Notes", "Plan", "table.csv"]
    assert names(mixed.page("mixed", ".PDF", limit=9, uploads=True)) == ["a.pdf", "Plan"]


def test_an_upload_is_listed_for_its_sender_and_for_readers_of_the_collection(
    database: Database, mixed: Files
) -> None:
    with database.pool.connection() as conn:
        conn.execute(
            "UPDATE collection SET owner = 'user:bob', readers = '{user:ann}' WHERE name = 'mixed'"
        )
    try:
        for reader, count in (("user:ann", 6), ("user:bob", 6)):
            listed = Files(database.pool, "default", (reader,)).page("mixed", limit=9, uploads=True)
            assert len(listed.files) == count
        with pytest.raises(NotFoundError, match="no collection 'mixed'"):
            Files(database.pool, "default", ("user:eve",)).page("mixed", limit=9, uploads=True)
    finally:
        with database.pool.connection() as conn:
            conn.execute("UPDATE collection SET owner = NULL, readers = NULL WHERE name = 'mixed'")


def test_a_failure_is_over_when_the_file_is_sent_again_or_its_record_deleted(
    database: Database,
) -> None:
    database.store("default").create_collection("again")
    sources, jobs = Sources(database.pool, "default"), UploadJobs(database.pool, "default")
    listed = Files(database.pool, "default")

    def send(name: str) -> int:
        (job,) = sources.keep("again", [Upload(name, io.BytesIO(b"x"))], principal="ann")
        return job

    def fail(job: int) -> None:
        with database.pool.connection() as conn:
            conn.execute("UPDATE job SET state = 'failed' WHERE id = %s", (job,))

    def states() -> list[tuple[str, str]]:
        page = listed.page("again", limit=9, uploads=True)
        return [(file.title, file.state) for file in page.files]

    first = send("a.md")
    with pytest.raises(NotFoundError, match="has ended"):
        jobs.forget(first)
    fail(first)
    assert states() == [("a.md", "failed")]
    second = send("a.md")
    assert states() == [("a.md", "queued")]
    fail(second)
    jobs.forget(second)
    assert states() == [("a.md", "failed")], "the earlier one is the last again"
    with pytest.raises(NotFoundError):
        UploadJobs(database.pool, "other").forget(first)
    jobs.forget(first)
    assert states() == []
