"""Searches on a real streaming standby, and on the primary while the standby has not seen all."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast
from uuid import uuid4

import psycopg
import pytest
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.contracts import Store
from ragkit.errors import DatabaseError, SettingsError, SnapshotLostError
from ragkit.retrieve.search import HybridRetriever
from ragkit.settings.settings import Settings
from ragkit.store.connection import replica
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.open import Database, open_database, prepare_database
from ragkit.store.postgres import PostgresStore
from ragkit.store.reader import PostgresReader
from ragkit.testing.conformance.store import StoreConformance
from ragkit.testing.embedder import FakeEmbedder
from ragkit.upkeep.doctor import Check, examine
from tests.core.store.connection.standby import DEADLINE_S, Servers, servers
from tests.core.store.test_postgres import SPACE, document, random_vectors

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.types import Mode


@pytest.fixture(scope="module")
def pair() -> Iterator[Servers]:
    with servers() as both:
        yield both


@pytest.fixture(scope="module")
def database(pair: Servers) -> Iterator[Database]:
    """What answers searches."""
    with open_database(settings(pair)) as opened:
        yield opened


@pytest.fixture(scope="module")
def elsewhere(pair: Servers, database: Database) -> Iterator[Database]:
    """Another process's connections, which know nothing of a standby."""
    with open_database(settings(pair, database_replica_url=None)) as opened:
        yield opened


def settings(pair: Servers, **more: object) -> Settings:
    given = {"database_url": pair.url("primary"), "database_replica_url": pair.url("standby")}
    return Settings(**{**given, **more})  # type: ignore[arg-type]


def on_standby(store: PostgresStore) -> bool:
    """Tell which server a snapshot is of."""
    with store.snapshot() as reader:
        return reader.session.cursor.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)


def wait_for_standby(store: PostgresStore) -> None:
    end = time.monotonic() + DEADLINE_S
    while not on_standby(store):
        assert time.monotonic() < end, "the standby serves no more"
        time.sleep(0.01)


@contextlib.contextmanager
def paused_up_to_date(pair: Servers, store: PostgresStore) -> Iterator[None]:
    """Keep the standby from replaying; what the primary itself writes may come before the pause."""
    end = time.monotonic() + DEADLINE_S
    while True:
        wait_for_standby(store)
        with pair.paused():
            if on_standby(store):
                yield
                return
        assert time.monotonic() < end, "the primary never stops writing"


def found(store: PostgresStore, query: str) -> list[str]:
    asked = HybridRetriever(store, FakeEmbedder(), "c")
    return [hit.text for hit in asked.search(query, k=3)]


def put(store: PostgresStore, uri: str, text: str) -> int:
    embedder = FakeEmbedder()
    embedder.load()
    new = document(uri, text)
    return store.put_document("c", new, embedder.space, embedder.embed_passages([text])).id


class TestConformance(StoreConformance):
    @pytest.fixture
    def store(self, database: Database) -> Iterator[Store]:
        made = database.store(f"t {uuid4()}")
        yield made
        wait_for_standby(made)  # a standby that dropped out meanwhile would have proved nothing


def test_the_standby_serves_searches(
    pair: Servers, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "CATCH_UP_S", DEADLINE_S)  # on a busy machine it takes its time
    store = database.store("serves")
    store.create_collection("c")
    put(store, "a", "the canary sings")
    wait_for_standby(store)
    assert found(store, "canary") == ["the canary sings"]
    assert all(on_standby(store) for _ in range(20))


def test_what_another_process_wrote_is_found_at_once(
    pair: Servers, database: Database, elsewhere: Database
) -> None:
    store, writer = database.store("ryw"), elsewhere.store("ryw")
    writer.create_collection("c")
    old = put(writer, "old", "a raven croaks")
    wait_for_standby(store)
    with pair.paused():
        put(writer, "new", "the canary sings")
        assert found(store, "canary")[0] == "the canary sings"
        put(writer, "new", "the canary sleeps")
        assert found(store, "canary")[0] == "the canary sleeps"
        writer.delete_document("c", old)
        assert found(store, "raven croaks") == ["the canary sleeps"]
        assert not on_standby(store)
    wait_for_standby(store)
    assert found(store, "raven croaks") == ["the canary sleeps"]


def test_what_was_hidden_is_hidden_at_once(
    pair: Servers, database: Database, elsewhere: Database
) -> None:
    store = database.store("hidden", readers=("user:ada",))
    writer = elsewhere.store("hidden")
    writer.create_collection("c")
    number = put(writer, "a", "the canary sings")
    wait_for_standby(store)
    assert found(store, "canary") == ["the canary sings"]
    with pair.paused():
        Shares(elsewhere.pool, "hidden").document(number, Change(readers=("user:bo",)))
        assert found(store, "canary") == []
    wait_for_standby(store)
    assert found(store, "canary") == []


