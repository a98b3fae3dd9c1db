"""A backup of the real database, restored into another and compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.errors import DatabaseError, UsageError
from ragkit.store.admin.backup import Content, back_up, content, read_content, restore
from ragkit.store.connection.connect import connect
from ragkit.store.open import open_database
from ragkit.store.vectors import search
from ragkit.testing import CORPUS, FakeEmbedder, fill
from ragkit.testing.corpus import new_document
from ragkit.types import EmbeddingSpace
from tests.databases import Databases


@pytest.fixture(scope="module")
def filled(databases: Databases) -> Iterator[str]:
    """A database that tests only read."""
    with databases.take() as url:
        fill_database(url)
        yield url


@pytest.fixture
def writable(fresh_database: str) -> str:
    """A database with the same documents, for a test that changes them."""
    fill_database(fresh_database)
    return fresh_database


def fill_database(url: str) -> None:
    with open_database(Settings(database_url=SecretStr(url))) as database:
        fill(database.store("default"), FakeEmbedder(), CORPUS)
        fill(database.store("other tenant"), FakeEmbedder(), [new_document("x", "an otter")])


@pytest.fixture(scope="module")
def saved_once(filled: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Content]:
    folder = tmp_path_factory.mktemp("saved") / "b"
    return folder, back_up(filled, folder)


@pytest.fixture
def saved(saved_once: tuple[Path, Content]) -> Content:
    """The content of the backup in `folder`."""
    return saved_once[1]


@pytest.fixture
def folder(saved_once: tuple[Path, Content], tmp_path: Path) -> Path:
    """A copy of the backup of `filled`."""
    return Path(shutil.copytree(saved_once[0], tmp_path / "b"))


def test_what_is_restored_holds_and_finds_the_same(
    saved: Content, folder: Path, empty_database: str
) -> None:
    chunks = sum(len(new.chunks) for new in CORPUS) + 1
    assert saved.tables["chunk"][0] == saved.tables["vectors_1"][0] == chunks
    assert len(saved.searches) == 2 * 6  # five of one collection, one of the other; two legs
    assert all(saved.searches.values())
    restored = restore(empty_database, folder)
    assert restored == saved
    with open_database(Settings(database_url=SecretStr(empty_database))) as database:
        store = database.store("default")
        assert {one.uri for one in store.documents("default")} == {new.uri for new in CORPUS}
        fill(store, FakeEmbedder(), [new_document("later", "a wing")])  # sequences go on


def test_every_space_of_a_collection_is_searched_and_told_apart(
    writable: str, empty_database: str, tmp_path: Path
) -> None:
    """The one it is searched in, and two of another model that differ in their dimension alone."""
    drawn = np.random.default_rng(1)
    with open_database(Settings(database_url=SecretStr(writable))) as database:
        spaces = database.store("default").spaces
        for dimension in (3, 5):
            space = EmbeddingSpace("another", "1", dimension)
            gaps = spaces.gaps(
                "default", spaces.open("default", space, source="", first=dimension).id
            )
            chunks = [passage.chunk for passage in gaps.batch(after=0, limit=1000)]
            rows = drawn.normal(size=(len(chunks), dimension)).astype(np.float32)
            gaps.add(chunks, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    saved = back_up(writable, tmp_path / "b")
    assert len(saved.searches) == 2 * 6 + 2 * 5
    assert all(saved.searches.values())
    assert restore(empty_database, tmp_path / "b") == saved


def test_no_approximate_index_is_searched(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built again by the restore, it may find something else in the same rows."""
    with connect(filled) as conn, conn.transaction(), conn.cursor() as cursor:
        cursor.execute("SET LOCAL ragkit.all_tenants = 'on'")
        expected = content(cursor).searches
        monkeypatch.setattr(search, "choose", lambda *given: pytest.fail("an index may be walked"))
        assert content(cursor).searches == expected


@pytest.fixture
def altered(folder: Path) -> Path:
    """A backup that says of its documents what is not so."""
    check = folder / "check.json"
    saved = json.loads(check.read_text("utf-8"))
    saved["tables"]["document"][1] = "1"
    check.write_text(json.dumps(saved), "utf-8")
    return folder


def test_what_is_not_what_was_saved_is_named_and_taken_out_again(
    altered: Path, empty_database: str
) -> None:
    said = r"not what was saved: table document: 4 rows \(1\).*is empty again.*--keep"
    for _ in range(2):
        with pytest.raises(DatabaseError, match=said):
            restore(empty_database, altered)
    assert _tables(empty_database) == []


