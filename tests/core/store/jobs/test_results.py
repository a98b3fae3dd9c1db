"""The results of several jobs are stored together, and each stands or falls by its own token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import UsageError
from ragkit.store.documents.write import Result
from ragkit.store.jobs.worker import Job, Worker
from ragkit.store.postgres import PostgresStore
from ragkit.testing import new_document
from ragkit.text.analyse import ANALYSER, FIRST_ANALYSER
from ragkit.text.analysers import ChunkTerms
from ragkit.text.terms import Terms
from ragkit.types import EmbeddingSpace

Pool = ConnectionPool[Connection[Any]]
SPACE = EmbeddingSpace("model", "1", 4)


@pytest.fixture
def store(pool: Pool) -> PostgresStore:
    made = PostgresStore(pool)
    made.create_collection("c")
    return made


@pytest.fixture
def worker(store: PostgresStore) -> Iterator[Worker]:
    with store.job_ledger.worker(1) as worker:
        yield worker


def result(job: Job, *texts: str) -> Result:
    document = replace(new_document(job.uri, *texts), content_hash=job.content_hash)
    vectors = np.eye(4, dtype=np.float32)[: len(texts)]
    return Result(job, document, vectors, {"chunks": len(texts)})


def rows(pool: Pool, table: str) -> int:
    with pool.connection() as conn:
        found = conn.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    assert found is not None
    return int(found[0])


def test_a_job_that_was_lost_undoes_none_of_the_others(
    pool: Pool, store: PostgresStore, worker: Worker
) -> None:
    jobs = worker.take([("z", "1"), ("x", "1"), ("y", "1")])
    x, y, z = sorted(jobs, key=lambda job: job.uri)
    store.delete_uris("c", ["y"])
    stored = store.put_results(
        "c", [result(z, "wing", "tail"), result(y, "lost wing"), result(x, "tail")], SPACE
    )
    assert [one and (one.uri, one.chunks) for one in stored] == [("z", 2), None, ("x", 1)]
    assert sorted(one.uri for one in store.documents("c")) == ["x", "z"]
    states = {uri: one.state for uri, one in worker.outcomes(["x", "y", "z"]).items()}
    assert states == {"x": "done", "y": "cancelled", "z": "done"}
    assert store.job_ledger.job(z.id).figures == {"chunks": 2}
    assert (rows(pool, "lexical_segment"), rows(pool, "lexical_posting")) == (1, 2)
    with store.snapshot() as reader:
        found = reader.postings("c", ["wing", "tail", "lost"])
    assert found.chunks == 3
    assert {term: one.containing for term, one in found.terms.items()} == {"wing": 1, "tail": 2}


def test_two_readings_of_a_file_that_come_together_leave_the_newer_one(
    store: PostgresStore, worker: Worker
) -> None:
    (older,) = worker.take([("x", "one")])
    (newer,) = worker.take([("x", "two")])
    assert older.id == newer.id
    stored = store.put_results("c", [result(newer, "two"), result(older, "one")], SPACE)
    assert [one and one.version for one in stored] == [1, None]
    assert store.known("c") == {"x": ("two", "test")}


def test_nothing_is_written_where_all_jobs_were_lost(
    pool: Pool, store: PostgresStore, worker: Worker
) -> None:
    jobs = worker.take([("x", "1"), ("y", "1")])
    store.job_ledger.cancel([job.id for job in jobs])
    assert store.put_results("c", [result(job, "wing") for job in jobs], SPACE) == [None, None]
    assert store.put_results("c", [], SPACE) == []
    assert (rows(pool, "document"), rows(pool, "lexical_segment")) == (0, 0)


def test_none_is_stored_where_one_cannot_be(store: PostgresStore, worker: Worker) -> None:
    x, y = worker.take([("x", "1"), ("y", "1")])
    bad = replace(result(y, "wing"), vectors=np.full((1, 4), np.nan, np.float32))
    with pytest.raises(UsageError, match="NaN"):
        store.put_results("c", [result(x, "tail"), bad], SPACE)
    assert store.documents("c") == []
    assert worker.outcomes(["x"])["x"].state == "running"


def test_terms_go_with_their_collection(pool: Pool, store: PostgresStore, worker: Worker) -> None:
    (job,) = worker.take([("x", "1")])
    store.put_results("c", [result(job, "wing")], SPACE)
    assert rows(pool, "lexical_posting") == 1
    store.delete_collection("c")
    assert (rows(pool, "lexical_posting"), rows(pool, "lexical_segment")) == (0, 0)


def test_terms_that_are_known_are_stored_and_those_of_another_analyser_made_anew(
    pool: Pool, store: PostgresStore, worker: Worker
) -> None:
    known = Terms.of([["known", "known", "other"]])
    jobs = worker.take([("x", "1"), ("y", "1")])
    x, y = sorted(jobs, key=lambda job: job.uri)
    for job, analyser in ((x, ANALYSER), (y, FIRST_ANALYSER)):
        terms = ChunkTerms(analyser, known)
        assert store.put_results("c", [replace(result(job, "the wings"), terms=terms)], SPACE)
    with pool.connection() as conn:
        stored = conn.execute("SELECT term FROM lexical_posting ORDER BY 1").fetchall()
        lengths = conn.execute("SELECT terms FROM chunk ORDER BY id").fetchall()
    assert [row[0] for row in stored] == ["known", "other", "the", "wing"]
    assert [row[0] for row in lengths] == [3, 2]


def test_terms_of_some_documents_do_not_keep_those_of_others_from_being_made(
    pool: Pool, store: PostgresStore, worker: Worker
) -> None:
    jobs = worker.take([("x", "1"), ("y", "1")])
    x, y = sorted(jobs, key=lambda job: job.uri)
    made = ChunkTerms(ANALYSER, Terms.of([["tail"]]))
    store.put_results("c", [replace(result(x, "tail"), terms=made), result(y, "wing")], SPACE)
    with pool.connection() as conn:
        stored = conn.execute("SELECT term FROM lexical_posting ORDER BY 1").fetchall()
    assert [row[0] for row in stored] == ["tail", "wing"]
