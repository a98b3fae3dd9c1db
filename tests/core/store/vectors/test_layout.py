"""Every kind of index, metric and type, at dimensions on both sides of pgvector's limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from psycopg import sql

from ragkit.errors import UsageError
from ragkit.store import vectors
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.vectors import Layout, build_index
from ragkit.store.vectors.layout import Table
from ragkit.store.vectors.packed import packed_query, register
from ragkit.store.vectors.plan import Plan
from ragkit.store.vectors.search import prepare_walk, search, walking
from ragkit.types import EmbeddingSpace
from tests.core.store.vectors.vector_data import (
    Pool,
    clustered,
    document,
    halved,
    nearest_of,
    pool_of,
)
from tests.databases import Databases

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

ROWS = 600


@pytest.fixture(scope="module")
def pool(databases: Databases) -> Iterator[Pool]:
    with pool_of(databases) as opened:
        yield opened


@pytest.mark.parametrize(
    ("layout", "dimension", "form"),
    [
        (Layout(index="hnsw"), 384, "halfvec"),
        (Layout("vector", index="hnsw"), 384, "vector"),
        (Layout("bit", index="hnsw"), 384, "bit"),
        (Layout(metric="ip", index="hnsw"), 384, "halfvec"),
        (Layout(metric="l2", index="hnsw"), 384, "halfvec"),
        (Layout(index="ivfflat"), 384, "halfvec"),
        (Layout("vector", "l2", "ivfflat"), 384, "vector"),
        (Layout("bit", "ip", "ivfflat"), 384, "bit"),
        (Layout(index="hnsw"), 2001, "halfvec"),
        (Layout("vector", index="hnsw"), 2001, "halfvec"),
        (Layout(index="hnsw"), 4001, "bit"),
        (Layout("vector", "l2", "hnsw"), 4001, "bit"),
        (Layout(index="ivfflat"), 4001, "bit"),
    ],
)
def test_every_layout_is_indexed_and_finds_the_true_rows(
    pool: Pool, layout: Layout, dimension: int, form: str
) -> None:
    """The index is walked over 600 rows, of which a real search would compare all."""
    name = f"{layout} {dimension}"
    space = EmbeddingSpace(name, "1", dimension)
    store = PostgresStore(pool, layout=layout)
    store.create_collection(name)
    rows = clustered(ROWS, dimension)
    stored = store.put_document(name, document("u", ROWS), space, rows)
    store.finish_load(name, space)
    half = rows if layout.type == "vector" else halved(rows)
    with open_session(pool, "default", snapshot=True) as session:
        first = session.cursor.execute(
            "SELECT min(id), min(collection_id) FROM chunk WHERE document_id = %s", (stored.id,)
        ).fetchone()
        assert first is not None
        table = vectors.find_table(session.cursor, space)
        assert table is not None
        assert (table.indexed, table.rows, table.form, table.layout) == (1, ROWS, form, layout)
        agreed = 0
        walked = 200 if table.reranks else 10
        probes = Plan(walked, ef_search=max(walked, 40))
        for query in rows[:20]:
            packed = packed_query(table, name, query)
            found = search(session, table, first[1], packed, 10, None, probes)
            exact = nearest_of(query, half, range(ROWS), 10)
            agreed += len({chunk - first[0] for chunk, _ in found} & set(exact))
            cosine = float(half[exact[0]] @ query)
            assert found[0][1] == pytest.approx(cosine, abs=2e-3)  # whatever the metric
        assert agreed >= 196  # of 200: recall@10 0.98
        _assert_walks(pool, table, packed)


def _assert_walks(pool: Pool, table: Table, packed: object) -> None:
    with open_session(pool, "default", snapshot=True) as session:
        register(session.cursor)
        prepare_walk(session, table, Plan(10, 40))
        values = {"vector": packed, "tenant": "default", "collection": 1, "k": 10}
        values |= {"walked": 10, "enough": None}
        lines = session.cursor.execute(sql.SQL("EXPLAIN ") + walking(table), values).fetchall()
    assert any(f"Index Scan using {table.name}_nearest_1" in line for (line,) in lines)


def test_more_dimensions_than_can_be_stored_are_refused(pool: Pool) -> None:
    store = PostgresStore(pool)
    store.create_collection("vast")
    space = EmbeddingSpace("vast", "1", 16_001)
    with pytest.raises(UsageError, match=r"16,001 dimensions, and pgvector stores at most 16,000"):
        store.put_document("vast", document("u"), space, clustered(1, 16_001))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.full((1, 8), 1e30, np.float32), "too large for half precision"),
        (np.zeros((1, 8), np.float32), "zero"),
    ],
)
def test_vectors_that_could_never_be_found_are_refused(
    pool: Pool, rows: Vectors, message: str
) -> None:
    store = PostgresStore(pool)
    store.create_collection("bad")
    with pytest.raises(UsageError, match=message):
        store.put_document("bad", document("u"), EmbeddingSpace("bad", "1", 8), rows)


def test_an_index_is_rebuilt_of_another_kind_and_taken_away(pool: Pool) -> None:
    space = EmbeddingSpace("rebuilt", "1", 32)
    store = PostgresStore(pool, layout=Layout(index="hnsw"))
    store.create_collection("rebuilt")
    store.put_document("rebuilt", document("u", ROWS), space, clustered(ROWS, 32))
    store.finish_load("rebuilt", space)
    for layout, indexed in (
        (Layout("bit", "l2", "ivfflat", 3), 2),
        (Layout(index="hnsw"), 3),
        (Layout(index="none"), 0),
    ):
        with pool.connection() as conn:
            assert build_index(conn, space, layout=layout) == bool(indexed)
            table = vectors.find_table(conn.cursor(), space)
            assert table is not None
            assert (table.layout, table.indexed) == (layout, indexed)
            names = conn.execute(
                "SELECT indexname FROM pg_indexes WHERE tablename = %s AND indexname ~ 'nearest'",
                (table.name,),
            ).fetchall()
            assert names == [(f"{table.name}_nearest_{indexed}",)] * bool(indexed)
        with store.snapshot() as reader:
            assert len(reader.nearest("rebuilt", space, clustered(1, 32)[0], 10)) == 10
    with pool.connection() as conn, pytest.raises(UsageError, match="cannot become vector"):
        build_index(conn, space, layout=Layout("vector"))
