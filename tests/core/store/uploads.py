"""Uploads in tests: a worker on a collection's queue, and the next upload that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.store.jobs.queue import QueueWorker, Waiting, queue_worker, waiting
from ragkit.store.jobs.worker import Job
from ragkit.store.postgres import PostgresStore

Pool = ConnectionPool[Connection[Any]]


@contextmanager
def upload_worker(
    pool: Pool, tenant: str = "default", collection: str = "c"
) -> Iterator[QueueWorker]:
    """Be a worker on the queue of a collection."""
    with queue_worker(pool, tenant, collection_number(pool, tenant, collection)) as worker:
        yield worker


def collection_number(pool: Pool, tenant: str, collection: str) -> int:
    """Return the number of a collection."""
    store = PostgresStore(pool, tenant=tenant)
    return next(row.id for row in store.collections() if row.name == collection)


def next_upload(worker: QueueWorker, *, alone: bool = False) -> Job | None:
    """Take the next upload, if one waits."""
    files = worker.next_files(1, alone=alone)
    return files[0].job if files else None


def take_upload(worker: QueueWorker, *, alone: bool = False) -> Job:
    """Take the next upload, which waits."""
    job = next_upload(worker, alone=alone)
    assert job is not None
    return job


def source_of(job: Job) -> int:
    """Return the number that an upload's file is stored under."""
    assert job.upload is not None
    return job.upload.source


@contextmanager
def first_upload(pool: Pool) -> Iterator[tuple[Waiting, QueueWorker, Job]]:
    """Take the upload that has waited longest, whoever sent it."""
    queue = waiting(pool)[0]
    with queue_worker(pool, queue.tenant, queue.collection) as worker:
        yield queue, worker, take_upload(worker)
