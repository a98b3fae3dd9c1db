"""Searching vectors in a real database: exact or by the index, with filters, always k rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from psycopg import sql

from ragkit.errors import UsageError
from ragkit.filters.tree import parse
from ragkit.store import vectors
from ragkit.store.admin import inspect
from ragkit.store.documents.filter_sql import restriction
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.vectors.layout import Layout, Table
from ragkit.store.vectors.packed import packed_query, register
from ragkit.store.vectors.plan import COMPARE, Plan
from ragkit.store.vectors.search import _attempts, choose, prepare_walk, search, walking
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

SPACE = EmbeddingSpace("model", "1", 384)
ROWS, PER_DOCUMENT = 6_000, 10
QUERIES = 15


@dataclass(frozen=True, slots=True)
class Filled:
    """A collection of 6,000 rows in 600 documents; row i is chunk `first` + i.

    A document's metadata are its number, in the order of the clusters, and a random number, both
    below 1,000, with three digits.
    """

    pool: Pool
    store: PostgresStore
    rows: Vectors
    half: Vectors  # the rows as they are stored
    queries: Vectors
    first: int
    near: np.ndarray[Any, np.dtype[np.int64]]
    random: np.ndarray[Any, np.dtype[np.int64]]


@pytest.fixture(scope="module")
def filled(databases: Databases) -> Iterator[Filled]:
    with pool_of(databases) as pool:
        store = PostgresStore(pool, layout=vectors.Layout(index="hnsw"))
        rows = clustered(ROWS, SPACE.dimension)
        documents = ROWS // PER_DOCUMENT
        near = np.arange(documents) * 1000 // documents
        random = np.random.default_rng(3).permutation(near)
        for name, few in (("c", documents), ("small", 2)):
            store.create_collection(name)
            entries = [
                (
                    document(
                        f"u{i:04}", PER_DOCUMENT, near=f"{near[i]:03}", random=f"{random[i]:03}"
                    ),
                    rows[i * PER_DOCUMENT : (i + 1) * PER_DOCUMENT],
                )
                for i in range(few)
            ]
            for start in range(0, few, 100):
                store.put_documents(name, entries[start : start + 100], SPACE)
            store.finish_load(name, SPACE)
        rng = np.random.default_rng(5)
        queries = rows[rng.integers(0, ROWS, QUERIES)]
        queries = queries + rng.normal(size=queries.shape).astype(np.float32) * 0.02
        queries /= np.linalg.norm(queries, axis=1, keepdims=True)
        yield Filled(pool, store, rows, halved(rows), queries, 1, near, random)


def recall(filled: Filled, k: int, field: str | None = None, below: int = 1000) -> float:
    """Search for every query; return the mean share of the true k that are found."""
    where, among = None, list(range(ROWS))
    if field is not None:
        where = parse({"lt": {field: f"{below:03}"}})
        left = np.repeat(getattr(filled, field), PER_DOCUMENT) < below
        among = np.flatnonzero(left).tolist()
    shares = []
    for query in filled.queries:
        true = nearest_of(query, filled.half, among, k)
        with filled.store.snapshot() as reader:
            found = reader.nearest("c", SPACE, query, k, where)
        assert len(found) == len(true)  # always k when k exist
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        shares.append(len({chunk - filled.first for chunk, _ in found} & set(true)) / len(true))
    return float(np.mean(shares))


@pytest.mark.parametrize("k", [10, 100])
def test_the_index_finds_what_an_exact_search_finds(filled: Filled, k: int) -> None:
    assert recall(filled, k) >= 0.98


@pytest.mark.parametrize("field", ["near", "random"])
@pytest.mark.parametrize("below", [1, 10, 100, 500])
def test_a_filter_of_any_width_leaves_recall_and_k_rows(
    filled: Filled, field: str, below: int
) -> None:
    assert recall(filled, 10, field, below) >= 0.98


def test_a_large_collection_is_searched_by_its_index_and_a_small_one_exactly(
    filled: Filled,
) -> None:
    owners = {collection.name: collection.id for collection in filled.store.collections()}
    with open_session(filled.pool, "default", snapshot=True) as session:
        place = vectors.locate(session, SPACE, 1)
        assert place is not None
        table = place.table
        assert table.indexed
        assert choose(session, place, owners["c"], 10).walks
        small = vectors.locate(session, SPACE, owners["small"])
        assert small is not None
        assert small.rows == 20
        assert not choose(session, small, owners["small"], 10).walks
        used, findings = inspect.unused_indexes(session)
        assert "vectors_1_nearest_1" in used
        assert findings == []
    with filled.store.snapshot() as reader:
        assert len(reader.nearest("small", SPACE, filled.queries[0], 30)) == 20


@pytest.mark.parametrize(("below", "walks"), [(1, False), (10, False), (500, True)])
def test_a_filter_is_routed_by_about_how_much_it_leaves(
    filled: Filled, below: int, walks: bool
) -> None:
    where = restriction(parse({"lt": {"random": f"{below:03}"}}))
    assert where is not None
    with open_session(filled.pool, "default", snapshot=True) as session:
        place = vectors.locate(session, SPACE, 1)
        assert place is not None
        plan = choose(session, place, 1, 10, where)
        assert plan.walks == walks


def test_a_filter_that_says_no_near_a_query_still_gets_the_true_rows(filled: Filled) -> None:
    """Walking from a query meets only rows of other documents for long, or gives up in time."""
    agreed = 0
    for query in filled.queries:
        own = filled.near[int(np.argmax(filled.half @ query)) // PER_DOCUMENT]
        left = filled.near >= 500 if own < 500 else filled.near < 500
        where = parse({"gte" if own < 500 else "lt": {"near": "500"}})
        among = np.flatnonzero(np.repeat(left, PER_DOCUMENT)).tolist()
        with filled.store.snapshot() as reader:
            found = reader.nearest("c", SPACE, query, 10, where)
        rows = {chunk - filled.first for chunk, _ in found}
        assert len(rows) == 10
        assert rows <= set(among)
        agreed += len(rows & set(nearest_of(query, filled.half, among, 10)))
    assert agreed >= 0.98 * 10 * QUERIES


def test_any_filter_gets_k_rows_when_k_exist(filled: Filled) -> None:
    """Windows of any width and place over both numbers, k from 1 to more than pass."""
    rng = np.random.default_rng(11)
    walked = 0
    for query in np.repeat(filled.queries, 3, axis=0):
        field = str(rng.choice(["near", "random"]))
        k = int(rng.choice([1, 10, 100, 1000]))
        first = int(rng.integers(0, 1000))
        last = min(999, first + int(10 ** rng.uniform(0, 3)))
        bounds = [{"gte": {field: f"{first:03}"}}, {"lte": {field: f"{last:03}"}}]
        numbers = getattr(filled, field)
        passing = np.repeat((numbers >= first) & (numbers <= last), PER_DOCUMENT)
        where = parse({"and": bounds})
        among = restriction(where)
        assert among is not None
        with open_session(filled.pool, "default", snapshot=True) as session:
            place = vectors.locate(session, SPACE, 1)
            assert place is not None
            walked += choose(session, place, 1, k, among).walks
        with filled.store.snapshot() as reader:
            found = [
                chunk - filled.first for chunk, _ in reader.nearest("c", SPACE, query, k, where)
            ]
        assert len(set(found)) == len(found) == min(k, int(passing.sum())), (field, first, last, k)
        assert passing[found].all()
    assert 3 <= walked <= 42  # both plans were tried


def test_what_the_index_gathers_at_once_is_tried_before_more() -> None:
    table = Table(1, 384, Layout(), indexed=1)
    assert list(_attempts(table, Plan(200, 100, 23), 10)) == [(100, 10), (200, 23)]
    assert list(_attempts(table, Plan(227, 227, 10), 10)) == [(227, 10)]
    assert list(_attempts(table, Plan(10, 100), 10)) == [(10, None)]
    assert list(_attempts(table, COMPARE, 10)) == []


def test_the_first_by_a_coarser_form_are_not_taken_for_the_nearest() -> None:
    table = Table(1, 384, Layout("bit"), indexed=1)
    assert list(_attempts(table, Plan(4_000, 1_000, 400), 10)) == [(4_000, 400)]


def test_a_walk_judges_no_more_rows_when_enough_passed(filled: Filled) -> None:
    """Every document passes: of 200 rows that it may take, it takes the 23 that are enough."""
    where = restriction(parse({"gte": {"random": "000"}}))
    assert where is not None
    with open_session(filled.pool, "default", snapshot=True) as session:
        table = vectors.find_table(session.cursor, SPACE)
        assert table is not None
        prepare_walk(session, table, Plan(200, 100, 23))
        register(session.cursor)
        values = {
            "vector": packed_query(table, "model", filled.queries[0]),
            "tenant": "default",
            "collection": 1,
            "k": 10,
            "walked": 200,
            "enough": 23,
        }
        statement = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) ") + walking(table, where)
        row = session.cursor.execute(statement, {**where.values, **values}).fetchone()
    assert row is not None
    nodes = [node for node in _nodes(row[0][0]["Plan"]) if "Index Name" in node]
    judged = [node["Actual Loops"] for node in nodes if node["Index Name"] == "document_pkey"]
    assert max(judged) == 23


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def test_what_a_walk_sets_for_the_planner_ends_with_it(filled: Filled) -> None:
    with open_session(filled.pool, "default", snapshot=True) as session:
        place = vectors.locate(session, SPACE, 1)
        assert place is not None
        query = packed_query(place.table, "model", filled.queries[0])
        plan = choose(session, place, 1, 10)
        assert plan.walks
        found = search(session, place.table, 1, query, 10, None, plan)
        assert len(found) == 10
        assert session.cursor.execute("SHOW enable_sort").fetchone() == ("on",)


def test_the_plan_with_a_filter_walks_the_index_and_looks_documents_up(filled: Filled) -> None:
    where = restriction(parse({"lt": {"random": "500"}}))
    assert where is not None
    with open_session(filled.pool, "default", snapshot=True) as session:
        place = vectors.locate(session, SPACE, 1)
        assert place is not None
        table = place.table
        plan = choose(session, place, 1, 10, where)
        query = packed_query(table, "model", filled.queries[0])
        register(session.cursor)
        prepare_walk(session, table, plan)
        values = {"vector": query, "tenant": "default", "collection": 1, "k": 10}
        values |= {"walked": plan.walked, "enough": plan.enough}
        statement = sql.SQL("EXPLAIN ") + walking(table, where)
        lines = [row[0] for row in session.cursor.execute(statement, {**where.values, **values})]
    assert any("Index Scan using vectors_1_nearest_1" in line for line in lines)
    assert any("document_pkey" in line for line in lines)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (np.ones(383, np.float32), r"shape \(383,\), but model has 384"),
        (np.ones((1, 384), np.float32), r"shape \(1, 384\)"),
        (np.full(384, np.nan, np.float32), "NaN"),
        (np.full(384, np.inf, np.float32), "infinite"),
        (np.zeros(384, np.float32), "is zero"),
        (np.full(384, 1e30, np.float32), "too large for half precision"),
    ],
)
def test_a_query_that_nothing_can_be_near_to_is_refused(
    filled: Filled, query: Vectors, message: str
) -> None:
    with filled.store.snapshot() as reader, pytest.raises(UsageError, match=message):
        reader.nearest("c", SPACE, query, 10)
    with filled.store.snapshot() as reader, pytest.raises(UsageError, match=message):
        reader.similarities(SPACE, query, [1])
