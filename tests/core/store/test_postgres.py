"""The PostgreSQL store: its contract's suite, and what only a real database can show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.contracts import Store
from ragkit.errors import DatabaseError, NotFoundError, OtherModelError, UsageError
from ragkit.retrieve.words.bm25 import occurrences
from ragkit.store.admin import inspect
from ragkit.store.connection.transactions import connection
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.words import postings
from ragkit.store.words.merge import MAX_EMPTY
from ragkit.testing.conformance.store import StoreConformance
from ragkit.text.analyse import analyse
from ragkit.types import Chunk, EmbeddingSpace, NewDocument
from tests.core.store.vectors.vector_data import pool_of
from tests.databases import Databases

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

SPACE = EmbeddingSpace("model", "1", 4)
Pool = ConnectionPool[Connection[Any]]


@pytest.fixture
def store(pool: Pool) -> PostgresStore:
    made = PostgresStore(pool)
    made.create_collection("c")
    return made


@pytest.fixture(scope="module")
def shared_pool(databases: Databases) -> Iterator[Pool]:
    """Connections to one database, in which each test has a tenant."""
    with pool_of(databases) as opened:
        yield opened


class TestConformance(StoreConformance):
    @pytest.fixture
    def store(self, shared_pool: Pool) -> Store:
        return PostgresStore(shared_pool, tenant=f"tenant {uuid4()}")


def document(uri: str, *texts: str, version: str = "1") -> NewDocument:
    chunks: list[Chunk] = []
    start = 0
    for ordinal, text in enumerate(texts):
        chunks.append(Chunk(ordinal, start, start + len(text), tokens=len(text.split())))
        start += len(text) + 1
    return NewDocument(
        uri=uri,
        content_hash=version,
        fingerprint="f",
        text="\n".join(texts),
        chunks=tuple(chunks),
    )


def unit(*values: float) -> Vectors:
    return normalised(np.array([values], dtype=np.float32))


def random_vectors(n: int, seed: int = 0) -> Vectors:
    return normalised(np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32))


def normalised(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def counts(pool: Pool) -> dict[str, int]:
    """Rows of every table that holds a document's parts."""
    tables = ("document", "chunk", "vectors_1", "lexical_posting", "lexical_segment")
    with pool.connection() as conn:
        return {
            table: conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # type: ignore[index]  # noqa: S608
            for table in tables
        }


def test_tenants_do_not_see_each_other(pool: Pool) -> None:
    ours, theirs = PostgresStore(pool, tenant="a"), PostgresStore(pool, tenant="b")
    for tenant in (ours, theirs):
        tenant.create_collection("c")
    mine = ours.put_document("c", document("u", "secret wing"), SPACE, unit(1, 0, 0, 0))
    assert theirs.documents("c") == []
    with pytest.raises(NotFoundError, match=r"no document"):
        theirs.text(mine.id)
    with theirs.snapshot() as reader:
        assert reader.nearest("c", SPACE, unit(1, 0, 0, 0)[0], 5) == []
        assert reader.postings("c", ["wing"]).chunks == 0
        assert reader.hits([1, 2, 3]) == []
    with pytest.raises(NotFoundError):
        theirs.delete_document("c", mine.id)


def test_a_replaced_document_leaves_nothing_of_the_old_one(
    store: PostgresStore, pool: Pool
) -> None:
    store.put_document("c", document("u", "old text", "more"), SPACE, random_vectors(2))
    replaced = store.put_document("c", document("u", "new"), SPACE, random_vectors(1))
    assert replaced.version == 2
    assert counts(pool)["chunk"] == counts(pool)["vectors_1"] == 1
    store.finish_load("c", SPACE)
    assert counts(pool)["lexical_posting"] == 1
    with open_session(pool, "default") as session:
        assert set(inspect.orphans(session).values()) == {0}


