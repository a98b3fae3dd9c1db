"""Building the index and merging into it: what is written, deleted and searched meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pytest
from psycopg import sql

from ragkit.store import vectors
from ragkit.store.connection.transactions import connection
from ragkit.store.open import Database
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.vectors import BuildProgress, Layout, Table, build, build_index, progress
from ragkit.store.vectors.packed import packed_query
from ragkit.store.vectors.plan import COMPARE, Plan
from ragkit.store.vectors.search import search
from ragkit.types import EmbeddingSpace
from tests.core.store.vectors.vector_data import Pool, clustered, document, pool_of
from tests.databases import Databases

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

ROWS = 1_500
WALK = Plan(walked=40, ef_search=200)


@pytest.fixture(scope="module")
def pool(databases: Databases) -> Iterator[Pool]:
    with pool_of(databases) as opened:
        yield opened


class Case:
    """A collection of its own, indexed, and what a test asks about it."""

    def __init__(self, pool: Pool, name: str, rows: int = ROWS) -> None:
        self.pool, self.name = pool, name
        self.space = EmbeddingSpace(name, "1", 48)
        self.store = PostgresStore(pool, layout=Layout(index="hnsw"))
        self.owner = self.store.create_collection(name).id
        self.store.put_document(name, document("u", rows), self.space, clustered(rows, 48))
        self.finish()

    def finish(self) -> None:
        self.store.finish_load(self.name, self.space)

    def put(self, uri: str, rows: Vectors) -> int:
        return self.store.put_document(self.name, document(uri, len(rows)), self.space, rows).id

    def table(self) -> Table:
        with open_session(self.pool, "default", snapshot=True) as session:
            found = vectors.find_table(session.cursor, self.space)
            assert found is not None
            return found

    def generations(self) -> dict[int, int]:
        with connection(self.pool, "default") as conn:
            query = sql.SQL("SELECT generation, count(*) FROM {} GROUP BY 1")
            return dict(conn.execute(query.format(sql.Identifier(self.table().name))).fetchall())

    def both(self, query: Vectors, k: int = 10) -> tuple[list[int], list[int]]:
        """Search by the index and exactly, in one snapshot."""
        with open_session(self.pool, "default", snapshot=True) as session:
            table = vectors.find_table(session.cursor, self.space)
            assert table is not None
            packed = packed_query(table, self.name, query)
            found = [
                search(session, table, self.owner, packed, k, None, plan)
                for plan in (WALK, COMPARE)
            ]
        walked, compared = ([chunk for chunk, _ in rows] for rows in found)
        return walked, compared

    def agreement(self, queries: Vectors) -> float:
        pairs = [self.both(query) for query in queries]
        return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in pairs]))


def test_what_is_written_after_the_build_is_found_at_once_and_merged_later(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(pool, "recent")
    fresh = clustered(150, 48, seed=9)
    case.put("new", fresh)
    assert case.generations() == {1: ROWS, 2: 150}
    assert case.agreement(fresh[:20]) >= 0.98
    case.finish()  # too few to be merged
    assert case.generations() == {1: ROWS, 2: 150}
    monkeypatch.setattr(build, "RECENT_ROWS", 100)
    case.finish()
    assert case.generations() == {1: ROWS + 150}
    assert case.agreement(fresh[:20]) >= 0.98
    assert case.table().rows == ROWS + 150


def test_many_new_rows_are_indexed_by_a_new_build(pool: Pool) -> None:
    case = Case(pool, "grown")
    more = clustered(ROWS, 48, seed=4)
    case.put("more", more)
    case.finish()
    table = case.table()
    assert (table.indexed, table.rows) == (2, 2 * ROWS)
    assert case.agreement(more[:20]) >= 0.98


def test_deleted_and_replaced_documents_are_gone_from_both_parts(pool: Pool) -> None:
    case = Case(pool, "deleted")
    fresh = clustered(30, 48, seed=2)
    gone = case.put("gone", fresh)
    case.put("replaced", fresh)
    case.store.delete_document(case.name, gone)
    case.put("replaced", fresh[:10])
    assert sum(case.generations().values()) == ROWS + 10
    walked, compared = case.both(fresh[0])
    assert walked == compared
    with connection(pool, "default") as conn:
        build.merge(conn, case.table(), "default", case.owner)
    case.put("replaced", fresh[:3])
    assert case.generations() == {1: ROWS, 2: 3}
    walked, compared = case.both(fresh[0])
    assert walked == compared


def test_searches_agree_with_exact_ones_while_rows_come_go_and_are_merged(pool: Pool) -> None:
    """Each row is found once, in whichever part a search's snapshot has it."""
    case = Case(pool, "busy")
    stop = threading.Event()

    def repeat(step: Callable[[], object]) -> None:
        while not stop.is_set():
            step()

    written = count(1)

    def write() -> None:
        n = next(written)
        number = case.put(f"w{n % 12}", clustered(20, 48, seed=n))
        if n % 5 == 0:
            case.store.delete_document(case.name, number)

    def tidy() -> None:
        with pool.connection() as conn:
            build.merge(conn, case.table(), "default", case.owner)

    def rebuild() -> None:
        with pool.connection() as conn:
            build_index(conn, case.space)

    shares = []
    with ThreadPoolExecutor() as others:
        running = [others.submit(repeat, step) for step in (write, tidy, rebuild, rebuild)]
        try:
            for seed in range(60):
                walked, compared = case.both(clustered(1, 48, seed=1000 + seed)[0])
                assert len(walked) == len(set(walked)) == 10
                shares.append(len(set(walked) & set(compared)) / 10)
        finally:
            stop.set()
    for one in running:
        one.result()
    assert np.mean(shares) >= 0.98
    case.finish()
    assert case.agreement(clustered(20, 48, seed=77)) >= 0.98


