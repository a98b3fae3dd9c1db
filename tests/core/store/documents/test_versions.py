"""Old versions of documents: kept, found as of a time, taken back, gone with their document."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import NotFoundError, UsageError
from ragkit.filters.tree import parse
from ragkit.retrieve.words.search import search_words
from ragkit.store.admin import inspect
from ragkit.store.documents.browse import Browser
from ragkit.store.documents.history import History
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.vectors import Layout
from ragkit.types import Chunk, EmbeddingSpace, NewDocument

if TYPE_CHECKING:
    from ragkit.contracts import Reader, Vectors

SPACE = EmbeddingSpace("model", "1", 4)
OTHER = EmbeddingSpace("other", "1", 4)
WORDS = ("wing", "flow", "heat", "shock", "layer", "机翼", "气流", "热")
ADA, BOB = ("user:ada",), ("user:bob",)
Pool = ConnectionPool[Connection[Any]]


def keeping(pool: Pool, number: int) -> PostgresStore:
    store = PostgresStore(pool, keep_versions=number)
    store.add_collection("c")
    return store


def document(uri: str, *texts: str, **metadata: str) -> NewDocument:
    chunks: list[Chunk] = []
    start = 0
    for ordinal, text in enumerate(texts):
        chunks.append(Chunk(ordinal, start, start + len(text), tokens=len(text.split())))
        start += len(text) + 1
    return NewDocument(
        uri=uri,
        content_hash="-".join(texts),
        fingerprint="f",
        text="\n".join(texts),
        chunks=tuple(chunks),
        metadata=metadata,
        title=texts[0],
    )


def unit(*values: float) -> Vectors:
    row = np.array([values], dtype=np.float32)
    normalised: Vectors = row / np.linalg.norm(row, axis=1, keepdims=True)
    return normalised


def put(store: PostgresStore, uri: str, *texts: str, **metadata: str) -> int:
    rng = np.random.default_rng(crc32("".join(texts).encode()))
    rows = rng.normal(size=(len(texts), 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return store.put_document("c", document(uri, *texts, **metadata), SPACE, rows).id


def now(pool: Pool) -> datetime:
    """The server's time: what versions go by."""
    with pool.connection() as conn:
        row = conn.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment


QUERY = unit(0.3, -0.2, 0.9, 0.1)[0]
FILTER = parse("metadata.kind = 'b'")


def seen(reader: Reader) -> list[object]:
    """All that a reader finds and says: words, vectors, a filter, texts of the hits."""
    found: list[object] = []
    for where in (None, FILTER):
        for query in ("wing flow", '"heat shock"', "机", "layer -wing", "气流"):
            words = search_words(reader, "c", query, 50, where)
            found.append((query, list(words.best), words.chunks, words.coverage))
        near = reader.nearest("c", SPACE, QUERY, 50, where)
        found.append(list(near))
        hits = reader.hits([chunk for chunk, _ in near])
        found.append([(hit.chunk, hit.uri, hit.text, hit.version, hit.title) for hit in hits])
        found.append([tuple(hit.metadata.items()) for hit in hits])
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_found_is_found_again_as_of_then(pool: Pool, seed: int) -> None:
    rng = random.Random(seed)
    store = keeping(pool, 100)
    put(store, "0", "wing", kind="b")
    then = []
    for _ in range(8):
        for _ in range(rng.randint(1, 3)):
            texts = [" ".join(rng.choices(WORDS, k=rng.randint(2, 6))) for _ in range(2)]
            put(store, str(rng.randrange(4)), *texts, kind=rng.choice("ab"))
        if rng.random() < 0.3:
            store.finish_load("c", SPACE)
        with store.snapshot() as reader:
            then.append((now(pool), seen(reader)))
    assert len({str(found) for _, found in then}) == 8  # each round changed what is found
    for moment, found in then:
        with store.as_of(moment).snapshot() as reader:
            assert seen(reader) == found


def test_a_citation_of_then_is_of_the_text_of_then(pool: Pool) -> None:
    store = keeping(pool, 1)
    number = put(store, "u", "an old wing")
    moment = now(pool)
    put(store, "u", "a new wing")
    with store.as_of(moment).snapshot() as reader:
        ((chunk, _),) = search_words(reader, "c", "wing", 5).best
        (hit,) = reader.hits([chunk])
    assert (hit.text, hit.version) == ("an old wing", 1)
    assert store.text(hit.document) == "an old wing"
    assert store.text(number) == "a new wing"
    assert store.document(hit.document).collection == "c"
    assert Browser(pool, "default").document(hit.document).collection == "c"