def test_a_write_that_fails_leaves_the_old_version(store: PostgresStore, pool: Pool) -> None:
    kept = store.put_document("c", document("u", "old text"), SPACE, random_vectors(1))
    before = counts(pool)
    bad = document("u", "new text", "again")
    broken = NewDocument(
        uri="u", content_hash="2", fingerprint="f", text="new", chunks=(bad.chunks[0],) * 2
    )
    with pytest.raises(DatabaseError, match=r"refused a statement"):
        store.put_document("c", broken, SPACE, random_vectors(2))
    assert store.text(kept.id) == "old text"
    assert counts(pool) == before


@pytest.mark.parametrize(
    ("vectors_given", "message"),
    [
        (random_vectors(2), r"expected \(1, 4\)"),
        (np.full((1, 4), np.nan, dtype=np.float32), "NaN"),
        (np.ones((1, 3), dtype=np.float32), r"shape \(1, 3\)"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    store: PostgresStore, vectors_given: Vectors, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        store.put_document("c", document("u", "text"), SPACE, vectors_given)


def test_a_query_of_another_model_is_refused_by_name(store: PostgresStore) -> None:
    store.put_document("c", document("u", "text"), SPACE, random_vectors(1))
    other = EmbeddingSpace("other", "1", 4)
    with store.snapshot() as reader, pytest.raises(OtherModelError, match=r"with model \(.*, not"):
        reader.nearest("c", other, random_vectors(1)[0], 3)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_an_unusable_collection_name_is_refused(store: PostgresStore, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be named"):
        store.create_collection(name)


def test_counts_stay_exact_through_updates_deletes_and_merges(
    store: PostgresStore, pool: Pool
) -> None:
    """Postings equal a count over the living chunks, before and after every merge."""
    texts = {f"u{i}": f"wing number {i} and 航空公司 {'wing ' * (i % 3)}" for i in range(40)}
    for uri, text in texts.items():
        store.put_document("c", document(uri, text), SPACE, random_vectors(1))
    for step in range(3):
        for i in range(step, 40, 7):
            texts[f"u{i}"] = f"bird {i} step {step}"
            changed = document(f"u{i}", texts[f"u{i}"], version=str(step))
            store.put_document("c", changed, SPACE, random_vectors(1))
        gone = store.documents("c")[step]
        store.delete_document("c", gone.id)
        del texts[gone.uri]
        _assert_postings(store, texts)
        store.finish_load("c", SPACE)
        _assert_postings(store, texts)
    with pool.connection() as conn:
        segments = conn.execute("SELECT count(*) FROM lexical_segment").fetchone()
    assert segments is not None
    assert segments[0] <= postings.MAX_SEGMENTS


def _assert_postings(store: PostgresStore, texts: dict[str, str]) -> None:
    terms = {uri: analyse(text) for uri, text in texts.items()}
    with store.snapshot() as reader:
        found = reader.postings("c", ["wing", "bird", "航空", "nowhere"])
    assert found.chunks == len(texts)
    assert found.total_length == sum(len(of_chunk) for of_chunk in terms.values())
    for term in ("wing", "bird", "航空"):
        having = sorted(
            (of_chunk.count(term), len(of_chunk)) for of_chunk in terms.values() if term in of_chunk
        )
        ids, frequencies, lengths = occurrences(found, term)
        assert sorted(zip(frequencies.tolist(), lengths.tolist(), strict=True)) == having
        assert ids.tolist() == sorted(ids.tolist())
    assert "nowhere" not in found.terms


def test_a_database_that_goes_away_is_one_line(pool: Pool) -> None:
    with pool.connection() as conn:
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        with pytest.raises(DatabaseError) as caught, connection(pool, "default") as mine:
            mine.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert "\n" not in str(caught.value)
    assert "ragkit db status" in str(caught.value)
    assert isinstance(caught.value.__cause__, psycopg.Error)


def test_many_deletions_tidy_up_behind_them(store: PostgresStore, pool: Pool) -> None:
    entries = [(document(f"{n:03}", f"wing w{n}"), unit(1, n, 0, 0)) for n in range(MAX_EMPTY + 20)]
    for made in store.put_documents("c", entries, SPACE)[:-5]:
        store.delete_document("c", made.id)
    assert counts(pool)["lexical_segment"] < 20
    with store.snapshot() as reader:
        assert reader.postings("c", ["wing"]).terms["wing"].containing == 5
