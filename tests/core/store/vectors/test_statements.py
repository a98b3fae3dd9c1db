"""What a search asks the database: how often, by prepared statements, and in which plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest
from psycopg import sql

from ragkit.errors import NotFoundError, UsageError
from ragkit.filters.tree import parse
from ragkit.store import vectors
from ragkit.store.connection.connect import open_pool
from ragkit.store.connection.transactions import lent
from ragkit.store.documents.documents import collection_id
from ragkit.store.documents.filter_sql import MATCHING, matching, restriction
from ragkit.store.postgres import PostgresStore
from ragkit.store.reader import PostgresReader
from ragkit.store.session import open_session
from ragkit.store.vectors import Place
from ragkit.store.vectors.estimate import REMEMBERED_S
from ragkit.store.vectors.packed import packed_query, register
from ragkit.store.vectors.search import SURE_ROWS, SURE_SHARE, comparing, walking
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted
from tests.core.store.vectors.vector_data import (
    Pool,
    clustered,
    document,
    halved,
    nearest_of,
    normalised,
    pool_of,
)
from tests.databases import Databases

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

SPACE = EmbeddingSpace("model", "1", 16)
PREPARED = "SELECT statement, generic_plans FROM pg_prepared_statements"
ROWS, PER_DOCUMENT = 10_000, 25


@pytest.fixture(scope="module")
def pool(databases: Databases) -> Iterator[Pool]:
    with pool_of(databases) as made:
        yield made


@pytest.fixture(scope="module")
def rows(pool: Pool) -> Vectors:
    """400 documents of 25 chunks each, of which an index is worth having."""
    made = clustered(ROWS, SPACE.dimension)
    store = PostgresStore(pool, layout=vectors.Layout(index="hnsw"))
    store.create_collection("c")
    entries = [
        (
            document(f"u{i:04}", PER_DOCUMENT, part=str(i % 4)),
            made[i * PER_DOCUMENT : (i + 1) * PER_DOCUMENT],
        )
        for i in range(ROWS // PER_DOCUMENT)
    ]
    store.put_documents("c", entries, SPACE)
    return made


def test_a_filter_is_asked_once_of_each_document_whatever_the_planner_knows(
    pool: Pool, rows: Vectors
) -> None:
    """Left to itself the planner may look up every document for each vector."""
    own = normalised(np.random.default_rng(2).normal(size=(400, 8)).astype(np.float32))
    space = EmbeddingSpace("other", "1", 8)
    store = PostgresStore(pool, layout=vectors.Layout(index="none"))
    store.create_collection("plain")
    parts = [(document(f"u{i:03}", 2, part=str(i % 4)), own[2 * i : 2 * i + 2]) for i in range(200)]
    store.put_documents("plain", parts, space)
    left = [i for i in range(400) if i // 2 % 4 == 1]
    true = nearest_of(own[5], halved(own), left, 10)
    place, nodes, found = searched(store, pool, space, own[5])
    known = "SELECT count(*) FROM pg_stats WHERE tablename = %s"
    with lent(pool) as conn:
        assert conn.execute(known, (place.table.name,)).fetchone() == (0,)
    assert not place.analysed
    assert [chunk - found[0][0] for chunk, _ in found] == [row - true[0] for row in true]
    (scan,) = [node for node in nodes if node.get("Relation Name") == place.table.name]
    assert "hashed SubPlan" in scan["Filter"]
    of_documents = [node for node in nodes if node.get("Relation Name") == "document"]
    assert of_documents
    assert not [node for node in of_documents if node["Parent Relationship"] == "Inner"]

    store.finish_load("plain", space)
    place, nodes, again = searched(store, pool, space, own[5])
    assert place.analysed
    assert again == found
    joins = [node["Plans"] for node in nodes if node["Node Type"] == "Nested Loop"]
    ((documents, of_document),) = [
        (outer, inner) for outer, inner in joins if place.table.name in relations(inner)
    ]
    assert relations(documents) == {"document", "collection"}
    (scan,) = [node for node in below(of_document) if "Relation Name" in node]
    assert scan["Index Name"] == f"{place.table.name}_document"
    assert "document_id = " in scan["Index Cond"]


def test_a_filter_lists_the_chunks_of_its_documents_and_reads_no_others(
    pool: Pool, rows: Vectors
) -> None:
    """Left to itself the planner may read every chunk of the collection."""
    among = restriction(parse({"eq": {"uri": "u0001"}}))
    assert among is not None
    with open_session(pool, "default", snapshot=True) as session:
        session.cursor.execute("ANALYZE document, chunk")
        explained = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) ") + MATCHING.format(among.condition)
        values = {"collection": collection_id(session, "c"), **among.values}
        plan = session.value(explained, values)[0]["Plan"]
        (chunks,) = [node for node in below(plan) if node.get("Relation Name") == "chunk"]
        assert chunks["Actual Rows"] * chunks["Actual Loops"] == PER_DOCUMENT
        assert chunks.get("Rows Removed by Filter", 0) == 0
        assert len(matching(session, values["collection"], among)) == PER_DOCUMENT


def searched(
    store: PostgresStore, pool: Pool, space: EmbeddingSpace, vector: Vectors
) -> tuple[Place, list[dict[str, Any]], Sequence[tuple[int, float]]]:
    """Search part 1 of the documents of "plain": where, by which plan, and what was found."""
    where = parse({"eq": {"part": "1"}})
    with store.snapshot() as reader:
        found = reader.nearest("plain", space, vector, 10, where)
    with open_session(pool, "default", snapshot=True) as session:
        looked_up = vectors.look_up(session, "plain")
        assert looked_up is not None
        place, among = looked_up.place, restriction(where)
        assert place is not None
        assert among is not None
        register(session.cursor)
        values = {
            **among.values,
            "vector": packed_query(place.table, "other", vector),
            "tenant": "default",
            "collection": looked_up.id,
            "k": 10,
        }
        statement = sql.SQL("EXPLAIN (FORMAT JSON) ") + comparing(
            place.table, among, place.analysed
        )
        row = session.cursor.execute(statement, values).fetchone()
        assert row is not None
        return place, list(below(row[0][0]["Plan"])), found


def relations(plan: dict[str, Any]) -> set[str]:
    """Return the tables that a part of a plan reads."""
    return {node["Relation Name"] for node in below(plan) if "Relation Name" in node}


def below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from below(child)


def test_a_search_is_prepared_once_and_sees_what_changes(pool: Pool, rows: Vectors) -> None:
    """By plans that are kept: before an index, by it, after a deletion, and by the next one."""
    store = PostgresStore(pool, layout=vectors.Layout(index="hnsw"))

    def found() -> list[int]:
        for _ in range(7):  # PostgreSQL keeps a plan after five
            with store.snapshot() as reader:
                pairs = reader.nearest("c", SPACE, rows[30], 10)
        return [chunk - 1 for chunk, _ in pairs]

    everything = list(range(ROWS))
    assert found() == nearest_of(rows[30], halved(rows), everything, 10)
    store.finish_load("c", SPACE)
    assert found() == nearest_of(rows[30], halved(rows), everything, 10)
    first = min(document.id for document in store.documents("c"))
    store.delete_document("c", first + 1)  # the rows 25 to 49
    left = [i for i in everything if i not in range(25, 50)]
    assert found() == nearest_of(rows[30], halved(rows), left, 10)
    store.put_document("c", document("more"), SPACE, rows[30:31])
    assert found()[0] >= ROWS
    with lent(pool) as conn:
        statements = dict(conn.execute(PREPARED).fetchall())
        (walk,) = [plans for one, plans in statements.items() if "<=>" in one]
        assert walk > 0
        assert not [one for one in statements if "set_config" in one], "nothing had to be set"
    with lent(pool) as conn:
        vectors.build_index(conn, SPACE)
    assert found()[0] >= ROWS


def test_a_search_that_needs_more_effort_sets_it_for_itself(pool: Pool, rows: Vectors) -> None:
    store = PostgresStore(pool, layout=vectors.Layout(index="hnsw"))
    store.finish_load("c", SPACE)
    shown = "SELECT current_setting('hnsw.ef_search')::int, current_setting('enable_sort')"
    with open_session(pool, "default", snapshot=True) as session:
        reader = PostgresReader(session)
        first = reader.nearest("c", SPACE, rows[100], 10)
        assert session.cursor.execute(shown).fetchone() == (100, "on")
        assert len(reader.nearest("c", SPACE, rows[100], 100)) == 100
        assert session.cursor.execute(shown).fetchone() == (200, "on")
        session.cursor.execute("SET LOCAL hnsw.ef_search = 1")  # as if by somebody else
        assert reader.nearest("c", SPACE, rows[100], 10) == first
        assert session.cursor.execute(shown).fetchone() == (100, "on")
        session.cursor.execute("SET LOCAL hnsw.iterative_scan = off")
        assert reader.nearest("c", SPACE, rows[100], 10) == first
        iterative = session.cursor.execute("SHOW hnsw.iterative_scan").fetchone()
        assert iterative == ("relaxed_order",)
    with open_session(pool, "default", snapshot=True) as session:
        assert session.cursor.execute(shown).fetchone() == (100, "on")


def test_what_a_filter_leaves_is_estimated_once_for_a_while(
    pool: Pool, rows: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a walk beside a filter needs nothing set either; another filter is another question."""
    store = PostgresStore(pool, layout=vectors.Layout(index="hnsw"))
    store.finish_load("c", SPACE)
    now = [0.0]
    monkeypatch.setattr("ragkit.store.vectors.estimate.monotonic", lambda: now[0])
    # a document fewer, as below
    monkeypatch.setattr("ragkit.store.vectors.search.SURE_ROWS", SURE_ROWS - PER_DOCUMENT)
    asked = "SELECT statement, generic_plans + custom_plans FROM pg_prepared_statements"

    def times(of: str) -> int:
        with lent(pool) as conn:
            return sum(int(n) for one, n in conn.execute(asked).fetchall() if of in one)

    def estimates(part: str) -> int:
        before = times("generate_series"), times("set_config('hnsw")
        where = parse({"ne": {"part": part}})
        with store.snapshot() as reader:
            assert len(reader.nearest("c", SPACE, rows[100], 10, where)) == 10
        assert times("set_config('hnsw") == before[1]
        return times("generate_series") - before[0]

    assert [estimates("1"), estimates("1"), estimates("2"), estimates("1")] == [1, 0, 1, 0]
    now[0] = REMEMBERED_S
    assert [estimates("1"), estimates("1")] == [1, 0]


