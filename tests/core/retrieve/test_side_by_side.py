"""Both legs side by side on a real database: one moment, no deadlock, nothing left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.errors import DatabaseError, ModelError
from ragkit.retrieve import legs
from ragkit.retrieve.legs import Search
from ragkit.retrieve.search import HybridRetriever
from ragkit.retrieve.words.search import LexicalHits, search_words
from ragkit.store.connection.connect import open_pool
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore
from ragkit.testing import CORPUS, FakeEmbedder, fill
from ragkit.testing.corpus import new_document
from ragkit.types import Query
from tests.databases import Databases

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

QUERY = "delta wing, days of leave"


@pytest.fixture(scope="module")
def url(databases: Databases) -> Iterator[str]:
    with databases.take() as url:
        yield url


@pytest.fixture(scope="module")
def database(url: str) -> Iterator[Database]:
    with open_database(Settings(database_url=SecretStr(url))) as database:
        fill(database.store("default"), FakeEmbedder(), CORPUS)
        yield database


def nothing_is_left(database: Database) -> bool:
    """Tell whether every connection comes back to the pool, and no thread is left."""
    if any(thread.name.startswith("ragkit-beside") for thread in threading.enumerate()):
        return False
    return all_are_back(database)


def all_are_back(database: Database) -> bool:
    """Tell whether every connection comes back to the pool."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        stats = database.pool.get_stats()
        if stats["pool_available"] == stats["pool_size"]:  # the pool takes them back in a thread
            return True
        time.sleep(0.01)
    return False


class Writing(FakeEmbedder):
    """An embedder during whose work a document is written."""

    def __init__(self, store: PostgresStore) -> None:
        super().__init__()
        self._store = store

    def embed_query(self, text: str) -> Vectors:
        new = new_document("new.md", "A delta wing for the days of leave.")
        fill(self._store, FakeEmbedder(), [new])
        return super().embed_query(text)


def test_what_is_written_elsewhere_does_not_matter(database: Database) -> None:
    other = database.store("somebody else")
    found = HybridRetriever(database.store("default"), Writing(other), "default")
    stages = found.find(Query(QUERY), k=7).stages
    assert other.documents("default")  # it was written meanwhile
    assert not any("again" in stage.notes for stage in stages)


@pytest.mark.parametrize("connections", [1, 2, 3])
def test_more_callers_than_connections_all_come_to_their_end(
    database: Database, url: str, connections: int
) -> None:
    expected = HybridRetriever(database.store("default"), FakeEmbedder(), "default")
    with open_pool(url, max_size=connections) as pool:
        retriever = HybridRetriever(PostgresStore(pool), FakeEmbedder(), "default")
        with ThreadPoolExecutor(8) as callers:
            found = list(callers.map(lambda n: retriever.search(QUERY, k=4), range(40)))
    assert all(hits == expected.search(QUERY, k=4) for hits in found)


def test_a_leg_that_fails_says_so_and_leaves_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise DatabaseError("the words are gone")

    store = database.store("default")
    with monkeypatch.context() as patch:
        patch.setattr(legs, "search_words", broken)
        with pytest.raises(DatabaseError, match="the words are gone"):
            HybridRetriever(store, FakeEmbedder(), "default").search(QUERY, k=3)
    assert nothing_is_left(database)

    class Dumb(FakeEmbedder):
        def embed_query(self, text: str) -> Vectors:
            raise ModelError("no meaning")

    with pytest.raises(ModelError, match="no meaning"):
        HybridRetriever(store, Dumb(), "default").search(QUERY, k=3)
    assert nothing_is_left(database)
    assert len(HybridRetriever(store, FakeEmbedder(), "default").search(QUERY, k=3)) == 3
    assert nothing_is_left(database)


class Patient(FakeEmbedder):
    """Embeds when the words are found and no snapshot is open, and does something before."""

    def __init__(
        self, database: Database, worded: threading.Event, then: Callable[[], object] = list
    ) -> None:
        super().__init__()
        self._database = database
        self._worded = worded
        self._then = then

    def embed_query(self, text: str) -> Vectors:
        assert self._worded.wait(30), "the words wait for the model"
        assert all_are_back(self._database), "a snapshot is open while the model computes"
        self._then()
        return super().embed_query(text)


