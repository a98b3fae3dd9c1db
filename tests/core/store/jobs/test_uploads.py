"""Uploaded files on the real database: kept in parts, replaced, sent twice, taken in turn."""

import hashlib
import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import BusyError, LeaseLostError, NotFoundError, UsageError
from ragkit.store.connection.connect import connect
from ragkit.store.jobs.queue import QueueWorker, waiting
from ragkit.store.jobs.upload_bytes import PART_BYTES, Sources, Upload, clean_name, media_type
from ragkit.store.jobs.uploads import UploadJobs, count_open
from ragkit.store.jobs.worker import MAX_ATTEMPTS, MAX_TOGETHER, Job
from ragkit.store.jobs.worker_connection import WorkerConnection
from ragkit.store.postgres import PostgresStore
from ragkit.types import Chunk, Document, EmbeddingSpace, NewDocument
from tests.core.store.conftest import die
from tests.core.store.uploads import next_upload, source_of, take_upload, upload_worker

SPACE = EmbeddingSpace("m", "1", 2)
Pool = ConnectionPool[Connection[Any]]


@pytest.fixture
def pool(pool: Pool) -> Pool:
    PostgresStore(pool).create_collection("c")
    return pool


@pytest.fixture
def worker(pool: Pool) -> Iterator[QueueWorker]:
    with upload_worker(pool) as worker:
        yield worker


def upload(text: str, name: str = "a.txt") -> Upload:
    return Upload(name, io.BytesIO(text.encode()))


def keep(pool: Pool, *uploads: Upload, tenant: str = "default", **options: Any) -> list[int]:
    return Sources(pool, tenant).keep("c", uploads, principal="p", **options)


def made(text: str, uri: str = "upload:a.txt") -> NewDocument:
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return NewDocument(uri, sha256, "f", text, (Chunk(0, 0, len(text), 1),))


def store(pool: Pool, job: Job, text: str) -> Document:
    return PostgresStore(pool).put_document(
        "c",
        made(text, job.uri),
        SPACE,
        np.array([[1, 0]], np.float32),
        job=job,
        source=source_of(job),
    )


def kept(pool: Pool) -> list[int]:
    with pool.connection() as conn:
        return [row[0] for row in conn.execute("SELECT id FROM source ORDER BY id")]


def test_bytes_come_back_as_they_were(pool: Pool, worker: QueueWorker) -> None:
    data = bytes(range(256)) * 4096 * 2 + b"end"  # two parts and a bit
    keep(pool, Upload("a.bin", io.BytesIO(data)))
    job = take_upload(worker)
    sources = Sources(pool, "default")
    source = sources.get(source_of(job))
    assert (source.name, source.bytes) == ("a.bin", 2 * PART_BYTES + 3)
    assert source.sha256 == hashlib.sha256(data).hexdigest()
    parts = list(sources.parts(source))
    assert [len(part) for part in parts] == [PART_BYTES, PART_BYTES, 3]
    assert b"".join(parts) == data


def test_a_file_that_is_replaced_while_it_is_read_breaks_off(
    pool: Pool, worker: QueueWorker
) -> None:
    keep(pool, upload("x" * PART_BYTES + "y"))
    sources = Sources(pool, "default")
    parts = sources.parts(sources.get(source_of(take_upload(worker))))
    assert len(next(parts)) == PART_BYTES
    PostgresStore(pool).delete_collection("c")
    with pytest.raises(NotFoundError, match="is gone"):
        next(parts)


def test_another_tenant_has_no_such_file(pool: Pool, worker: QueueWorker) -> None:
    keep(pool, upload("x"))
    with pytest.raises(NotFoundError):
        Sources(pool, "other").get(source_of(take_upload(worker)))


