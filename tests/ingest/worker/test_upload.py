"""Uploads on their way into their collections, with an embedder that knows no meaning."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event

import pytest
from pydantic import SecretStr

from ragkit.knowledge.embedders import Embedders
from ragkit.settings.ingest_options import IngestOptions
from ragkit.settings.settings import Settings
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.jobs.queue import QueueWorker, waiting
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJob, UploadJobs
from ragkit.store.jobs.worker import Job
from ragkit.store.jobs.worker_connection import WorkerConnection
from ragkit.store.open import Database, open_database
from ragkit.testing.embedder import FakeEmbedder
from ragkit.types import Document
from ragkit_ingest.run.embedding import Embedding
from ragkit_ingest.run.steps import Prepared, Steps
from ragkit_ingest.worker.spell import Ended, Spell
from tests.core.store.uploads import next_upload, source_of, take_upload, upload_worker
from tests.ingest.waiting import work_off, worker_at


@dataclass
class Bench:
    """A collection that files are uploaded to, and a worker in this thread."""

    database: Database
    embedders: Embedders
    options: IngestOptions

    def send(self, name: str, data: bytes, readers: tuple[str, ...] | None = None) -> int:
        """Upload a file, and return its job's number."""
        sources = Sources(self.database.pool, "default", readers)
        (number,) = sources.keep("c", [Upload(name, io.BytesIO(data))], principal="p")
        return number

    def upload(self, name: str, data: bytes) -> UploadJob:
        """Upload a file and take it in."""
        number = self.send(name, data)
        work_off(self.database, self.embedders)
        return self.job(number)

    def job(self, number: int) -> UploadJob:
        return UploadJobs(self.database.pool, "default").get(number)

    def documents(self) -> list[Document]:
        return list(self.database.store("default").documents("c"))