def test_the_planner_walks_by_itself_where_nothing_is_set(pool: Pool, rows: Vectors) -> None:
    """At the most rows that are asked of it so, with pages as dear as PostgreSQL takes them."""
    PostgresStore(pool, layout=vectors.Layout(index="hnsw")).finish_load("c", SPACE)
    with open_session(pool, "default", snapshot=True) as session:
        place = vectors.locate(session, SPACE, 1)
        assert place is not None
        assert place.table.rows >= SURE_ROWS - PER_DOCUMENT
        session.cursor.execute("SET LOCAL random_page_cost = 4")
        register(session.cursor)
        values = {
            "vector": packed_query(place.table, "model", rows[0]),
            "tenant": "default",
            "collection": 1,
            "k": 10,
            "enough": None,
            "walked": place.table.rows // SURE_SHARE,
        }
        for where in (None, restriction(parse({"eq": {"part": "1"}}))):
            statement = sql.SQL("EXPLAIN (FORMAT JSON) ") + walking(place.table, where)
            own = {} if where is None else {**where.values, "enough": 23}
            row = session.cursor.execute(statement, {**values, **own}).fetchone()
            assert row is not None
            scans = [node for node in below(row[0][0]["Plan"]) if node["Node Type"] == "Index Scan"]
            assert "vectors_1_nearest" in scans[0]["Index Name"]


