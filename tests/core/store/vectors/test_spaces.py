"""Embedding spaces of collections in the real database: bound, filled, switched, dropped."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest
from pydantic import SecretStr

from ragkit.errors import BusyError, DatabaseError, NotFoundError, OtherModelError
from ragkit.settings.settings import Settings
from ragkit.store.connection.transactions import transaction
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.vectors import collection_spaces as store_spaces
from ragkit.store.vectors.active_space import hold
from ragkit.testing.corpus import new_document
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

OLD = EmbeddingSpace("old", "1", 4)
NEW = EmbeddingSpace("new", "1", 3)


@pytest.fixture(scope="module")
def plain(database_url: str) -> Iterator[Settings]:
    name = "test_spaces"
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        url = database_url.replace("/postgres?", f"/{name}?")
        yield Settings(database_url=SecretStr(url))
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module", params=["plain", "tenants"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database as its owner has it, and one whose row-level security binds the role."""
    if request.param == "plain":
        settings: Settings = request.getfixturevalue("plain")
    else:
        settings = request.getfixturevalue("tenanted").settings
    with open_database(settings) as opened:
        yield opened


@pytest.fixture
def store(database: Database, request: pytest.FixtureRequest) -> PostgresStore:
    """A tenant of each test's own, with an empty collection "c"."""
    store = database.store(request.node.name)
    store.create_collection("c")
    return store


def rows(count: int, space: EmbeddingSpace = OLD, seed: int = 0) -> "Vectors":
    made = np.random.default_rng(seed).normal(size=(count, space.dimension)).astype(np.float32)
    unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def put(store: PostgresStore, uri: str, chunks: int = 1, space: EmbeddingSpace = OLD) -> int:
    texts = [f"passage {n} of {uri}" for n in range(chunks)]
    return store.put_document("c", new_document(uri, *texts), space, rows(chunks, space)).id


def fill(store: PostgresStore, space: EmbeddingSpace = NEW) -> int:
    """Give every passage a vector in a space and return its number."""
    kept = store.spaces.open("c", space, source="", first=None)
    gaps = store.spaces.gaps("c", kept.id)
    found = gaps.batch(after=0, limit=1000)
    gaps.add([passage.chunk for passage in found], rows(len(found), space))
    return kept.id


def states(store: PostgresStore) -> dict[str, str]:
    return {kept.space.model: kept.state for kept in store.spaces.of("c")}


def found_in(store: PostgresStore, space: EmbeddingSpace) -> int:
    with store.snapshot() as reader:
        return len(reader.nearest("c", space, rows(1, space)[0], 100))


def test_the_first_document_names_the_space(store: PostgresStore) -> None:
    assert store.active_space("c") is None
    assert store.spaces.of("c") == []
    put(store, "a")
    assert store.active_space("c") == OLD
    assert states(store) == {"old": "active"}


def test_vectors_of_another_model_are_refused_with_both_names_and_the_remedy(
    store: PostgresStore,
) -> None:
    put(store, "a")
    with pytest.raises(OtherModelError) as caught:
        put(store, "a", space=NEW)
    assert str(caught.value) == (
        "the collection is embedded with old (revision 1, 4 dimensions), not with new (revision 1,"
        " 3 dimensions): use the collection's model, or move it to the other with"
        " `ragkit index reembed --to MODEL`"
    )
    prefixed = EmbeddingSpace("old", "1", 4, "query: ")
    with pytest.raises(OtherModelError, match="query prefix 'query: ' where it has ''"):
        put(store, "b", space=prefixed)
    assert found_in(store, OLD) == 1
    with pytest.raises(OtherModelError):
        found_in(store, NEW)


