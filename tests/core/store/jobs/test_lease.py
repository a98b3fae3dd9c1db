"""A job is held by a token: whoever lost it writes nothing, and what was deleted stays deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import LeaseLostError, UsageError
from ragkit.store.jobs.worker import MAX_ATTEMPTS, MAX_TOGETHER, Job, Worker
from ragkit.store.postgres import PostgresStore
from ragkit.testing import new_document
from ragkit.types import EmbeddingSpace, NewDocument

Pool = ConnectionPool[Connection[Any]]
SPACE = EmbeddingSpace("model", "1", 4)
ROW = np.eye(4, dtype=np.float32)[:1]


@pytest.fixture
def store(pool: Pool) -> PostgresStore:
    made = PostgresStore(pool)
    made.create_collection("c")
    return made


@pytest.fixture
def workers(store: PostgresStore) -> Iterator[tuple[Worker, Worker]]:
    ledger = store.job_ledger
    with ledger.worker(1) as one, ledger.worker(1) as two:
        yield one, two


def version(text: str, uri: str = "x") -> NewDocument:
    return replace(new_document(uri, text), content_hash=text)


def put(store: PostgresStore, text: str, job: Job | None, uri: str = "x") -> int:
    figures = {"chunks": 1}
    return store.put_document("c", version(text, uri), SPACE, ROW, job=job, figures=figures).id


def only(jobs: list[Job]) -> Job:
    (job,) = jobs
    return job


def let_leases_run_out(pool: Pool) -> None:
    with pool.connection() as conn:
        conn.execute("UPDATE job SET lease_until = now() - interval '1 second'")


def test_a_worker_stopped_past_its_lease_is_refused(
    pool: Pool, store: PostgresStore, workers: tuple[Worker, Worker]
) -> None:
    slow, quick = workers
    slow.enqueue([("x", "one")])
    stale = only(slow.claim(["x"], limit=1))
    let_leases_run_out(pool)
    taken = only(quick.claim(["x"], limit=1))
    assert (taken.id, taken.attempts) == (stale.id, 2)
    assert taken.token != stale.token
    with pytest.raises(LeaseLostError) as error:
        put(store, "one", stale)
    assert str(error.value) == (
        "the job of 'x' was cancelled, begun anew or taken by another worker: nothing was written"
        " for it"
    )
    assert store.documents("c") == []
    with pytest.raises(LeaseLostError):
        slow.fail(stale, "parse", "late")
    with pytest.raises(LeaseLostError):
        slow.finish(stale)
    slow.release(stale)
    assert quick.outcomes(["x"])["x"].state == "running"
    put(store, "one", taken)
    outcome = quick.outcomes(["x"])["x"]
    assert (outcome.state, outcome.content_hash, outcome.is_held) == ("done", "one", False)
    with pytest.raises(LeaseLostError):
        put(store, "one", taken)  # done is done
    assert store.job_ledger.job(taken.id).figures == {"chunks": 1}


def test_a_lease_that_ran_out_and_was_taken_by_nobody_is_good(
    pool: Pool, store: PostgresStore, workers: tuple[Worker, Worker]
) -> None:
    worker, _ = workers
    worker.enqueue(["x"])
    job = only(worker.claim(["x"], limit=1))
    let_leases_run_out(pool)
    assert not worker.outcomes(["x"])["x"].is_held
    worker.heartbeat()
    assert worker.outcomes(["x"])["x"].is_held
    let_leases_run_out(pool)
    assert put(store, "one", job)


def test_what_was_deleted_while_it_was_embedded_stays_deleted(
    store: PostgresStore, workers: tuple[Worker, Worker]
) -> None:
    worker, _ = workers
    number = put(store, "one", None)
    for delete in (
        lambda: store.delete_document("c", number),
        lambda: store.delete_uris("c", ["x"]),
    ):
        worker.enqueue([("x", "two")])
        job = only(worker.claim(["x"], limit=1))
        delete()
        with pytest.raises(LeaseLostError):
            put(store, "two", job)
        with pytest.raises(LeaseLostError):
            store.put_copy("c", "x", ("two", "test"), number, job=job)
        assert store.documents("c") == []
        outcome = worker.outcomes(["x"])["x"]
        assert (outcome.state, outcome.reason) == ("cancelled", "the document was deleted")
        # What was read before the deletion opens nothing; what is read after it does.
        worker.enqueue([("x", "two")], age_s=60)
        assert worker.claim(["x"], limit=1) == []


def test_a_newer_file_takes_the_job_away_and_an_older_reading_does_not(
    store: PostgresStore, workers: tuple[Worker, Worker]
) -> None:
    old, new = workers
    job = only(old.take([("x", "one")]))
    assert new.take([("x", "one")]) == []  # the same content is under way
    newer = only(new.take([("x", "two")]))
    with pytest.raises(LeaseLostError):
        put(store, "one", job)
    assert old.take([("x", "one")], age_s=60) == []
    assert old.claim([("x", "one")], limit=1) == []
    put(store, "two", newer)
    assert old.take([("x", "one")], age_s=60) == []
    outcome = old.outcomes(["x"])["x"]
    assert (outcome.state, outcome.content_hash) == ("done", "two")
    assert store.text(store.named("c")["x"]) == "two"


def test_jobs_are_taken_in_their_order_and_each_once(workers: tuple[Worker, Worker]) -> None:
    one, two = workers
    for name in "cab":
        one.enqueue([name])
    assert [job.uri for job in one.next(2)] == ["c", "a"]
    assert [job.uri for job in two.next(2)] == ["b"]
    assert one.next(2) == []


def test_the_stage_told_last_is_that_at_which_the_program_ended(
    pool: Pool, workers: tuple[Worker, Worker]
) -> None:
    worker, other = workers
    for attempt in range(1, MAX_ATTEMPTS + 1):
        worker.enqueue([("x", "one")])
        job = only(worker.claim(["x"], limit=1))
        assert job.attempts == attempt
        worker.stage([job], "embed")
        let_leases_run_out(pool)
    assert other.next(1) == []
    outcome = other.outcomes(["x"])["x"]
    assert (outcome.state, outcome.stage) == ("failed", "embed")
    assert outcome.reason == "the program ended while at work on this file, 3 times"
    other.enqueue([("x", "one")])  # the same file: it stays set aside
    assert other.claim(["x"], limit=1) == []
    other.enqueue([("x", "two")])
    assert only(other.claim(["x"], limit=1)).attempts == 1


def test_a_file_that_was_at_hand_when_programs_ended_is_taken_alone_before_it_is_set_aside(
    pool: Pool, workers: tuple[Worker, Worker], caplog: pytest.LogCaptureFixture
) -> None:
    worker, other = workers
    files = [("x", "one"), ("y", "one")]
    for _ in range(MAX_TOGETHER):
        assert {job.uri for job in worker.take(files)} == {"x", "y"}
        let_leases_run_out(pool)
    assert other.take(files) == []
    assert {outcome.is_suspect for outcome in other.outcomes(["x", "y"]).values()} == {True}
    for attempt in range(1, MAX_ATTEMPTS + 1):
        job = only(worker.take([("x", "one")], alone=True))
        assert job.attempts == MAX_TOGETHER + attempt
        assert not other.outcomes(["x"])["x"].is_suspect
        let_leases_run_out(pool)
    assert other.take([("x", "one")], alone=True) == []
    outcome = other.outcomes(["x"])["x"]
    assert outcome.state == "failed"
    assert outcome.reason == "the program ended while at work on this file, 5 times"
    assert "5 times while at work on it: `ragkit jobs retry" in caplog.text
    assert other.take([("x", "one")], alone=True) == [], "it stays set aside"
    other.finish(only(other.take([("y", "one")], alone=True)))
    assert other.outcomes(["y"])["y"].state == "done"
    assert only(other.take([("x", "two")])).attempts == 1


def test_work_that_was_not_begun_or_not_needed(
    store: PostgresStore, workers: tuple[Worker, Worker]
) -> None:
    worker, other = workers
    job = only(worker.take([("x", "one")]))
    worker.release(job)
    job = only(other.take([("x", "one")]))
    assert job.attempts == 1
    other.finish(job)
    outcome = other.outcomes(["x"])["x"]
    assert (outcome.state, outcome.content_hash) == ("done", "one")
    assert store.documents("c") == []


def test_the_keeper_lists_retries_and_cancels(
    store: PostgresStore, workers: tuple[Worker, Worker]
) -> None:
    worker, _ = workers
    ledger = store.job_ledger
    worker.enqueue(["a", "b", "d"])
    a, b, d = worker.claim(["a", "b", "d"], limit=3)
    worker.fail(b, "parse", "truncated", {"seconds": {"parse": 1.5}})
    assert [job.uri for job in ledger.jobs(collection="c")] == ["d", "b", "a"]
    assert [job.uri for job in ledger.jobs(before=d.id, limit=1)] == ["b"]
    assert [job.uri for job in ledger.jobs(state="failed")] == ["b"]
    shown = ledger.job(b.id)
    assert (shown.stage, shown.reason, shown.figures) == (
        *("parse", "truncated"),
        {"seconds": {"parse": 1.5}},
    )
    assert shown.host
    assert shown.started_at is not None
    assert shown.finished_at is not None
    assert shown.finished_at >= shown.started_at
    ledger.cancel([d.id])
    with pytest.raises(LeaseLostError):
        put(store, "late", d, "d")
    put(store, "one", a, "a")
    with pytest.raises(
        UsageError, match=r"^job 1 \(a\) is done and cannot be cancelled; delete wha"
    ):
        ledger.cancel([a.id])
    with pytest.raises(UsageError, match="has failed: nothing is to be cancelled"):
        ledger.cancel([b.id])
    with pytest.raises(UsageError, match="is done: only failed and cancelled ones are retried"):
        ledger.retry([b.id, a.id])
    assert ledger.counts() == {"c": {"done": 1, "failed": 1, "cancelled": 1}}
    assert ledger.retry_all("c") == [b.id, d.id]
    assert [job.attempts for job in worker.next(9)] == [1, 1]


def test_runs_and_their_jobs(store: PostgresStore) -> None:
    ledger = store.job_ledger
    first = ledger.start_run(1, "ingest a b")
    with ledger.worker(1, run=first) as worker:
        worker.take(["x", "y"])
    ledger.end_run(first, {"embedded": 7})
    second = ledger.start_run(1, "worker")
    assert [run.id for run in ledger.runs(collection="c")] == [second, first]
    run = ledger.run(first)
    assert (run.command, run.figures, run.collection) == ("ingest a b", {"embedded": 7}, "c")
    assert run.ended_at is not None
    assert ledger.run(second).ended_at is None
    assert sorted(job.uri for job in ledger.jobs(run=first)) == ["x", "y"]
    store.delete_collection("c")
    ledger.end_run(second, {})
    assert ledger.runs() == []