def test_a_collection_made_anew_is_another(pool: Pool, rows: Vectors) -> None:
    store = PostgresStore(pool)
    for n in range(2):
        store.create_collection("again")
        store.put_document("again", document(f"u{n}"), SPACE, rows[n : n + 1])
        with store.snapshot() as reader:
            (one,) = reader.nearest("again", SPACE, rows[0], 10)
        assert one[1] == pytest.approx(float(rows[0] @ rows[n]), abs=2e-3)
        store.delete_collection("again")
        with store.snapshot() as reader, pytest.raises(NotFoundError, match="'again'"):
            reader.nearest("again", SPACE, rows[0], 10)


def test_tenants_by_turns_on_one_connection(tenanted: Tenanted) -> None:
    """The prepared statements are the connection's; whose rows they see is the transaction's."""
    from ragkit.store.open import open_database

    vector = np.eye(SPACE.dimension, dtype=np.float32)
    with open_database(tenanted.settings) as opened:
        for n, tenant in enumerate(("one", "two")):
            store = opened.store(tenant)
            store.create_collection("c")
            store.put_document("c", document("u"), SPACE, vector[n : n + 1])
    pool = open_pool(tenanted.url, max_size=1)
    try:
        for turn in range(16):
            tenant, other = ("one", "two") if turn % 2 else ("two", "one")
            own = int(tenant == "two")
            with PostgresStore(pool, tenant=tenant).snapshot() as reader:
                ((_, score),) = reader.nearest("c", SPACE, vector[own], 10)
            assert score == pytest.approx(1, abs=1e-3), (turn, other)
        with lent(pool) as conn:
            (looked_up,) = [
                plans
                for statement, plans in conn.execute(PREPARED)
                if "FROM visible_collection c" in statement
            ]
        assert looked_up > 0
    finally:
        pool.close()


def test_through_a_pooler_nothing_is_prepared(pool: Pool, rows: Vectors) -> None:
    with lent(pool) as conn:
        url = f"{conn.info.dsn} dbname={conn.info.dbname}"
    pooled = open_pool(url, max_size=1, pooler=True)
    try:
        with PostgresStore(pooled).snapshot() as reader:
            assert len(reader.nearest("c", SPACE, rows[0], 10)) == 10
        with lent(pooled) as conn:
            assert conn.execute(PREPARED).fetchall() == []
    finally:
        pooled.close()


def test_a_snapshot_outlives_its_connections(pool: Pool) -> None:
    with lent(pool) as conn:
        url = f"{conn.info.dsn} dbname={conn.info.dbname}"
    mine = open_pool(url, max_size=2)
    try:
        with open_session(mine, "t", snapshot=True) as session:
            told = session.cursor.execute(
                "SELECT pg_backend_pid(), current_setting('ragkit.tenant'),"
                " current_setting('transaction_isolation')"
            ).fetchone()
        assert told is not None
        assert told[1:] == ("t", "repeatable read")
        with psycopg.connect(url) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (told[0],))
        with open_session(mine, "t", snapshot=True) as session:
            again = session.cursor.execute("SELECT pg_backend_pid()").fetchone()
        assert again != (told[0],)
        with pytest.raises(UsageError, match="holds a NUL"), open_session(mine, "a\0b"):
            pass
        with lent(mine) as conn:  # and left nothing begun
            assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    finally:
        mine.close()