def test_what_two_models_write_at_once_is_of_one_of_them(store: PostgresStore) -> None:
    refused: list[str] = []

    def write(space: EmbeddingSpace, name: str) -> None:
        for n in range(15):
            try:
                put(store, f"{name}{n}", space=space)
            except OtherModelError:
                refused.append(space.model)

    spaces = [OLD, NEW] * 2
    threads = [threading.Thread(target=write, args=(s, str(n))) for n, s in enumerate(spaces)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    active = store.active_space("c")
    assert active is not None
    (other,) = {"old", "new"} - {active.model}
    assert refused.count(other) == 30
    assert found_in(store, active) == len(store.documents("c")) == 60 - len(refused)


def test_gaps_are_what_is_not_there(store: PostgresStore) -> None:
    put(store, "a", chunks=3)
    kept = store.spaces.open("c", NEW, source="/models/new", first=3)
    assert (kept.state, kept.source, kept.first, kept.space) == ("building", "/models/new", 3, NEW)
    gaps = store.spaces.gaps("c", kept.id)
    assert (gaps.passages(), gaps.missing()) == (3, 3)
    first, second, third = gaps.batch(after=0, limit=10)
    assert (second.text, second.tokens) == ("passage 1 of a", 4)
    assert [p.chunk for p in gaps.batch(after=first.chunk, limit=1)] == [second.chunk]
    assert gaps.add([first.chunk], rows(1, NEW)) == 1
    assert [p.chunk for p in gaps.batch(after=0, limit=10)] == [second.chunk, third.chunk]
    # One has a vector by now, one never was: they are left out, and the rest keep their places.
    given = rows(3, NEW)
    assert gaps.add([first.chunk, 10**12, third.chunk], given) == 1
    with store.snapshot() as reader:
        found = reader.vectors(NEW, [first.chunk, third.chunk])
    assert found[third.chunk] == pytest.approx(given[2], abs=1e-3)
    assert gaps.missing() == 1
    again = store.spaces.open("c", NEW, source="", first=None)
    assert (again.id, again.source, again.first) == (kept.id, "/models/new", 3)


def test_a_switch_waits_for_the_last_passage(store: PostgresStore) -> None:
    put(store, "a", chunks=2)
    space = fill(store)
    put(store, "b", chunks=3)
    assert store.spaces.switch("c", space) == 3
    assert store.active_space("c") == OLD
    fill(store)
    assert store.spaces.switch("c", space) == 0
    assert store.active_space("c") == NEW
    assert states(store) == {"old": "previous", "new": "active"}
    assert found_in(store, NEW) == 5
    with pytest.raises(OtherModelError):
        found_in(store, OLD)
    assert store.spaces.switch("c", space) == 0  # again changes nothing
    assert states(store) == {"old": "previous", "new": "active"}


def test_a_switch_and_a_writer_keep_out_of_each_others_way(
    store: PostgresStore, database: Database
) -> None:
    put(store, "a")
    space = fill(store)
    owner = store.collections()[0].id
    (old,) = [kept for kept in store.spaces.of("c") if kept.space == OLD]
    missing: list[int] = []
    with open_session(database.pool, store.spaces._tenant) as writer:
        hold(writer, owner, old.id, OLD)
        writer.cursor.execute(
            "INSERT INTO chunk SELECT tenant, nextval('chunk_id'), collection_id, document_id, 9,"
            " start_char, end_char, page, headings, tokens, terms FROM chunk"
            " WHERE tenant = %s AND collection_id = %s",
            (store.spaces._tenant, owner),
        )
        switching = threading.Thread(
            target=lambda: missing.append(store.spaces.switch("c", space)), daemon=True
        )
        switching.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        until(lambda: _one(database, waiting) == 1)
        assert found_in(store, OLD) == 1  # searches wait for nobody
        assert missing == []
    switching.join(60)
    assert missing == [1]  # it saw what was written while it waited
    assert store.active_space("c") == OLD


def test_a_writer_is_refused_after_the_switch(store: PostgresStore) -> None:
    put(store, "a")
    store.spaces.switch("c", fill(store))
    with pytest.raises(OtherModelError, match=r"with new .*, not with old"):
        put(store, "a")
    put(store, "a", space=NEW)
    assert [document.version for document in store.documents("c")] == [2]


def test_only_one_builds_at_a_time(store: PostgresStore) -> None:
    with store.spaces.alone("c"):
        with (
            pytest.raises(BusyError, match="another process is embedding"),
            store.spaces.alone("c"),
        ):
            pass
        store.create_collection("d")
        with store.spaces.alone("d"):
            pass
    with store.spaces.alone("c"):
        pass


def test_a_lock_that_is_lost_is_one_line_of_ours(store: PostgresStore, database: Database) -> None:
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with (
        pytest.raises(DatabaseError, match="database failed or cannot be reached"),
        store.spaces.alone("c"),
    ):
        assert _one(database, kill) is True


def test_a_space_is_not_switched_to_while_it_is_dropped(
    store: PostgresStore, database: Database
) -> None:
    """As two processes behind PgBouncer may, where `alone` keeps nobody out."""
    put(store, "a", chunks=2)
    space = fill(store)
    dropped: list[int] = []
    dropping = threading.Thread(
        target=lambda: dropped.append(store.spaces.drop("c", space)), daemon=True
    )
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with transaction(database.pool, store.spaces._tenant) as holder:
        holder.execute(f"SELECT FROM vectors_{space} FOR UPDATE")
        dropping.start()
        until(lambda: _one(database, waiting) == 1)
        with pytest.raises(BusyError, match="another process is at work on collection 'c'"):
            store.spaces.switch("c", space)
        put(store, "b")  # writers wait for nobody
    dropping.join(60)
    assert dropped == [2]
    with pytest.raises(NotFoundError, match="no vectors in this space any more"):
        store.spaces.switch("c", space)
    assert states(store) == {"old": "active", "new": "dropped"}
    assert found_in(store, OLD) == 3


def test_a_space_that_was_switched_to_is_not_dropped(
    store: PostgresStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a", chunks=2)
    space = fill(store)
    lock = store_spaces._lock_space

    def late(*given: Any, wait: bool) -> bool:
        monkeypatch.setattr(store_spaces, "_lock_space", lock)
        assert store.spaces.switch("c", space) == 0
        return lock(*given, wait=wait)

    monkeypatch.setattr(store_spaces, "_lock_space", late)
    with pytest.raises(BusyError, match="searched in this space"):
        store.spaces.drop("c", space)
    assert states(store) == {"old": "previous", "new": "active"}
    assert found_in(store, NEW) == 2


def test_dropping_leaves_other_collections_alone(store: PostgresStore, database: Database) -> None:
    space = EmbeddingSpace("mine alone", "1", 4)
    put(store, "a", chunks=2, space=space)
    store.create_collection("d")
    store.put_document("d", new_document("x", "other"), space, rows(1))
    old = store.spaces.of("c")[0].id
    store.spaces.switch("c", fill(store))
    with pytest.raises(BusyError):
        store.spaces.drop("d", old)
    assert store.spaces.size("c", old)[0] == 2
    assert store.spaces.drop("c", old) == 2
    assert not store.spaces.drop_unused(old)  # "d" is searched in it
    with store.snapshot() as reader:
        assert len(reader.nearest("d", space, rows(1)[0], 9)) == 1
    assert states(store) == {"mine alone": "dropped", "new": "active"}
    store.delete_collection("d")
    assert store.spaces.drop_unused(old)
    assert _one(database, f"SELECT count(*) FROM pg_class WHERE relname = 'vectors_{old}'") == 0  # noqa: S608
    assert states(store) == {"mine alone": "dropped", "new": "active"}  # fingerprints go by it
    fill(store, space)  # and it can be built anew
    assert sorted(kept.state for kept in store.spaces.of("c")) == ["active", "building", "dropped"]


def test_a_deleted_document_has_no_vector_in_any_space(store: PostgresStore) -> None:
    number = put(store, "a", chunks=2)
    space = fill(store)
    assert store.spaces.size("c", space)[0] == 2
    store.delete_document("c", number)
    assert store.spaces.size("c", space)[0] == 0


def test_the_size_is_the_collections_share(store: PostgresStore) -> None:
    put(store, "a", chunks=40)
    vectors, size = store.spaces.size("c", store.spaces.of("c")[0].id)
    assert vectors == 40
    assert size > 40 * 4 * 2  # halves of four dimensions at least


def test_an_unknown_collection_is_named(store: PostgresStore) -> None:
    for call in (store.spaces.of, store.spaces.active, store.active_space):
        with pytest.raises(NotFoundError, match="nowhere"):
            call("nowhere")


_BEFORE = b"""
    INSERT INTO collection (tenant, name) VALUES ('t', 'one'), ('t', 'both'), ('t', 'empty');
    INSERT INTO embedding_space (model, revision, dimension, query_prefix, passage_prefix)
        VALUES ('first', '1', 2, 'q: ', 'p: '), ('second', '1', 2, '', '');
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, chars, text)
        SELECT 't', id, name, name::bytea, '', '', '', '', '', '{}', '{}', '{}', 3, 'abc'
        FROM collection WHERE name <> 'empty';
    INSERT INTO chunk (tenant, id, collection_id, document_id, ordinal, start_char, end_char,
        headings, tokens, terms)
        SELECT 't', nextval('chunk_id'), collection_id, id, n, n, n + 1, '{}', 1, 1
        FROM document, generate_series(0, 2) AS n;
    CREATE TABLE vectors_1 (
        tenant text NOT NULL, chunk_id bigint NOT NULL, collection_id bigint NOT NULL,
        embedding halfvec(2) NOT NULL, PRIMARY KEY (tenant, chunk_id),
        FOREIGN KEY (tenant, chunk_id) REFERENCES chunk ON DELETE CASCADE);
    CREATE TABLE vectors_2 (LIKE vectors_1 INCLUDING ALL);
    INSERT INTO vectors_1 SELECT 't', k.id, k.collection_id, '[1,0]' FROM chunk k
        JOIN collection c ON c.id = k.collection_id WHERE c.name = 'one' OR ordinal = 0;
    INSERT INTO vectors_2 SELECT 't', k.id, k.collection_id, '[1,0]' FROM chunk k
        JOIN collection c ON c.id = k.collection_id WHERE c.name = 'both' AND ordinal > 0;
"""


def until(true: Callable[[], bool], *, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def _one(database: Database, query: str) -> Any:
    with database.pool.connection() as conn:
        row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]
