"""A database whose large tables are partitioned by tenant, as the guide has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from psycopg import Connection, sql

from ragkit.contracts import Store
from ragkit.retrieve.search import HybridRetriever
from ragkit.store.admin import backup, inspect
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import Session, open_session
from ragkit.store.vectors import build
from ragkit.store.vectors.layout import Layout
from ragkit.store.vectors.spaces import find_table
from ragkit.store.vectors.state import state
from ragkit.testing.conformance.store import StoreConformance
from ragkit.testing.embedder import FakeEmbedder
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted
from tests.core.store.test_postgres import document, normalised
from tests.places import ROOT

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

SCRIPT = ROOT / "deploy" / "postgres" / "partition.sql"
PARTS = 4


def partition(url: str) -> None:
    with psycopg.connect(url) as conn:
        conn.execute(sql.SQL("SET ragkit.partitions = {}").format(sql.Literal(str(PARTS))))
        conn.execute(SCRIPT.read_bytes())


def some(n: int, seed: int) -> Vectors:
    return normalised(np.random.default_rng(seed).normal(size=(n, 8)).astype(np.float32))


def leave_behind(conn: Connection[Any], table: str) -> None:
    """Leave what a build leaves that was broken off: parts with an index and parts without."""
    for name, on in ((f"{table}_nearest_98", "ONLY {}"), (f"{table}_p0_nearest_99", "{}")):
        of = sql.SQL(on).format(sql.Identifier(table if "ONLY" in on else f"{table}_p0"))
        statement = "CREATE INDEX {} ON {} USING hnsw (embedding halfvec_cosine_ops)"
        conn.execute(sql.SQL(statement).format(sql.Identifier(name), of))


def put(store: PostgresStore, uri: str, text: str) -> int:
    embedder = FakeEmbedder()
    embedder.load()
    vectors = embedder.embed_passages([text])
    return store.put_document("c", document(uri, text), embedder.space, vectors).id


def found(store: PostgresStore, query: str) -> list[str]:
    return [hit.text for hit in HybridRetriever(store, FakeEmbedder(), "c").search(query, k=3)]


def store_two_tenants(tenanted: Tenanted) -> None:
    """Store documents of two tenants, before their tables are divided."""
    with open_database(tenanted.settings) as database:
        for tenant in ("before", "beside"):
            store = database.store(tenant)
            store.create_collection("c")
            put(store, "a", f"the canary of {tenant}")
            put(store, "b", f"a raven croaks at {tenant}")


def check_two_tenants(database: Database) -> None:
    """Find what `store_two_tenants` stored, replace some of it, and find that."""
    for tenant in ("before", "beside"):
        store = database.store(tenant)
        assert found(store, "canary")[0] == f"the canary of {tenant}"
        put(store, "b", f"a rook caws at {tenant}")
        assert found(store, "rook caws")[0] == f"a rook caws at {tenant}"
        assert len(found(store, "raven canary rook")) == 2
        with open_session(database.pool, tenant, snapshot=True) as session:
            assert set(inspect.orphans(session).values()) == {0}


@pytest.fixture(scope="module")
def partitioned(tenanted: Tenanted) -> Tenanted:
    """Tenants are on; two of them were there before the tables were partitioned."""
    store_two_tenants(tenanted)
    partition(tenanted.owner_url)
    return tenanted


@pytest.fixture(scope="module")
def database(partitioned: Tenanted) -> Iterator[Database]:
    with open_database(partitioned.settings) as opened:
        yield opened


class TestConformance(StoreConformance):
    @pytest.fixture
    def store(self, database: Database) -> Store:
        return database.store(f"t {uuid4()}")


def test_the_large_tables_are_partitioned(partitioned: Tenanted) -> None:
    with psycopg.connect(partitioned.owner_url) as conn:
        rows = conn.execute(
            "SELECT parent.relname, count(*) FROM pg_inherits i"
            " JOIN pg_class parent ON parent.oid = i.inhparent"
            " WHERE parent.relkind = 'p' GROUP BY 1 ORDER BY 1"
        ).fetchall()
        left = conn.execute("SELECT relname FROM pg_class WHERE relname LIKE '%whole%'").fetchall()
    assert rows == [("chunk", PARTS), ("lexical_posting", PARTS), ("vectors_1", PARTS)]
    assert left == []


def test_constraints_and_indexes_are_as_they_were(
    partitioned: Tenanted, fresh_database: str
) -> None:
    """Compared with a database that was never partitioned."""
    query = """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conparentid = 0 AND conrelid <> 0 AND contype <> 'n' AND NOT EXISTS (
            SELECT FROM pg_class WHERE oid = conrelid AND relispartition)
        UNION ALL SELECT tablename, indexname, replace(replace(indexdef, 'ON ONLY ', 'ON '),
            schemaname || '.', '')
        FROM pg_indexes WHERE NOT EXISTS (SELECT FROM pg_class
            WHERE oid = (schemaname || '.' || tablename)::regclass AND relispartition)
            AND schemaname NOT IN ('pg_catalog', 'information_schema')
        ORDER BY 1, 2, 3
    """
    with psycopg.connect(fresh_database) as conn:
        whole = conn.execute(query).fetchall()
    with psycopg.connect(partitioned.owner_url) as conn:
        split = [row for row in conn.execute(query) if not row[0].startswith("vectors_")]
    assert split == whole
    assert len(whole) > 60


def test_what_was_there_is_found(database: Database) -> None:
    check_two_tenants(database)


def test_a_search_reads_one_partition(database: Database) -> None:
    with open_session(database.pool, "before", snapshot=True) as session:
        plan = session.cursor.execute(
            "EXPLAIN SELECT * FROM lexical_posting WHERE tenant = %s AND collection_id = 1"
            " AND term = 'canary'", ("before",)
        ).fetchall()  # fmt: skip
    assert sum("Scan" in line and " on lexical_posting_p" in line for (line,) in plan) == 1


def test_each_partition_has_an_index_of_its_own(
    database: Database, partitioned: Tenanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made after a load, searched, built again in another way, and dropped."""
    space = EmbeddingSpace("crowd", "1", 8)
    given = {}
    for seed, tenant in enumerate(("left", "right", "far")):
        store = database.store(tenant)
        store.create_collection("c")
        given[tenant] = some(300, seed)
        new = document("d", *[f"w{n}" for n in range(300)])
        store.put_document("c", new, space, given[tenant])
    partition(partitioned.owner_url)  # again: the table of the new space
    monkeypatch.setattr(build, "EXACT_ROWS", 100)
    for tenant in given:
        database.store(tenant).finish_load("c", space)
    for kind in (None, Layout(index="ivfflat"), Layout(index="none")):
        with database.owner() as conn, conn.cursor() as cursor:
            if kind is not None:
                table = find_table(cursor, space)
                assert table is not None
                leave_behind(conn, table.name)
                assert build.build_index(conn, space, layout=kind) == (kind.index != "none")
            table = find_table(cursor, space)
            assert table is not None
            made = cursor.execute(
                "SELECT indexdef FROM pg_indexes WHERE indexname LIKE %s"
                " AND tablename <> %s", (f"{table.name}%nearest%", table.name),
            ).fetchall()  # fmt: skip
            assert inspect.invalid_indexes(Session(cursor, "before")) == []
            seen = state(conn, space)
            left = cursor.execute("SELECT FROM pg_class WHERE relname ~ '_nearest_9[89]$'")
            assert left.fetchall() == []
        assert len(made) == (0 if table.layout.index == "none" else PARTS)
        assert all(table.layout.kind in str(one) for one in made)
        assert (seen.vectors, table.rows) == (900, 900 if made else 0)
        assert seen.table_bytes > 900 * 16
        assert bool(seen.index_bytes) == bool(made)
        for tenant, rows in given.items():
            with database.store(tenant).snapshot() as reader:
                best = reader.nearest("c", space, rows[7], 5)
                assert reader.hits([best[0][0]])[0].text == "w7"
                assert len(best) == 5


def test_a_backup_holds_and_restores_the_partitions(
    partitioned: Tenanted, empty_database: str, tmp_path: Path
) -> None:
    saved = backup.back_up(partitioned.admin_url, tmp_path / "backup")
    assert saved.tables["chunk"][0] > 900
    assert "chunk_p0" not in saved.tables
    assert backup.restore(empty_database, tmp_path / "backup") == saved


def test_nonsense_is_refused(fresh_database: str) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        conn.execute("SET ragkit.partitions = '1'")
        with pytest.raises(psycopg.errors.RaiseException, match="between 2 and 1000"):
            conn.execute(SCRIPT.read_bytes())
