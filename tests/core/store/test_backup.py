"""A backup of the real database, restored into another and compared."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from ragkit import Settings
from ragkit.errors import DatabaseError, UsageError
from ragkit.store.backup import back_up, read_content, restore
from ragkit.store.open import open_database
from ragkit.testing import CORPUS, FakeEmbedder, fill
from ragkit.testing.corpus import new_document


@pytest.fixture
def filled(fresh_database: str) -> str:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        fill(database.store("default"), FakeEmbedder(), CORPUS)
        fill(database.store("other tenant"), FakeEmbedder(), [new_document("x", "an otter")])
    return fresh_database


@pytest.fixture
def empty(database_url: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        yield database_url.replace("/postgres?", f"/{name}?")
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_what_is_restored_holds_and_finds_the_same(filled: str, empty: str, tmp_path: Path) -> None:
    saved = back_up(filled, tmp_path / "b")
    chunks = sum(len(new.chunks) for new in CORPUS) + 1
    assert saved.tables["chunk"][0] == saved.tables["vectors_1"][0] == chunks
    assert len(saved.searches) == 2 * 6  # five of one collection, one of the other; two legs
    assert all(saved.searches.values())
    restored = restore(empty, tmp_path / "b")
    assert restored == saved
    with open_database(Settings(database_url=SecretStr(empty))) as database:
        store = database.store("default")
        assert {one.uri for one in store.documents("default")} == {new.uri for new in CORPUS}
        fill(store, FakeEmbedder(), [new_document("later", "a wing")])  # sequences go on


def test_a_difference_is_named(filled: str, empty: str, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "b")
    check = tmp_path / "b" / "check.json"
    saved = json.loads(check.read_text("utf-8"))
    saved["tables"]["document"][1] = "1"
    check.write_text(json.dumps(saved), "utf-8")
    with pytest.raises(DatabaseError, match=r"not what was saved: table document: 4 rows \(1\)"):
        restore(empty, tmp_path / "b")


def test_what_changes_meanwhile_is_not_in_it(filled: str, tmp_path: Path) -> None:
    first = back_up(filled, tmp_path / "a")
    with open_database(Settings(database_url=SecretStr(filled))) as database:
        store = database.store("default")
        fill(store, FakeEmbedder(), [new_document("later", "the wing")])
    second = back_up(filled, tmp_path / "b")
    assert first.differences(second)[0].startswith("table chunk:")
    assert read_content(tmp_path / "a") == first


def test_bad_folders_and_full_databases(filled: str, empty: str, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "b")
    with pytest.raises(UsageError, match="is there already"):
        back_up(filled, tmp_path / "b")
    with pytest.raises(UsageError, match="holds tables already"):
        restore(filled, tmp_path / "b")
    for wrong in (tmp_path / "nothing", tmp_path):
        with pytest.raises(UsageError, match="no backup that this ragkit can read"):
            restore(empty, wrong)


def test_a_failed_restore_leaves_the_database_empty(
    filled: str, empty: str, tmp_path: Path
) -> None:
    back_up(filled, tmp_path / "b")
    dump = tmp_path / "b" / "database.dump"
    whole = dump.read_bytes()
    dump.write_bytes(whole[: len(whole) * 3 // 4])
    with pytest.raises(DatabaseError, match="pg_restore failed"):
        restore(empty, tmp_path / "b")
    dump.write_bytes(whole)
    restore(empty, tmp_path / "b")


def test_nothing_is_left_of_a_backup_that_failed(tmp_path: Path, empty: str) -> None:
    gone = empty.replace("test_", "nowhere_")
    with pytest.raises(DatabaseError, match="createdb"):
        back_up(gone, tmp_path / "b")
    assert list(tmp_path.iterdir()) == []