@pytest.fixture
def bench(fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    settings = Settings(database_url=SecretStr(fresh_database), jobs=1)
    embedder = FakeEmbedder()
    embedder.load()
    with open_database(settings) as database:
        database.store("default").create_collection("c")
        bench = Bench(database, Embedders(settings), IngestOptions())

        def steps(*_: object, **__: object) -> Steps:
            return Steps(embedder, "f", settings, bench.options)

        monkeypatch.setattr("ragkit_ingest.worker.shift.steps_of", steps)
        yield bench


def test_a_file_becomes_a_document_and_its_job_counts_the_chunks(bench: Bench) -> None:
    text = "\n\n".join(f"Paragraph {n} is about wing {n}. " * 6 for n in range(30))
    done = bench.upload("Plan.md", f"# The plan\n\n{text}".encode())
    assert done.document is not None
    document = bench.database.store("default").document(done.document)
    assert (document.uri, document.title) == ("upload:Plan.md", "The plan")
    assert done.state == "done"
    assert done.done == done.total == document.chunks > 16
    figures = bench.database.store("default").job_ledger.job(done.id).figures
    assert (figures["bytes"], figures["chunks"]) == (len(f"# The plan\n\n{text}"), document.chunks)
    with bench.database.pool.connection() as conn:
        size = conn.execute("SELECT bytes FROM document").fetchone()
    assert size == (len(f"# The plan\n\n{text}"),)
    assert sorted(figures["seconds"]) == ["embed", "parse", "read", "split", "write"]
    assert all(0 < seconds < 60 for seconds in figures["seconds"].values())
    assert "notes" not in figures, "nothing was left out or masked"


def test_a_title_is_the_files_name_where_the_text_has_none(bench: Bench) -> None:
    bench.upload("休假 2025.txt", "每人二十八天。".encode())
    (document,) = bench.documents()
    assert (document.title, document.language) == ("休假 2025", "zh")


def test_what_was_masked_is_counted_with_the_job(bench: Bench) -> None:
    bench.options = IngestOptions(mask="email")
    job = bench.upload("a.txt", b"Ask ann@example.com or bob@example.com.")
    figures = bench.database.store("default").job_ledger.job(job.id).figures
    assert figures["notes"] == {"masked email": 2}
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
    job = bench.upload(name, data)
    assert (job.state, job.stage) == ("failed", "parse")
    assert reason in job.reason


def test_the_same_bytes_are_not_embedded_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.upload("a.txt", b"The same.")
    with caplog.at_level("INFO"):
        job = bench.upload("a.txt", b"The same.")
    assert (job.state, job.document, job.total) == ("done", 1, 0)
    assert f"job {job.id} of tenant 'default': document 1 is unchanged" in caplog.text


def test_an_upload_that_is_overtaken_is_given_up(bench: Bench) -> None:
    slow = bench.send("a.txt", b"one")
    with upload_worker(bench.database.pool) as worker:
        job = take_upload(worker)
        bench.upload("a.txt", b"two")
        worker.release(job)
    work_off(bench.database, bench.embedders)
    assert (bench.job(slow).state, bench.job(slow).document) == ("done", 1)
    assert bench.job(slow).reason == "a later file has taken its place"
    assert bench.database.store("default").text(1) == "two"


def test_of_two_uploads_of_a_name_taken_together_the_later_counts(bench: Bench) -> None:
    numbers = [bench.send("a.txt", text.encode()) for text in ("one", "two")]
    work_off(bench.database, bench.embedders)
    assert [bench.job(number).state for number in numbers] == ["done", "done"]
    assert bench.database.store("default").text(1) == "two"


def test_a_collection_that_is_deleted_meanwhile_ends_the_work(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = Embedding.embed

    def deleting(self: Embedding, rows: object) -> object:
        bench.database.store("default").delete_collection("c")
        return embed(self, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(Embedding, "embed", deleting)
    bench.send("a.txt", b"one")
    work_off(bench.database, bench.embedders)
    assert bench.database.store("default").collections() == []


def test_work_is_broken_off_when_the_process_is_told_to_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, noticed = Event(), Event()
    embed, look = Embedding.embed, Spell._look

    def stopping(self: Embedding, rows: object) -> object:
        stop.set()
        assert noticed.wait(60)  # else a fast machine is done before the worker looks
        return embed(self, rows)  # type: ignore[arg-type]

    def looking(self: Spell) -> None:
        try:
            look(self)
        except Ended:
            noticed.set()
            raise

    monkeypatch.setattr(Embedding, "embed", stopping)
    monkeypatch.setattr(Spell, "_look", looking)
    text = "\n\n".join(f"Paragraph {n} is about wing {n}. " * 30 for n in range(300))
    number = bench.send("a.txt", text.encode())
    with pytest.raises(Ended):
        work_off(bench.database, bench.embedders, stop)
    assert bench.documents() == []
    assert (bench.job(number).state, bench.job(number).attempts) == ("queued", 0)


def test_a_job_that_another_worker_took_is_broken_off(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Job] = []
    prepared = Steps.prepared

    def taking(self: Steps, *of: object) -> Prepared:
        while not taken:  # a row that its holder renews at this moment is skipped
            with bench.database.pool.connection() as conn:
                conn.execute("UPDATE job SET lease_until = now() - interval '1 second'")
            taken.extend(filter(None, [next_upload(other)]))
        return prepared(self, *of)  # type: ignore[arg-type]

    number = bench.send("a.txt", b"one")
    with upload_worker(bench.database.pool) as other:
        monkeypatch.setattr(Steps, "prepared", taking)
        (report,) = work_off(bench.database, bench.embedders)
        assert (report.added, report.lost) == (0, 1)
        assert bench.documents() == []
        assert bench.job(number).state == "running"
        assert other.progress([(taken[0], 0, 1)]) == [True]


def test_a_defect_is_tried_again_then_told_without_the_documents_text(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective(self: Steps, source: object, *_: object) -> Prepared:
        raise ValueError(f"the canary of {source} sings")

    monkeypatch.setattr(Steps, "prepared", defective)
    number = bench.send("a.txt", b"one")
    work_off(bench.database, bench.embedders)
    failed = bench.job(number)
    assert (failed.state, failed.stage, failed.attempts) == ("failed", "worker", 3)
    assert failed.reason == "ValueError: the worker's log says where"
    assert "in defective" in caplog.text
    assert "canary of" not in caplog.text.replace('raise ValueError(f"the canary of', "")


def test_a_defect_costs_no_other_upload(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    embed = Embedding.embed

    def failing(self: Embedding, rows: object) -> object:
        if any("canary" in str(row) for row in rows):  # type: ignore[attr-defined]
            raise ValueError("no canaries")
        return embed(self, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(Embedding, "embed", failing)
    numbers = [bench.send(f"{n}.txt", f"text {n}".encode()) for n in range(3)]
    bad = bench.send("bad.txt", b"the canary")
    work_off(bench.database, bench.embedders)
    assert {bench.job(number).state for number in numbers} == {"done"}
    assert (bench.job(bad).state, bench.job(bad).attempts) == ("failed", 3)


def test_a_file_whose_sender_is_shut_out_meanwhile_fails_and_says_why(bench: Bench) -> None:
    number = bench.send("a.txt", b"one", ("user:p",))
    Shares(bench.database.pool, "default").collection("c", Change(add=("user:ada",)))
    work_off(bench.database, bench.embedders)
    failed = bench.job(number)
    assert (failed.state, failed.stage) == ("failed", "store")
    assert failed.reason == "the collection is not open any more to whoever sent the file"
    assert bench.documents() == []


def test_a_suspect_is_taken_alone_after_the_others(bench: Bench) -> None:
    suspect = bench.send("suspect.txt", b"one")
    with bench.database.pool.connection() as conn:
        conn.execute("UPDATE job SET attempts = 2")
    number = bench.send("b.txt", b"two")
    (queue,) = waiting(bench.database.pool)
    assert (queue.places, queue.suspect_places) == ({None}, {None})
    with worker_at(bench.database, bench.embedders) as (shift, connection):
        assert isinstance(connection, WorkerConnection)
        shift.work(connection, queue)
        assert (bench.job(number).state, bench.job(suspect).state) == ("done", "queued")
        shift.work(connection, queue, alone=True)
    assert bench.job(suspect).state == "done"


def test_a_long_document_does_not_hold_up_a_short_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = QueueWorker.progress
    order: list[int] = []

    def noted(self: QueueWorker, steps: list[tuple[Job, int, int]]) -> list[bool]:
        order.extend(source_of(job) for job, done, total in steps if done == total)
        return progress(self, steps)

    monkeypatch.setattr(QueueWorker, "progress", noted)
    monkeypatch.setattr("ragkit_ingest.executor.embed_stage._MOST_CHUNKS", 16)
    text = "\n\n".join(f"Paragraph {n} is about wing {n}. " * 30 for n in range(300))
    bench.send("long.md", text.encode())
    bench.send("short.md", b"A short one.")
    work_off(bench.database, bench.embedders)
    assert order == [2, 1]