def test_a_merge_leaves_what_somebody_is_deleting_and_waits_for_nobody(pool: Pool) -> None:
    case = Case(pool, "locked")
    number = case.put("held", clustered(5, 48, seed=1))
    case.put("free", clustered(5, 48, seed=2))
    with connection(pool, "default") as deleting, pool.connection() as conn:
        deleting.execute("DELETE FROM chunk WHERE document_id = %s", (number,))
        assert build.merge(conn, case.table(), "default", case.owner) == 5
    assert case.generations() == {1: ROWS + 5}


def test_an_interrupted_build_leaves_searches_right_and_is_made_good(pool: Pool) -> None:
    case = Case(pool, "broken")
    with pool.connection() as conn:
        table = case.table()
        conn.execute("UPDATE vector_layout SET written = 3 WHERE space_id = %s", (table.space_id,))
        conn.execute(
            sql.SQL(
                "CREATE INDEX {} ON {} USING hnsw (embedding halfvec_cosine_ops)"
                " WHERE generation <= 2"
            ).format(sql.Identifier(f"{table.name}_nearest_2"), table.identifier)
        )
        conn.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass",
            (f"{table.name}_nearest_2",),
        )
    fresh = clustered(10, 48, seed=3)
    case.put("new", fresh)
    assert case.generations() == {1: ROWS, 3: 10}
    assert case.agreement(fresh) >= 0.98
    with pool.connection() as conn:
        assert build_index(conn, case.space)
        names = conn.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename = %s AND indexname ~ 'nearest'",
            (table.name,),
        ).fetchall()
    assert names == [(f"{table.name}_nearest_3",)]
    assert case.table().indexed == 3


def test_a_build_tells_how_far_it_is_and_that_memory_is_short(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers hold the build up, one before it reads the table and one after, until it is seen."""
    case = Case(pool, "told")
    monkeypatch.setattr(progress, "_EVERY_S", 0.01)
    monkeypatch.setattr(
        build,
        "build_settings",
        lambda machine, graph: {
            "maintenance_work_mem": "1MB",
            "max_parallel_maintenance_workers": "0",
        },
    )
    write = sql.SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE").format(case.table().identifier)
    seen: list[BuildProgress] = []
    with pool.connection() as conn, pool.connection() as first, pool.connection() as second:

        def on_progress(one: BuildProgress) -> None:
            if one.phase == "waiting for writers before build" and one not in seen:
                second.execute("BEGIN")
                second.execute(write)
                first.rollback()
            if one.phase == "waiting for writers before validation":
                second.rollback()
            seen.append(one)

        first.execute("BEGIN")
        first.execute(write)
        conn.execute("SET statement_timeout = '60s'")  # nobody looks: fail, do not hang
        before = conn.execute("SHOW maintenance_work_mem").fetchone()
        build_index(conn, case.space, watch=pool.connection, on_progress=on_progress)
        assert conn.execute("SHOW maintenance_work_mem").fetchone() == before
        conn.execute("RESET statement_timeout")
    built = [one for one in seen if one.phase == "waiting for writers before validation"]
    assert built
    assert built[0].done == built[0].total > 0
    notices = [one.notice for one in seen if one.notice]
    assert len(notices) == 1
    assert notices[0].startswith("hnsw graph no longer fits into maintenance_work_mem after")


def test_a_build_goes_on_when_nobody_can_watch_it(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    case = Case(pool, "unwatched")
    died: list[object] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    nowhere = Database(pool, owner_url="postgresql:///nowhere?host=/nowhere")
    with pool.connection() as conn, caplog.at_level(logging.INFO, progress.__name__):
        assert build_index(conn, case.space, watch=nowhere.owner, on_progress=print)
    assert died == []
    assert "progress of an index build cannot be seen" in caplog.text


def test_a_small_collection_gets_no_index_by_itself(pool: Pool) -> None:
    store = PostgresStore(pool)
    space = EmbeddingSpace("small", "1", 48)
    store.create_collection("small")
    store.put_document("small", document("u", 500), space, clustered(500, 48))
    store.finish_load("small", space)
    with open_session(pool, "default", snapshot=True) as session:
        table = vectors.find_table(session.cursor, space)
    assert table is not None
    assert table.indexed == 0