def test_a_job_goes_from_queued_to_done_with_its_document(pool: Pool, worker: QueueWorker) -> None:
    (number,) = keep(pool, upload("x"))
    jobs = UploadJobs(pool, "default")
    assert jobs.get(number).state == "queued"
    assert count_open(pool) == {"queued": 1, "running": 0}
    job = take_upload(worker)
    assert (job.id, job.uri) == (number, "upload:a.txt")
    assert worker.progress([(job, 1, 3)]) == [True]
    running = jobs.get(number)
    assert (running.state, running.done, running.total) == ("running", 1, 3)
    assert count_open(pool) == {"queued": 0, "running": 1}
    document = store(pool, job, "x")
    done = jobs.get(number)
    assert (done.state, done.document, done.attempts) == ("done", document.id, 1)
    assert next_upload(worker) is None


def test_a_new_upload_of_a_name_replaces_document_and_file(pool: Pool, worker: QueueWorker) -> None:
    keep(pool, upload("one"))
    first = store(pool, take_upload(worker), "one")
    keep(pool, upload("two"))
    second = store(pool, take_upload(worker), "two")
    assert (first.id, first.version) == (second.id, 1)
    assert second.version == 2
    source = Sources(pool, "default").of_document(second.id)
    assert kept(pool) == [source.id]
    assert b"".join(Sources(pool, "default").parts(source)) == b"two"


def test_a_slow_earlier_upload_gives_way_to_a_later_one(pool: Pool, worker: QueueWorker) -> None:
    (number, _) = keep(pool, upload("one"), upload("two"))
    slow, quick = take_upload(worker), take_upload(worker)
    document = store(pool, quick, "two")
    with pytest.raises(NotFoundError, match="a later one has taken its place"):
        store(pool, slow, "one")
    worker.replaced(slow)
    job = UploadJobs(pool, "default").get(number)
    assert (job.state, job.document) == ("done", document.id)
    assert PostgresStore(pool).text(document.id) == "two"
    assert kept(pool) == [source_of(quick)]


@pytest.mark.parametrize("beside", [False, True])
def test_an_upload_that_gave_way_names_no_document_that_its_sender_may_not_read(
    pool: Pool, worker: QueueWorker, beside: bool
) -> None:
    """Between the two, somebody else's document came to the place, and perhaps one's own beside."""
    sources = Sources(pool, "default", readers=("user:p",))
    (number, _) = sources.keep("c", [upload("one"), upload("two")], principal="p")
    slow, quick = take_upload(worker), take_upload(worker)
    hidden = PostgresStore(pool).put_document(
        "c", made("theirs", slow.uri), SPACE, np.array([[1, 0]], np.float32)
    )
    with pool.connection() as conn:
        conn.execute("UPDATE document SET owner = 'user:q', readers = '{}'")
    own = store(pool, quick, "two").id if beside else None
    assert own != hidden.id
    worker.replaced(slow)
    assert UploadJobs(pool, "default").get(number).document == own


def test_a_later_upload_that_waits_outlives_an_earlier_one(pool: Pool, worker: QueueWorker) -> None:
    keep(pool, upload("one"), upload("two"))
    store(pool, take_upload(worker), "one")
    later = take_upload(worker)
    assert kept(pool) == [1, source_of(later)]
    assert store(pool, later, "two").version == 2
    assert kept(pool) == [source_of(later)]


def test_a_file_read_from_a_path_takes_the_uploads_place(pool: Pool, worker: QueueWorker) -> None:
    keep(pool, upload("one"))
    job = take_upload(worker)
    document = store(pool, job, "one")
    one = np.array([[1, 0]], np.float32)
    PostgresStore(pool).put_document("c", made("from a path", job.uri), SPACE, one)
    assert kept(pool) == []
    with pytest.raises(NotFoundError, match="read from a path"):
        Sources(pool, "default").of_document(document.id)


def test_the_same_bytes_again_change_nothing_but_the_file(pool: Pool, worker: QueueWorker) -> None:
    keep(pool, upload("one"))
    document = store(pool, take_upload(worker), "one")
    keep(pool, upload("one"))
    job = take_upload(worker)
    content = hashlib.sha256(b"one").hexdigest()
    put_source = partial(PostgresStore(pool).put_source, "c", content)
    source = source_of(job)
    assert put_source(frozenset({"another pipeline"}), source=source, job=job) is None
    assert put_source(frozenset({"f", "earlier"}), source=source, job=job) == document.id
    assert PostgresStore(pool).document(document.id).version == 1
    assert UploadJobs(pool, "default").get(job.id).state == "done"
    assert kept(pool) == [source_of(job)]


