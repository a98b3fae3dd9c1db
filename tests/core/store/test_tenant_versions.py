"""Old versions under row-level security, as the role that programs run as."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ragkit
from ragkit.errors import NotFoundError
from ragkit.retrieve.words.lexical import search_words
from ragkit.store.connect import connect
from ragkit.store.history import History
from ragkit.store.migrate import migrate
from ragkit.store.open import open_database
from tests.core.store.conftest import Tenanted
from tests.core.store.test_postgres import SPACE, document, unit
from tests.core.store.test_versions import QUERY, now


def test_a_database_in_which_tenants_are_on_is_brought_up_to_date(
    unprepared: Tenanted, tmp_path: Path
) -> None:
    """Its policies bind the owner too, who changes tables with rows in them."""
    every = sorted((Path(ragkit.__file__).parent / "store" / "migrations").glob("*.sql"))
    before = [path for path in every if path.name < "0014"]
    for path in before:
        shutil.copy(path, tmp_path)
    with connect(unprepared.owner_url) as conn:
        assert len(migrate(conn, tmp_path)) == len(before)
        conn.execute("SELECT ragkit_enforce()")
        with conn.transaction():
            conn.execute("SELECT set_config('ragkit.tenant', 'earlier', true)")
            conn.execute("INSERT INTO collection (tenant, name) VALUES ('earlier', 'c')")
            conn.execute(
                "INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash,"
                " fingerprint, title, language, media_type, metadata, page_starts, page_numbers,"
                " chars, text) SELECT tenant, id, 'u', '', '', '', '', '', '', '{}', '{}', '{}',"
                " 0, '' FROM collection"
            )
        assert "0014_versions.sql" in migrate(conn)


def test_a_tenants_old_versions_are_its_own(tenanted: Tenanted) -> None:
    vector = unit(1, 0, 0, 0)
    with open_database(tenanted.settings_with(keep_versions=2)) as database:
        one, two = database.store("one"), database.store("two")
        for store in (one, two):
            store.create_collection("c")
        number = one.put_document("c", document("u", "old wing"), SPACE, vector).id
        two.put_document("c", document("u", "other flow"), SPACE, vector)
        moment = now(database.pool)
        one.put_document("c", document("u", "new wing"), SPACE, vector)
        with one.as_of(moment).snapshot() as reader:
            ((chunk, _),) = search_words(reader, "c", "old", 5).best
            assert [near for near, _ in reader.nearest("c", SPACE, QUERY, 5)] == [chunk]
        with two.as_of(moment).snapshot() as reader:
            assert not search_words(reader, "c", "old", 5).best
            assert chunk not in dict(reader.nearest("c", SPACE, QUERY, 5))
            assert reader.hits([chunk]) == []
        with pytest.raises(NotFoundError):
            History(database.pool, "two").of(number)
        old = History(database.pool, "one").of(number)[1].id
        with pytest.raises(NotFoundError):
            two.text(old)
        assert History(database.pool, "one").restore(number, 1).version == 3
        assert one.text(number) == "old wing"
        one.delete_document("c", number)
        with pytest.raises(NotFoundError):
            one.text(old)