@pytest.fixture
def worded(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Give an event that is set when words were found."""
    found = threading.Event()

    def watched(*arguments: Any, **options: Any) -> LexicalHits:
        words = search_words(*arguments, **options)
        found.set()
        return words

    monkeypatch.setattr(legs, "search_words", watched)
    return found


@pytest.fixture
def snapshots(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the threads that open snapshots."""
    opened: list[str] = []
    snapshot = PostgresStore.snapshot

    def noting(self: PostgresStore) -> Any:
        opened.append(threading.current_thread().name)
        return snapshot(self)

    monkeypatch.setattr(PostgresStore, "snapshot", noting)
    return opened


def test_the_words_are_searched_for_while_the_query_is_embedded(
    database: Database, worded: threading.Event, snapshots: list[str]
) -> None:
    store = database.store("default")
    found = HybridRetriever(store, Patient(database, worded), "default").find(Query(QUERY), k=3)
    assert len(snapshots) == 2
    assert not any("again" in stage.notes for stage in found.stages)
    assert (
        found.hits == HybridRetriever(store, FakeEmbedder(), "default").find(Query(QUERY), k=3).hits
    )


def test_one_snapshot_does_where_the_query_is_embedded_before_the_words_are_found(
    database: Database, monkeypatch: pytest.MonkeyPatch, snapshots: list[str]
) -> None:
    store = database.store("default")
    embedded = threading.Event()
    embed, words = Search._embedded, Search._words

    def embed_first(*arguments: Any) -> Any:
        vectors = embed(*arguments)
        embedded.set()
        return vectors

    def words_later(*arguments: Any) -> Any:
        assert embedded.wait(30)
        return words(*arguments)

    monkeypatch.setattr(Search, "_embedded", embed_first)
    monkeypatch.setattr(Search, "_words", words_later)
    found = HybridRetriever(store, FakeEmbedder(), "default").find(Query(QUERY), k=3)
    assert [name.startswith("ragkit-beside") for name in snapshots] == [True]
    assert nothing_is_left(database)
    assert [stage.name for stage in found.stages] == ["embed", "dense", "lexical", "fuse", "fetch"]
    assert all(set(hit.scores) == {"dense", "lexical"} for hit in found.hits)


def test_no_thread_is_started_where_a_query_is_embedded_in_a_moment(
    database: Database, snapshots: list[str]
) -> None:
    embedder = FakeEmbedder()
    retriever = HybridRetriever(database.store("default"), embedder, "default")
    hits = []
    for seconds in (0.0, 1.0):  # that the last query took
        legs._note_embedding(embedder, seconds)
        hits.append(retriever.search(QUERY, k=3))
    assert [name.startswith("ragkit-beside") for name in snapshots] == [False, True]
    assert hits[0] == hits[1]


def test_what_is_written_between_the_legs_is_in_both(
    database: Database, worded: threading.Event
) -> None:
    store = database.store("default")

    def write() -> None:
        fill(store, FakeEmbedder(), [new_document("new.md", "A delta wing for the days of leave.")])

    patient = Patient(database, worded, write)
    found = HybridRetriever(store, patient, "default").find(Query(QUERY), k=7)
    (new,) = (hit for hit in found.hits if hit.uri == "new.md")
    assert set(new.scores) == {"dense", "lexical"}
    assert [stage.name for stage in found.stages if "again" in stage.notes] == ["lexical"]
    with store.snapshot() as reader:
        chunks = [hit.chunk for hit in found.hits]
        assert [hit.chunk for hit in reader.hits(chunks)] == chunks
    quiet = HybridRetriever(store, FakeEmbedder(), "default")
    searches = [quiet.find(Query(QUERY), k=7) for _ in range(10)]
    assert all(one.hits == found.hits for one in searches)
    assert not any("again" in stage.notes for one in searches for stage in one.stages)
