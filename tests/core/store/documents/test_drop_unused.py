"""A collection that a failed ingestion made goes again, and never one that somebody uses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import NotFoundError
from ragkit.store.connection.rows import first_value
from ragkit.store.connection.transactions import transaction
from ragkit.store.documents.sharing import Sharing
from ragkit.store.postgres import PostgresStore
from ragkit.testing import new_document
from ragkit.types import EmbeddingSpace

Pool = ConnectionPool[Connection[Any]]
SPACE = EmbeddingSpace("model", "1", 4)
ROW = np.eye(4, dtype=np.float32)[:1]


def test_an_unused_collection_is_deleted_with_its_ended_runs(pool: Pool) -> None:
    store = PostgresStore(pool)
    number = store.create_collection("c").id
    ledger = store.job_ledger
    ledger.end_run(ledger.start_run(number, "ingest"), {})
    own = ledger.start_run(number, "ingest")
    assert store.drop_unused(number, own)
    assert store.collections() == []
    assert not store.drop_unused(number, own)


def test_one_with_documents_options_readers_or_work_stays(pool: Pool) -> None:
    store = PostgresStore(pool)
    filled = store.create_collection("filled").id
    store.put_document("filled", new_document("a.md", "red"), SPACE, ROW)
    chosen = store.create_collection("chosen").id
    store.set_ingest_options("chosen", {"splitter": "structural"})
    shared = store.add_collection("shared", Sharing("user:ann", ("user:ann",)))[0].id
    running = store.create_collection("running").id
    store.job_ledger.start_run(running, "ingest")
    for number in (filled, chosen, shared, running):
        assert not store.drop_unused(number)


def test_what_another_command_stores_meanwhile_is_not_lost(pool: Pool) -> None:
    store = PostgresStore(pool)
    number = store.create_collection("c").id
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as threads:
        with transaction(pool, "default") as cursor:
            cursor.execute(
                "INSERT INTO ingest_run (tenant, collection_id, command, host)"
                " VALUES ('default', %s, 'ingest', 'here')",
                (number,),
            )
            dropping = threads.submit(store.drop_unused, number)
            with pool.connection() as conn:
                while not first_value(conn.cursor(), waiting):
                    assert not dropping.done()
        assert not dropping.result()
    assert [one.name for one in store.collections()] == ["c"]


def test_a_run_that_begins_too_late_is_told_to_begin_again(pool: Pool) -> None:
    store = PostgresStore(pool)
    number = store.create_collection("c").id
    assert store.drop_unused(number)
    with pytest.raises(NotFoundError, match="run the same command again"):
        store.job_ledger.start_run(number, "ingest")