def test_deleting_a_document_or_collection_deletes_its_file(
    pool: Pool, worker: QueueWorker
) -> None:
    keep(pool, upload("one"))
    document = store(pool, take_upload(worker), "one")
    PostgresStore(pool).delete_document("c", document.id)
    assert kept(pool) == []
    keep(pool, upload("one"))
    store(pool, take_upload(worker), "one")
    keep(pool, upload("two"))
    job = take_upload(worker)
    PostgresStore(pool).delete_collection("c")
    assert kept(pool) == []
    assert worker.progress([(job, 0, 1)]) == [False]
    with pytest.raises(LeaseLostError, match="nothing was written"):
        worker.replaced(job)


def test_a_failed_upload_keeps_its_reason_and_not_its_bytes(
    pool: Pool, worker: QueueWorker
) -> None:
    (number,) = keep(pool, upload("x"))
    worker.fail(take_upload(worker), "parse", "no text in it")
    job = UploadJobs(pool, "default").get(number)
    assert (job.state, job.stage, job.reason) == ("failed", "parse", "no text in it")
    assert kept(pool) == []


def test_document_named_is_the_one_replaced(pool: Pool, worker: QueueWorker) -> None:
    keep(pool, upload("one"))
    document = store(pool, take_upload(worker), "one")
    keep(pool, upload("two", "other name.txt"), document=document.id)
    job = take_upload(worker)
    assert job.uri == "upload:a.txt"
    assert store(pool, job, "two").id == document.id
    with pytest.raises(NotFoundError):
        keep(pool, upload("x"), document=99)


def test_a_key_gives_the_same_jobs_for_the_same_files(pool: Pool) -> None:
    first = keep(pool, upload("x"), upload("y", "b.txt"), key="k")
    assert keep(pool, upload("x"), upload("y", "b.txt"), key="k") == first
    assert keep(pool, upload("x"), upload("y", "b.txt"), key="other") != first
    with pytest.raises(BusyError, match="'k' was used for other files"):
        keep(pool, upload("z"), key="k")
    assert Sources(pool, "default").keep("c", [upload("z")], principal="q", key="k") != first


def test_a_key_is_free_again_when_its_time_is_over(pool: Pool) -> None:
    first = keep(pool, upload("x"), key="k")
    with pool.connection() as conn:
        conn.execute("UPDATE upload_key SET created_at = now() - interval '25 hours'")
    assert keep(pool, upload("z"), key="k") != first


def test_nothing_is_kept_when_one_of_the_files_cannot_be(pool: Pool) -> None:
    with pytest.raises(UsageError):
        keep(pool, upload("x"), upload("y", "no extension"))
    with pytest.raises(NotFoundError):
        Sources(pool, "default").keep("missing", [upload("x")], principal="p")
    assert kept(pool) == []


def test_a_dead_workers_upload_is_free_at_once_and_set_aside_after_it_was_taken_alone(
    pool: Pool, worker: QueueWorker, fresh_database: str
) -> None:
    (number,) = keep(pool, upload("x"))
    for attempt in range(MAX_TOGETHER + MAX_ATTEMPTS):
        alone = attempt >= MAX_TOGETHER
        conn = connect(fresh_database)
        dead = QueueWorker(WorkerConnection(conn), "default", worker.collection)
        assert next_upload(dead, alone=not alone) is None
        assert take_upload(dead, alone=alone).id == number
        assert next_upload(worker, alone=alone) is None
        die(conn, dead.number)
    assert next_upload(worker, alone=True) is None
    job_now = UploadJobs(pool, "default").get(number)
    assert (job_now.state, job_now.stage) == ("failed", "worker")
    assert job_now.attempts == MAX_TOGETHER + MAX_ATTEMPTS
    assert kept(pool) == []


def test_work_given_back_costs_no_attempt(pool: Pool) -> None:
    keep(pool, upload("x"))
    for _ in range(MAX_ATTEMPTS + 2):
        with upload_worker(pool) as worker:
            assert take_upload(worker).attempts == 1