def test_legs_of_different_servers_are_one_moment(
    pair: Servers, database: Database, elsewhere: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words are found on the standby, then it falls behind: both legs are the primary's."""
    store, writer = database.store("legs"), elsewhere.store("legs")
    writer.create_collection("c")
    put(writer, "old", "a raven croaks")

    snapshot, ended, where = store.snapshot, threading.Event(), []

    @contextlib.contextmanager
    def watched() -> Iterator[PostgresReader]:
        with snapshot() as reader:
            asked = reader.session.cursor.execute("SELECT pg_is_in_recovery()")
            where.append(asked.fetchone() == (True,))
            yield reader
        ended.set()

    class Writing(FakeEmbedder):
        def embed_query(self, text: str) -> Vectors:
            assert ended.wait(DEADLINE_S)  # else the words' snapshot serves both legs
            put(writer, "new", "the canary sings")
            return super().embed_query(text)

    with paused_up_to_date(pair, store):
        monkeypatch.setattr(store, "snapshot", watched)
        asked = HybridRetriever(store, Writing(), "c")
        best = asked.search("canary", k=3)[0]
    assert where == [True, False]
    assert best.text == "the canary sings"
    assert set(best.scores) >= {"dense", "lexical"}


def test_a_long_transaction_does_not_keep_the_standby_idle(
    pair: Servers, database: Database
) -> None:
    """What it has written of the log ends in the middle of a record."""
    store = database.store("long")
    store.create_collection("c")
    with psycopg.connect(pair.url("primary")) as conn:
        conn.execute("CREATE TABLE filler (text text)")
        conn.commit()
        conn.execute("INSERT INTO filler SELECT repeat('x', 300) FROM generate_series(1, 3000)")
        end = time.monotonic() + 2
        while on_standby(store) and time.monotonic() < end:  # it has not come so far yet
            time.sleep(0.01)
        wait_for_standby(store)  # while the transaction goes on


def test_a_standby_that_is_down_costs_no_search(
    pair: Servers, database: Database, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(replica, "REST_S", 0.2)
    store = database.store("down")
    store.create_collection("c")
    put(store, "a", "the canary sings")
    wait_for_standby(store)
    caplog.set_level(logging.INFO)
    pair.stop("standby")
    try:
        for _ in range(5):
            assert found(store, "canary") == ["the canary sings"]
        (warning,) = [one.message for one in caplog.records if one.levelno >= logging.WARNING]
        assert warning.startswith("the read replica cannot be used: ")
        assert warning.endswith("; the primary serves searches meanwhile")
        time.sleep(replica.REST_S)  # it is tried again, in silence
        assert found(store, "canary") == ["the canary sings"]
        assert sum(one.levelno >= logging.WARNING for one in caplog.records) == 1
        with open_database(settings(pair)) as begun:  # nor does it keep a program from starting
            assert found(begun.store("down"), "canary") == ["the canary sings"]
    finally:
        pair.start("standby")
    wait_for_standby(store)
    (again,) = [one.message for one in caplog.records if one.message.endswith("again")]
    assert again == "the read replica serves searches again"


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_standby_lost_in_the_middle_of_a_search(
    pair: Servers, database: Database, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    """Its connections are cut as soon as each is about to be read from."""
    store = database.store(f"lost {mode}")
    store.create_collection("c")
    put(store, "a", "the canary sings")
    monkeypatch.setattr(replica, "REST_S", 0.2)
    wait_for_standby(store)
    snapshot, cut = store.snapshot, []

    @contextlib.contextmanager
    def cutting() -> Iterator[PostgresReader]:
        with snapshot() as reader:
            conn = reader.session.cursor.connection
            if conn.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
                with psycopg.connect(pair.url("standby"), autocommit=True) as other:
                    pid = conn.info.backend_pid
                    cut.append(other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,)))
            yield reader

    monkeypatch.setattr(store, "snapshot", cutting)
    asked = HybridRetriever(store, FakeEmbedder(), "c", mode)
    assert [hit.text for hit in asked.search("canary", k=3)] == ["the canary sings"]
    assert cut


def test_a_search_that_the_standby_cancels_is_the_primarys(
    pair: Servers, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one is that keeps it from replaying what a vacuum did."""
    monkeypatch.setattr(replica, "REST_S", 0.2)
    store = database.store("cancelled")
    wait_for_standby(store)
    cancelled = psycopg.errors.SerializationFailure("conflict with recovery")
    with (
        pytest.raises(SnapshotLostError, match=r"^The read replica failed .*: conflict with"),
        store.snapshot(),
    ):
        raise cancelled
    assert not on_standby(store)
    wait_for_standby(store)
    with pytest.raises(DatabaseError, match="statement timeout") as raised, store.snapshot():
        raise psycopg.errors.QueryCanceled("canceling statement due to statement timeout")
    assert not isinstance(raised.value, SnapshotLostError)
    assert on_standby(store)


def test_through_a_pooler_and_as_a_tenants_role(pair: Servers) -> None:
    with psycopg.connect(pair.url("primary"), autocommit=True) as conn:
        conn.execute("CREATE ROLE owner_t LOGIN CREATEROLE")
        conn.execute("CREATE DATABASE t OWNER owner_t")
        with psycopg.connect(pair.url("primary", "t"), autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
    chosen = settings(
        pair,
        database_url=pair.url("primary", "t", "app_t"),
        database_owner_url=pair.url("primary", "t", "owner_t"),
        database_replica_url=pair.url("standby", "t", "app_t"),
        database_pooler="transaction",
        tenants="on",
    )
    prepare_database(chosen)
    pair.caught_up()
    with open_database(chosen) as opened:
        for tenant in ("one", "two"):
            store = opened.store(tenant)
            store.create_collection("c")
            put(store, "a", f"the canary of {tenant}")
        for tenant in ("one", "two"):
            wait_for_standby(opened.store(tenant))
            assert found(opened.store(tenant), "canary") == [f"the canary of {tenant}"]
    past = chosen.model_copy(update={"database_replica_url": settings(pair).database_replica_url})
    with pytest.raises(DatabaseError, match="another server or database"):
        open_database(past).close()
    url = pair.url("standby", "t", "owner_t")
    past = settings(pair, **{**chosen.model_dump(), "database_replica_url": url})
    with pytest.raises(DatabaseError, match=r"role 'owner_t'.* RAGKIT_DATABASE_REPLICA_URL"):
        open_database(past).close()


def test_what_is_no_standby_of_the_primary_is_refused(pair: Servers, database_url: str) -> None:
    with pytest.raises(DatabaseError, match="is no standby: name one that streams"):
        open_database(settings(pair, database_replica_url=pair.url("primary"))).close()
    with pytest.raises(DatabaseError, match=r"another server or database than the primary"):
        open_database(
            settings(pair, database_url=database_url, database_owner_url=database_url)
        ).close()
    with pytest.raises(SettingsError, match="the embedded database has no standby"):
        Settings(database_replica_url="postgresql://h/d")  # type: ignore[arg-type]


def test_how_the_standby_stands_is_shown(
    pair: Servers, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(pair, embed_model="none")
    monkeypatch.setenv("RAGKIT_DATABASE_URL", pair.url("primary"))
    monkeypatch.setenv("RAGKIT_DATABASE_REPLICA_URL", pair.url("standby"))

    def shown() -> dict[str, object]:
        done = CliRunner().invoke(app, ["db", "status", "--json"])
        assert done.exit_code == 0, done.exception
        found: dict[str, object] = json.loads(done.stdout)["read_replica"]
        return found

    def examined() -> Check:
        return next(check for check in examine(chosen) if check.name == "read replica")

    store = database.store("shown")
    store.create_collection("c")
    pair.caught_up()
    assert (shown()["readable"], shown()["problem"]) == (True, "")
    with pair.paused():
        put(store, "a", "the canary sings")
        behind = shown()
        assert cast("int", behind["behind_bytes"]) > 0
        assert cast("float", behind["behind_s"]) >= 0
        assert examined().ok
        assert examined().found.endswith(" behind")
    pair.caught_up()
    pair.stop("standby")
    try:
        gone = shown()
        assert (gone["readable"], gone["behind_bytes"], gone["behind_s"]) == (False, None, None)
        assert not examined().ok
        assert "the primary serves searches" in examined().remedy
        table = CliRunner().invoke(app, ["db", "status"]).stdout
        assert str(gone["problem"]) in table
    finally:
        pair.start("standby")
    monkeypatch.setenv("RAGKIT_DATABASE_REPLICA_URL", pair.url("primary"))
    assert "is no standby" in str(shown()["problem"])


def test_no_connection_is_lost_to_searches(
    pair: Servers, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many more snapshots than connections, some of them at once, some broken off."""
    monkeypatch.setattr(replica, "CATCH_UP_S", DEADLINE_S)  # on a busy machine it takes its time
    store = database.store("many")
    store.create_collection("c")
    store.put_document("c", document("a", "x"), SPACE, random_vectors(1))
    wait_for_standby(store)
    for _ in range(replica.CONNECTIONS + 2):
        with contextlib.suppress(KeyError), store.snapshot():
            raise KeyError
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(store.snapshot()) for _ in range(replica.CONNECTIONS + 2)]
        where = [
            one.session.cursor.execute("SELECT pg_is_in_recovery()").fetchone() for one in readers
        ]
        assert where == [(True,)] * replica.CONNECTIONS + [(False,)] * 2
    assert on_standby(store)