def test_what_is_not_what_was_saved_is_kept_on_demand(altered: Path, empty_database: str) -> None:
    with pytest.raises(DatabaseError, match=r"table document: 4 rows.*was kept"):
        restore(empty_database, altered, keep=True)
    with open_database(Settings(database_url=SecretStr(empty_database))) as database:
        kept = database.store("default").documents("default")
    assert {one.uri for one in kept} == {new.uri for new in CORPUS}


def test_the_saved_rows_are_kept_where_they_are_searched_otherwise(
    folder: Path, empty_database: str
) -> None:
    """By another pgvector or another processor, say: it is told of, and the copy is a true one."""
    check = folder / "check.json"
    saved = json.loads(check.read_text("utf-8"))
    name = next(iter(saved["searches"]))
    saved["searches"][name].reverse()
    check.write_text(json.dumps(saved), "utf-8")
    said = r"has the saved rows.*find something else: search default.*was kept"
    with pytest.raises(DatabaseError, match=said):
        restore(empty_database, folder)
    with open_database(Settings(database_url=SecretStr(empty_database))) as database:
        kept = database.store("default").documents("default")
    assert {one.uri for one in kept} == {new.uri for new in CORPUS}


def test_a_database_that_was_opened_and_holds_nothing_is_restored_into(
    saved: Content, folder: Path, empty_database: str
) -> None:
    with open_database(Settings(database_url=SecretStr(empty_database))) as database:
        with connect(empty_database) as conn:
            conn.execute("CREATE TABLE another_program (id int)")
        with pytest.raises(UsageError, match="a table of others, another_program"):
            restore(empty_database, folder)
        with connect(empty_database) as conn:
            conn.execute("DROP TABLE another_program")
        store = database.store("default")
        store.create_collection("mine")
        with pytest.raises(UsageError, match="holds rows of collection"):
            restore(empty_database, folder)
        store.delete_collection("mine")
        assert restore(empty_database, folder) == saved
        assert len(store.documents("default")) == len(CORPUS)  # by those who have it open, too


def test_a_backup_of_a_newer_ragkit_is_refused(folder: Path, empty_database: str) -> None:
    check = folder / "check.json"
    saved = json.loads(check.read_text("utf-8"))
    saved["tables"]["ragkit_migration"][0] += 1
    check.write_text(json.dumps(saved), "utf-8")
    with pytest.raises(UsageError, match="newer ragkit"):
        restore(empty_database, folder)


def test_what_changes_meanwhile_is_not_in_it(writable: str, tmp_path: Path) -> None:
    first = back_up(writable, tmp_path / "a")
    with open_database(Settings(database_url=SecretStr(writable))) as database:
        store = database.store("default")
        fill(store, FakeEmbedder(), [new_document("later", "the wing")])
    second = back_up(writable, tmp_path / "b")
    assert first.other_rows(second)[0].startswith("table chunk:")
    assert read_content(tmp_path / "a") == first


def test_a_relative_folder_is_one_of_the_working_folder(
    filled: str, empty_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved = back_up(filled, Path("b"))
    assert restore(empty_database, Path("b")) == saved


def test_bad_folders_and_full_databases(
    filled: str, folder: Path, empty_database: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="is there already"):
        back_up(filled, folder)
    with pytest.raises(UsageError, match="not empty, it holds rows of"):
        restore(filled, folder)
    for wrong in (tmp_path / "nothing", tmp_path):
        with pytest.raises(UsageError, match="no backup that this ragkit can read"):
            restore(empty_database, wrong)


def test_a_failed_restore_leaves_the_database_empty(folder: Path, empty_database: str) -> None:
    dump = folder / "database.dump"
    whole = dump.read_bytes()
    dump.write_bytes(whole[: len(whole) * 3 // 4])
    with pytest.raises(DatabaseError, match="pg_restore failed"):
        restore(empty_database, folder)
    dump.write_bytes(whole)
    restore(empty_database, folder)


def test_nothing_is_left_of_a_backup_that_failed(tmp_path: Path, empty_database: str) -> None:
    gone = empty_database.replace("test_", "nowhere_")
    with pytest.raises(DatabaseError, match="createdb"):
        back_up(gone, tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def _tables(url: str) -> list[str]:
    with connect(url) as conn:
        return [
            name
            for (name,) in conn.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r'"
                " AND relnamespace = 'public'::regnamespace"
            )
        ]
