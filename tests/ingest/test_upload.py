"""One upload's way into its collection, in this process, with an embedder that knows no meaning."""

import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import pytest
from pydantic import SecretStr

from ragkit.errors import IngestError, NotFoundError
from ragkit.ingest_options import IngestOptions
from ragkit.settings import Settings
from ragkit.store.open import Database, open_database
from ragkit.store.sharing import Change, Shares
from ragkit.store.sources import Sources, Upload
from ragkit.store.upload_worker import TakenUpload, UploadWorker
from ragkit.store.uploads import UploadJobs
from ragkit.testing.embedder import FakeEmbedder
from ragkit_ingest.sandbox import ParserPool
from ragkit_ingest.steps import Steps
from ragkit_ingest.upload import BrokenOff, Uploads
from ragkit_ingest.worker import Shift


@dataclass
class Bench:
    """The parts of a worker, with its hand on the stop."""

    database: Database
    queue: UploadWorker
    uploads: Uploads
    stop: threading.Event
    parsers: ParserPool

    def taken(self, name: str, data: bytes, *, collection: str = "c") -> TakenUpload:
        """Upload a file and take its job."""
        sources = Sources(self.database.pool, "default")
        sources.keep(collection, [Upload(name, io.BytesIO(data))], principal="p")
        job = self.queue.claim()
        assert job is not None
        return job


@pytest.fixture
def bench(fresh_database: str) -> Iterator[Bench]:
    settings = Settings(database_url=SecretStr(fresh_database))
    embedder = FakeEmbedder()
    embedder.load()
    stop = threading.Event()
    with (
        open_database(settings) as database,
        ParserPool(1) as parsers,
        database.pool.connection() as conn,
    ):
        database.store("default").create_collection("c")
        queue = UploadWorker(conn)
        steps = Steps(embedder, "f", settings, IngestOptions())
        yield Bench(
            database,
            queue,
            Uploads(database, lambda store, name: steps, parsers, queue, stop),
            stop,
            parsers,
        )
        queue.close()


def masking_uploads(bench: Bench) -> Uploads:
    embedder = FakeEmbedder()
    embedder.load()
    steps = Steps(embedder, "f", Settings(), IngestOptions(mask="email"))
    of = (bench.parsers, bench.queue, bench.stop)
    return Uploads(bench.database, lambda store, name: steps, *of)


def test_a_file_becomes_a_document_and_its_job_counts_the_chunks(bench: Bench) -> None:
    text = "\n\n".join(f"Paragraph {n} is about wing {n}. " * 6 for n in range(30))
    job = bench.taken("Plan.md", f"# The plan\n\n{text}".encode())
    said = bench.uploads.take_in(job)
    done = UploadJobs(bench.database.pool, "default").get(job.id)
    assert done.document is not None
    document = bench.database.store("default").document(done.document)
    assert (document.uri, document.title) == ("upload:Plan.md", "The plan")
    assert done.state == "done"
    assert done.done == done.total == document.chunks > 16
    assert said == f"document {document.id}, version 1, {document.chunks} chunks"
    told = bench.database.store("default").job_ledger.job(job.id).figures
    assert (told["bytes"], told["chunks"]) == (len(f"# The plan\n\n{text}"), document.chunks)
    with bench.database.pool.connection() as conn:
        size = conn.execute("SELECT bytes FROM document").fetchone()
    assert size == (len(f"# The plan\n\n{text}"),)
    assert sorted(told["seconds"]) == ["embed", "parse", "split", "write"]
    assert all(0 < seconds < 60 for seconds in told["seconds"].values())
    assert "notes" not in told, "nothing was left out or masked"


def test_a_title_is_the_files_name_where_the_text_has_none(bench: Bench) -> None:
    job = bench.taken("休假 2025.txt", "每人二十八天。".encode())
    bench.uploads.take_in(job)
    (document,) = bench.database.store("default").documents("c")
    assert (document.title, document.language) == ("休假 2025", "zh")