def test_so_many_versions_are_kept_as_the_setting_says(pool: Pool) -> None:
    store = keeping(pool, 2)
    for n in range(1, 6):
        number = put(store, "u", f"wing {n}")
    found = History(pool, "default").of(number)
    assert [(one.version, one.title) for one in found] == [
        (5, "wing 5"),
        (4, "wing 4"),
        (3, "wing 3"),
    ]
    assert [one.to for one in found] == [None, found[0].since, found[1].since]
    fewer = PostgresStore(pool, keep_versions=0)
    put(fewer, "u", "wing 6")
    assert [one.version for one in History(pool, "default").of(number)] == [6]


def test_nothing_current_knows_of_old_versions(pool: Pool) -> None:
    store = keeping(pool, 5)
    plain = PostgresStore(pool, tenant="plain")
    plain.create_collection("c")
    for text in ("wing", "flow wing", "heat"):
        put(store, "u", text, kind="b")
        put(plain, "u", text, kind="b")
    put(store, "v", "shock")
    put(plain, "v", "shock")
    listed = [(one.name, one.documents, one.chunks) for one in store.collections()]
    assert listed == [("c", 2, 2)]
    assert len(Browser(pool, "default").collections(limit=10)) == 1
    assert [one.uri for one in store.documents("c")] == ["u", "v"]
    assert [one.version for one in store.ending(None, "u")] == [3]
    with store.snapshot() as reader, plain.snapshot() as other:
        for query in ("wing", "heat", "shock flow"):
            mine, its = search_words(reader, "c", query, 9), search_words(other, "c", query, 9)
            assert [score for _, score in mine.best] == [score for _, score in its.best]
            assert mine.chunks == its.chunks == 2
        assert len(reader.nearest("c", SPACE, QUERY, 9)) == 2
    with open_session(pool, "default") as session:
        assert set(inspect.orphans(session).values()) == {0}
    with pytest.raises(NotFoundError):
        store.documents("\x011")


def test_before_there_was_anything_is_an_error(pool: Pool) -> None:
    store = keeping(pool, 1)
    moment = now(pool)
    put(store, "u", "wing")
    with (
        store.as_of(moment).snapshot() as reader,
        pytest.raises(NotFoundError, match="no documents yet"),
    ):
        search_words(reader, "c", "wing", 5)
    with pytest.raises(UsageError, match="time zone"):
        store.as_of(datetime(2026, 1, 1))


def test_an_old_version_is_taken_back_as_a_new_one(pool: Pool) -> None:
    store = keeping(pool, 5)
    number = put(store, "u", "old wing", "old flow", kind="b")
    with store.snapshot() as reader:
        before = reader.nearest("c", SPACE, QUERY, 9)
    put(store, "u", "new heat", kind="a")
    between = now(pool)
    made = History(pool, "default").restore(number, 1)
    assert (made.id, made.version, made.title, made.chunks) == (number, 3, "old wing", 2)
    assert store.text(number) == "old wing\nold flow"
    assert [one.version for one in History(pool, "default").of(number)] == [3, 2, 1]
    with store.snapshot() as reader:
        after = reader.nearest("c", SPACE, QUERY, 9)
        assert [score for _, score in after] == [score for _, score in before]
        assert not search_words(reader, "c", "heat", 5).best
        assert len(search_words(reader, "c", "old", 5, FILTER).best) == 2
    with store.as_of(between).snapshot() as reader:
        assert [
            hit.text for hit in reader.hits([search_words(reader, "c", "heat", 5).best[0][0]])
        ] == ["new heat"]
        assert not search_words(reader, "c", "old", 5).best
    with pytest.raises(NotFoundError, match="no old version 9"):
        History(pool, "default").restore(number, 9)


def test_deleting_a_document_deletes_its_old_versions(pool: Pool) -> None:
    store = keeping(pool, 5)
    number = put(store, "u", "secret wing")
    put(store, "v", "flow")
    moment = now(pool)
    put(store, "u", "wing")
    store.delete_document("c", number)
    with store.as_of(moment).snapshot() as reader:
        assert not search_words(reader, "c", "secret", 5).best
        assert len(reader.nearest("c", SPACE, QUERY, 9)) == 1
    with pool.connection() as conn:
        assert conn.execute("SELECT count(*) FROM document").fetchone() == (1,)
        assert conn.execute("SELECT count(*) FROM vectors_1").fetchone() == (1,)
    store.delete_collection("c")
    with pool.connection() as conn:
        assert conn.execute("SELECT count(*) FROM collection").fetchone() == (0,)


