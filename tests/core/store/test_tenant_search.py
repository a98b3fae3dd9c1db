"""Searching and writing side by side as the role that row-level security binds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest
from psycopg import Cursor, sql

from ragkit.store.admin import inspect
from ragkit.store.connection.connect import open_pool
from ragkit.store.connection.identity import act_for
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.vectors import Table, find_table, nearest
from ragkit.store.vectors.packed import packed_query, register
from ragkit.store.vectors.plan import Plan
from ragkit.store.vectors.rows import QUERY
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted
from tests.core.store.test_postgres import SPACE, document, normalised, unit
from tests.core.store.test_tenancy import tenants
from tests.core.store.vectors.vector_data import clustered

if TYPE_CHECKING:
    from ragkit.contracts import Vectors


@pytest.fixture(scope="module")
def database(tenanted: Tenanted) -> Iterator[Database]:
    with open_database(tenanted.settings) as opened:
        yield opened


def test_a_small_tenant_finds_its_own_among_many(database: Database, tenanted: Tenanted) -> None:
    """A tenant with 0.5% of 12,000 rows, an HNSW index over all of them: recall@10 as promised."""
    dimension, many, few = 16, 11_940, 60
    space = EmbeddingSpace("crowd", "1", dimension)
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(50, dimension))

    def some(n: int) -> Vectors:
        noise = rng.normal(size=(n, dimension)) / 2
        return normalised((centres[rng.integers(50, size=n)] + noise).astype(np.float32))

    vectors = {"few": some(few), "many": some(many)}
    load(database, tenanted, space, vectors)
    database.store("many").finish_load("c", space)
    with psycopg.connect(tenanted.admin_url) as conn:
        built = conn.execute("SELECT FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'").fetchall()
    assert len(built) == 1
    with open_session(
        database.pool, "many", snapshot=True
    ) as session:  # the policies leave the plan as it is
        used, whole = inspect.unused_indexes(session)
    assert [name for name in used if "nearest" in name]
    assert whole == []
    for tenant, of in vectors.items():
        stored = of.astype(np.float16).astype(np.float32)
        good = 0
        with database.store(tenant).snapshot() as reader:
            for query in some(30):
                found = reader.nearest("c", space, query, 10)
                assert len({chunk for chunk, _ in found}) == 10
                tenth = np.sort(stored @ query)[-10]
                good += sum(score >= tenth - 1e-3 for _, score in found)
        assert good / 300 >= 0.95


def load(
    database: Database, tenanted: Tenanted, space: EmbeddingSpace, vectors: dict[str, Vectors]
) -> None:
    """Store each tenant's vectors, by COPY, which the policies do not allow."""
    with contextlib.closing(open_pool(tenanted.admin_url)) as pool:
        for tenant, of in vectors.items():
            store = PostgresStore(pool, tenant=tenant)
            store.create_collection("c")
            texts = ["w"] * len(of)
            database.store(tenant).put_document("c", document("first", "w"), space, of[:1])
            store.put_document("c", document("d", *texts), space, of)


@pytest.mark.long
def test_a_tenant_of_a_two_hundredth_finds_what_an_exact_search_finds(
    database: Database, tenanted: Tenanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50,000 rows, 250 of them the tenant's: 10 of 10, and without the routing fewer."""
    space, k, queries = EmbeddingSpace("two hundredth", "1", 64), 10, 50
    rows = np.random.default_rng(3).permutation(clustered(50_000 + queries, 64))
    asked, stored = rows[:queries], rows[queries:]
    load(database, tenanted, space, {"share": stored[:250], "rest": stored[250:]})
    database.store("rest").finish_load("c", space)

    def recall(find: Callable[[Vectors], list[int]]) -> int:
        hits = 0
        (collection,) = database.store("share").collections()
        named = (collection.id,)
        for query in asked:
            with open_session(database.pool, "share", snapshot=True) as session:
                compared = nearest(session, space, *named, query, k, exact=True)
            assert len(compared) == k
            hits += len({n for n, _ in compared} & set(find(query)))
        return hits

    def search(query: Vectors) -> list[int]:
        with database.store("share").snapshot() as reader:
            return [n for n, _ in reader.nearest("c", space, query, k)]

    def index_alone(query: Vectors) -> list[int]:
        """Search as pgvector does by default: the nearest of all, then the tenant's of those."""
        with open_session(database.pool, "share", snapshot=True) as session:
            table = indexed_table(session.cursor, space)
            session.cursor.execute(
                "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"
            )
            session.cursor.execute(
                "SET LOCAL enable_sort = off; SET LOCAL hnsw.iterative_scan = off"
            )
            statement = sql.SQL(
                "SELECT chunk_id FROM {} WHERE generation <= {} ORDER BY {} LIMIT %(k)s"
            ).format(table.identifier, table.indexed, table.order(QUERY))
            register(session.cursor)
            values = {"vector": packed_query(table, space.model, query), "k": k}
            return [n for (n,) in session.cursor.execute(statement, values)]

    assert recall(search) == k * queries
    assert recall(index_alone) < k * queries / 2
    # Where the index is walked all the same, the walk goes on past the rows of other tenants.
    forced = Plan(walked=40, ef_search=40, enough=k)
    monkeypatch.setattr("ragkit.store.vectors.search.choose", lambda *given: forced)
    assert recall(search) >= 0.95 * k * queries


def indexed_table(cursor: Cursor[Any], space: EmbeddingSpace) -> Table:
    table = find_table(cursor, space)
    assert table is not None
    assert table.indexed
    return table


def test_two_tenants_at_once_never_mix(database: Database) -> None:
    loads = [f"load {n}" for n in range(2)]
    mixed(database, loads, rounds=6)


def mixed(database: Database, loads: list[str], *, rounds: int) -> None:
    """Let threads write and search for tenants by turns, on whatever connection is free."""
    for tenant in loads:
        database.store(tenant).create_collection("c")

    def work(n: int) -> None:
        for step in range(rounds):
            tenant = loads[(n + step) % len(loads)]
            act_for(loads[(n + step + 1) % len(loads)], "")  # somebody else's, on purpose
            store = database.store(tenant)
            text = f"{tenant} says {n} {step}"
            made = store.put_document(
                "c", document(f"{n}-{step}", text), SPACE, unit(1, 0, n, step)
            )
            assert store.text(made.id) == text
            with store.snapshot() as reader:
                found = reader.nearest("c", SPACE, unit(1, 0, n, step)[0], 50)
                hits = reader.hits([chunk for chunk, _ in found])
                assert {hit.text[: len(tenant)] for hit in hits} == {tenant}
            with open_session(database.pool, tenant) as session:
                assert tenants(session.cursor, "document") == {tenant}

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, n) for n in range(8)]:
            done.result()
    for tenant in loads:
        documents = database.store(tenant).documents("c")
        assert len(documents) == 8 * rounds // len(loads)


def test_sharing_under_the_policies_is_seen_by_the_next_search(database: Database) -> None:
    store = database.store("sharing")
    store.create_collection("c")
    (one,) = store.put_documents("c", [(document("d", "wing"), unit(1, 0, 0, 0))], SPACE)
    store.put_document("c", document("e", "tail"), SPACE, unit(0, 1, 0, 0))
    ada = database.store("sharing", readers=("user:ada",))

    def seen() -> int:
        with ada.snapshot() as reader:
            return reader.postings("c", ["wing", "tail"]).chunks

    assert seen() == 2
    shares = Shares(database.pool, "sharing")
    shares.document(one.id, Change(readers=("group:hr",)))
    assert seen() == 1
    shares.document(one.id, Change(add=("user:ada",)))
    assert seen() == 2