def test_what_was_masked_is_counted_with_the_job(bench: Bench) -> None:
    job = bench.taken("a.txt", b"Ask ann@example.com or bob@example.com.")
    masking_uploads(bench).take_in(job)
    told = bench.database.store("default").job_ledger.job(job.id).figures
    assert told["notes"] == {"masked email": 2}
    assert bench.database.store("default").text(1) == "Ask [EMAIL] or [EMAIL]."


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.exe", b"MZ", "'a.exe' cannot be read: .exe is none of the formats"),
        ("a.txt", b"", "the file is empty (0 bytes)"),
        ("a.pdf", b"no", "not really a PDF"),
    ],
)
def test_what_cannot_be_read_says_why(bench: Bench, name: str, data: bytes, reason: str) -> None:
    with pytest.raises(IngestError, match="parse: ") as caught:
        bench.uploads.take_in(bench.taken(name, data))
    assert reason in caught.value.reason


def test_the_same_bytes_are_not_embedded_again(bench: Bench) -> None:
    bench.uploads.take_in(bench.taken("a.txt", b"The same."))
    again = bench.taken("a.txt", b"The same.")
    assert bench.uploads.take_in(again) == "document 1 is unchanged"
    job = UploadJobs(bench.database.pool, "default").get(again.id)
    assert (job.state, job.document, job.total) == ("done", 1, 0)


def test_an_upload_that_is_overtaken_is_given_up(bench: Bench) -> None:
    slow = bench.taken("a.txt", b"one")
    bench.uploads.take_in(bench.taken("a.txt", b"two"))
    with pytest.raises(NotFoundError):
        bench.uploads.take_in(slow)
    assert bench.database.store("default").text(1) == "two"


def test_a_collection_that_is_deleted_meanwhile_ends_the_work(bench: Bench) -> None:
    job = bench.taken("a.txt", b"one")
    bench.database.store("default").delete_collection("c")
    with pytest.raises(NotFoundError):
        bench.uploads.take_in(job)


def test_work_is_broken_off_before_the_next_chunks(bench: Bench) -> None:
    job = bench.taken("a.txt", b"one")
    bench.stop.set()
    with pytest.raises(BrokenOff):
        bench.uploads.take_in(job)
    assert bench.database.store("default").documents("c") == []


def test_a_job_that_another_worker_took_is_broken_off(bench: Bench) -> None:
    job = bench.taken("a.txt", b"one")
    bench.queue.give_back([bench.queue.number])
    with pytest.raises(BrokenOff):
        bench.uploads.take_in(job)


class Defective:
    """What has a defect, whose error quotes the document."""

    def take_in(self, job: TakenUpload) -> str:
        raise ValueError(f"the canary of {job.name} sings")


def test_a_defect_is_tried_again_then_told_without_the_documents_text(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = FakeEmbedder()
    settings = Settings(jobs=1)
    steps = Steps(embedder, "f", settings, IngestOptions())
    shift = Shift(bench.database, settings, lambda store, name: steps, [])
    job: TakenUpload | None = bench.taken("a.txt", b"one")
    tries = 0
    while job is not None:
        tries += 1
        shift.do(bench.queue, cast(Uploads, Defective()), job)
        job = bench.queue.claim()
    assert tries == 3
    (failed,) = UploadJobs(bench.database.pool, "default").page(limit=9)
    assert (failed.state, failed.stage) == ("failed", "worker")
    assert failed.reason == "ValueError: the worker's log says where"
    assert "in take_in" in caplog.text
    assert "canary of" not in caplog.text.replace('raise ValueError(f"the canary of', "")


def test_a_file_whose_sender_is_shut_out_meanwhile_fails_and_says_why(bench: Bench) -> None:
    database = bench.database
    steps = Steps(FakeEmbedder(), "f", Settings(), IngestOptions())
    shift = Shift(database, Settings(jobs=1), lambda store, name: steps, [])
    sources = Sources(database.pool, "default", ("user:p",))
    (number,) = sources.keep("c", [Upload("a.txt", io.BytesIO(b"one"))], principal="p")
    Shares(database.pool, "default").collection("c", Change(add=("user:ada",)))
    job = bench.queue.claim()
    assert job is not None
    shift.do(bench.queue, bench.uploads, job)
    failed = UploadJobs(database.pool, "default").get(number)
    assert (failed.state, failed.stage) == ("failed", "store")
    assert failed.reason == "the collection is not open any more to whoever sent the file"
    assert database.store("default").documents("c") == []