def test_who_may_read_a_document_may_read_its_old_versions(pool: Pool) -> None:
    store = keeping(pool, 5)
    number = put(store, "u", "secret wing")
    put(store, "v", "open flow")
    moment = now(pool)
    put(store, "u", "wing")
    old = History(pool, "default").of(number)[1].id
    shares = Shares(pool, "default")
    shares.document(number, Change(readers=("user:ada",)))
    ada, bob = (PostgresStore(pool, readers=readers) for readers in (ADA, BOB))
    for store_of, chunks in ((ada, 2), (bob, 1)):
        with store_of.as_of(moment).snapshot() as reader:
            assert reader.postings("c", ["secret"]).chunks == chunks
            assert len(reader.nearest("c", SPACE, QUERY, 9)) == chunks
    assert ada.text(old) == "secret wing"
    with pytest.raises(NotFoundError):
        bob.text(old)
    with pytest.raises(NotFoundError):
        History(pool, "default", BOB).restore(number, 1)
    with pytest.raises(NotFoundError):  # an old version has no sharing of its own
        shares.document(old, Change(readers=None))
    shares.collection("c", Change(readers=()))
    with pytest.raises(NotFoundError):
        ada.text(old)
    put(store, "u", "third")
    shares.collection("c", Change(readers=None))
    assert len(History(pool, "default", ADA).of(number)) == 3
    with pytest.raises(NotFoundError):
        History(pool, "default", BOB).of(number)


def test_versions_of_writers_beside_each_other_do_not_overlap(pool: Pool) -> None:
    store = keeping(pool, 100)
    put(store, "u", "first")

    def write(name: str) -> None:
        for n in range(6):
            put(store, "u", f"{name} {n}")

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ((number, current),) = ((one.id, one.version) for one in store.documents("c"))
    found = History(pool, "default").of(number)
    assert current == 19
    assert [one.version for one in found] == list(range(19, 0, -1))
    assert all(one.since > before.since for one, before in pairwise(found))
    assert [one.to for one in found[1:]] == [one.since for one in found[:-1]]
    with store.as_of(found[9].since).snapshot() as reader:
        assert len(reader.nearest("c", SPACE, QUERY, 9)) == 1
    with open_session(pool, "default") as session:
        assert set(inspect.orphans(session).values()) == {0}


def test_old_versions_of_another_model_are_found_by_words_alone(pool: Pool) -> None:
    store = keeping(pool, 5)
    number = put(store, "u", "old wing")
    moment = now(pool)
    put(store, "u", "new wing")
    kept = store.spaces.open("c", OTHER, source="other", first=None)
    gaps = store.spaces.gaps("c", kept.id)
    chunks = [one.chunk for one in gaps.batch(after=0, limit=9)]
    gaps.add(chunks, np.repeat(unit(1, 0, 0, 0), len(chunks), axis=0))
    assert store.spaces.switch("c", kept.id) == 0
    with store.as_of(moment).snapshot() as reader:
        assert len(search_words(reader, "c", "old", 5).best) == 1
        with pytest.raises(UsageError, match="--mode lexical"):
            reader.nearest("c", OTHER, QUERY, 5)
    with pytest.raises(UsageError, match="another model"):
        History(pool, "default").restore(number, 1)
    with store.as_of(datetime.now(UTC) + timedelta(hours=1)).snapshot() as reader:
        assert len(reader.nearest("c", OTHER, QUERY, 5)) == 1
    assert store.spaces.drop("c", 1) == 2
    assert lacking(pool) == 0  # an old version may be without; the doctor looks at the others


def lacking(pool: Pool) -> int:
    with open_session(pool, "default") as session:
        return inspect.orphans(session)["chunks without a vector"]


def test_an_index_holds_what_is_current_and_old_versions_are_compared(pool: Pool) -> None:
    store = PostgresStore(pool, keep_versions=5, layout=Layout(index="hnsw"))
    store.create_collection("c")
    for n in range(60):
        put(store, str(n), f"wing {n}", f"flow {n}")
    store.finish_load("c", SPACE)
    with pool.connection() as conn:
        built = conn.execute("SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")
        assert built.fetchone() == (1,)
    with store.snapshot() as reader:
        moment, before = now(pool), reader.nearest("c", SPACE, QUERY, 10)
    for n in range(60):
        put(store, str(n), f"heat {n}", f"shock {n}")
    with store.as_of(moment).snapshot() as reader:
        assert reader.nearest("c", SPACE, QUERY, 10) == before
    for _ in range(2):
        with store.snapshot() as reader:
            near = reader.nearest("c", SPACE, QUERY, 120)
            assert len(near) == 120
            assert {hit.version for hit in reader.hits([chunk for chunk, _ in near])} == {2}
        store.finish_load("c", SPACE)
