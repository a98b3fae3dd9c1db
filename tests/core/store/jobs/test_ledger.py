"""The job ledger on the real database, with workers that live, hang and die."""

from typing import Any

import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import DatabaseError
from ragkit.store.connection.connect import connect
from ragkit.store.jobs.ledger import Ledger
from ragkit.store.jobs.worker import MAX_ATTEMPTS, Outcome, Worker
from ragkit.store.jobs.worker_connection import WorkerConnection
from ragkit.store.postgres import PostgresStore
from tests.core.store.conftest import die


@pytest.fixture
def pool(pool: ConnectionPool[Connection[Any]]) -> ConnectionPool[Connection[Any]]:
    PostgresStore(pool).create_collection("c")
    return pool


@pytest.fixture
def ledger(pool: ConnectionPool[Connection[Any]]) -> Ledger:
    return Ledger(pool, "default")


def dead_worker(database: str) -> Worker:
    """Return a worker that has taken "x" and whose connection is gone, as after kill -9."""
    conn = connect(database)
    worker = Worker(WorkerConnection(conn), "default", 1)
    worker.enqueue(["x"])
    assert [job.uri for job in worker.claim(["x"], limit=1)] == ["x"]
    die(conn, worker.number)
    return worker


def test_a_job_is_taken_once(ledger: Ledger) -> None:
    with ledger.worker(1) as one, ledger.worker(1) as two:
        one.enqueue(["x", "y", "x"])
        assert [job.uri for job in one.claim(["x", "y"], limit=1)] == ["x"]
        assert [job.uri for job in two.claim(["x", "y"], limit=9)] == ["y"]
        assert one.claim(["x", "y"], limit=9) == []


def test_a_connection_that_is_lost_is_one_line_of_ours(ledger: Ledger, fresh_database: str) -> None:
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with (  # noqa: PT012  the worker's own statement is what fails
        pytest.raises(DatabaseError, match="database failed or cannot be reached"),
        ledger.worker(1) as worker,
    ):
        with connect(fresh_database) as conn:
            conn.execute(kill)
        worker.enqueue(["x"])


def test_a_failure_keeps_its_stage_and_reason_until_the_next_try(ledger: Ledger) -> None:
    with ledger.worker(1) as worker:
        worker.enqueue(["x"])
        (job,) = worker.claim(["x"], limit=1)
        worker.fail(job, "parse", "truncated")
        assert worker.outcomes(["x"]) == {"x": Outcome("failed", "parse", "truncated")}
        worker.enqueue(["x"])
        assert worker.outcomes(["x"]) == {"x": Outcome("queued", "", "")}


def test_work_broken_off_is_given_back_and_costs_no_attempt(ledger: Ledger) -> None:
    for _ in range(MAX_ATTEMPTS + 2):
        with ledger.worker(1) as worker:
            worker.enqueue(["x"])
            assert len(worker.claim(["x"], limit=1)) == 1


def test_a_dead_workers_job_is_free_at_once(ledger: Ledger, fresh_database: str) -> None:
    dead_worker(fresh_database)
    with ledger.worker(1) as worker:
        worker.enqueue(["x"])
        assert [job.uri for job in worker.claim(["x"], limit=1)] == ["x"]


def test_a_job_that_kills_its_worker_again_and_again_is_set_aside(
    ledger: Ledger, fresh_database: str
) -> None:
    for _ in range(MAX_ATTEMPTS):
        dead_worker(fresh_database)
    with ledger.worker(1) as worker:
        worker.enqueue(["x"])
        assert worker.claim(["x"], limit=1) == []
        outcome = worker.outcomes(["x"])["x"]
        assert (outcome.state, outcome.stage) == ("failed", "worker")
        assert f"{MAX_ATTEMPTS} times" in outcome.reason


def test_a_lease_that_ran_out_is_free_and_a_renewed_one_is_not(
    ledger: Ledger, pool: ConnectionPool[Connection[Any]]
) -> None:
    with ledger.worker(1) as hanging, ledger.worker(1) as other:
        hanging.enqueue(["x"])
        hanging.claim(["x"], limit=1)
        _let_leases_run_out(pool)
        hanging.heartbeat()
        assert other.claim(["x"], limit=1) == []
        _let_leases_run_out(pool)
        assert [job.uri for job in other.claim(["x"], limit=1)] == ["x"]


def _let_leases_run_out(pool: ConnectionPool[Connection[Any]]) -> None:
    with pool.connection() as conn:
        conn.execute("UPDATE job SET lease_until = now() - interval '1 second'")