def test_a_worker_that_lost_its_connection_gives_back_by_number(
    pool: Pool, worker: QueueWorker, fresh_database: str
) -> None:
    keep(pool, upload("x"))
    conn = connect(fresh_database)
    dead = QueueWorker(WorkerConnection(conn), "default", worker.collection)
    take_upload(dead)
    conn.close()
    worker.connection.give_back([dead.number])
    assert take_upload(worker).attempts == 1


def test_a_worker_that_gave_back_its_jobs_takes_no_others(pool: Pool, worker: QueueWorker) -> None:
    keep(pool, upload("x"))
    worker.connection.give_back([worker.number])
    assert next_upload(worker) is None


def test_what_failed_unexpectedly_is_tried_again_a_few_times(
    pool: Pool, worker: QueueWorker
) -> None:
    (number,) = keep(pool, upload("x"))
    tries = [
        worker.retry(take_upload(worker, alone=attempt >= MAX_TOGETHER), "worker", "why")
        for attempt in range(MAX_ATTEMPTS)
    ]
    assert tries == [True, True, False]
    assert UploadJobs(pool, "default").get(number).reason == "why"
    assert next_upload(worker) is None


def test_queues_of_all_tenants_are_listed(pool: Pool, worker: QueueWorker) -> None:
    for tenant in ("one", "two"):
        PostgresStore(pool, tenant=tenant).create_collection("c")
    keep(pool, upload("x"), upload("y"), tenant="one")
    keep(pool, upload("x"), tenant="two")
    keep(pool, upload("x"))
    take_upload(worker)
    rows = [
        (queue.tenant, queue.name, queue.uploads, queue.at_work, queue.places)
        for queue in waiting(pool)
    ]
    assert rows == [
        ("one", "c", 2, 0, {None}),
        ("two", "c", 1, 0, {None}),
        ("default", "c", 0, 1, set()),
    ]
    assert [queue.tenant for queue in waiting(pool, "two")] == ["two"]


def test_jobs_are_paged_latest_first_within_the_tenant_and_the_collections(pool: Pool) -> None:
    PostgresStore(pool).create_collection("d")
    PostgresStore(pool, tenant="other").create_collection("c")
    mine = keep(pool, *(upload("x", f"{n}.txt") for n in range(5)))
    keep(pool, upload("x"), tenant="other")
    other = Sources(pool, "default").keep("d", [upload("x")], principal="p")
    jobs = UploadJobs(pool, "default")
    first = [job.id for job in jobs.page(limit=4)]
    assert first == [*other, *reversed(mine[2:])]
    assert [job.id for job in jobs.page(limit=4, after=first[-1])] == [mine[1], mine[0]]
    assert [job.id for job in jobs.page(limit=9, collections=["d"])] == other
    assert jobs.page(limit=9, collections=[]) == []
    assert jobs.page(limit=9, state="done") == []
    with pytest.raises(NotFoundError):
        UploadJobs(pool, "other").get(mine[0])


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a.txt", "a.txt"),
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\docs\\报告 2024.PDF", "报告 2024.PDF"),
        ("a\nb\0c.txt", "abc.txt"),
        ("\u202etxt.exe.md", "txt.exe.md"),
        ("cafe\u0301.md", "caf\u00e9.md"),
    ],
)
def test_names_are_cleaned(raw: str, clean: str) -> None:
    assert clean_name(raw) == clean


@pytest.mark.parametrize("raw", ["", ".", "..", "folder/", "plain", "\0", "报" * 84 + ".txt"])
def test_names_that_cannot_be_used(raw: str) -> None:
    with pytest.raises(UsageError):
        clean_name(raw)


def test_only_harmless_types_are_named() -> None:
    names = ["a.pdf", "a.html", "a.svg", "a.TXT", "a.docx"]
    assert [media_type(name) for name in names] == [
        "application/pdf",
        "application/octet-stream",
        "application/octet-stream",
        "text/plain",
        "application/octet-stream",
    ]
