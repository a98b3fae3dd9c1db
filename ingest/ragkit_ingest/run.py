"""One ingestion: files that changed become documents in the store, each in one transaction.

The loop keeps parser processes, the embedder and the writer busy at once: it reads ahead into the
parsers, embeds what is parsed in batches across files, and hands the result to a writing thread.
It knows nothing of formats, tokens or SQL.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragkit.errors import IngestError, OtherModelError
from ragkit.types import Document, NewDocument, ParsedText
from ragkit_ingest.discover import discover
from ragkit_ingest.models import adopt, steps_of
from ragkit_ingest.report import Failure, IngestReport, Progress
from ragkit_ingest.sandbox import ParseLimits, ParserPool
from ragkit_ingest.steps import Source, Steps, read

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.settings import Settings
    from ragkit.store.jobs import Job, Worker
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors import BuildProgress

JOB_KIND = "ingest"
_READ_FILES = 16  # claimed together: a claim costs about a millisecond
_READ_BYTES = 64 << 20  # of changed files held in memory at once, one file at least
_EMBED_CHUNKS = 128  # embedded together: seconds of work on a CPU, so that progress shows
_WRITES = 32  # arbitrary: finished documents that may wait for the database
_HEARTBEAT_S = 60.0
_WAIT_S = 0.5  # between looks at files that another process is working on


@dataclass(frozen=True, slots=True)
class _Ready:
    """A document that waits for its vectors."""

    job: Job
    document: NewDocument


def ingest(
    paths: Sequence[Path | str],
    *,
    settings: Settings | None = None,
    collection: str | None = None,
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_index: Callable[[BuildProgress], None] | None = None,
) -> IngestReport:
    """Take files and folders into a collection; files that did not change cost one hash.

    `jobs` is the number of parser processes. `on_index` is told, from another thread, how far the
    vector index is, where one is built at the end. A file that fails is in the report's `failures`
    and never stops the others. Raises NotFoundError for a missing path, DatabaseError, ModelError,
    and OtherModelError when the settings name another model than the collection's on purpose.
    """
    from ragkit.embedders import Embedders
    from ragkit.settings import load_settings
    from ragkit.store.open import open_database

    started = time.perf_counter()
    settings = settings or load_settings()
    name = collection or settings.collection
    found = discover([Path(path) for path in paths])
    embedders = Embedders(settings)
    with open_database(settings) as database:
        store = database.store(settings.tenant, durable=False)
        owner = store.create_collection(name)
        steps = steps_of(embedders, store, name, strict=True)
        with (
            ParserPool(jobs or settings.jobs or parser_count(), limits(settings)) as parsers,
            store.job_ledger.worker(owner.id, JOB_KIND) as worker,
            ThreadPoolExecutor(max_workers=1, thread_name_prefix="ragkit-write") as writer,
        ):
            run = _Run(store, name, steps, settings, parsers, worker, writer, on_progress)
            try:
                run.files(found.files)
            except OtherModelError as error:
                raise OtherModelError(
                    f"collection {name!r} was moved to another embedding model while files were"
                    " taken in: what is stored stays; run the same command again"
                ) from error
        if run.added or run.updated:
            store.finish_load(name, steps.embedder.space, on_index)
    return IngestReport(
        added=run.added,
        updated=run.updated,
        unchanged=run.unchanged,
        skipped=len(found.skipped),
        chunks=run.chunks,
        embedded=run.embedded,
        seconds=time.perf_counter() - started,
        failures=tuple(sorted(run.failures, key=lambda failure: failure.uri)),
    )


class _Run:
    """The state of one ingestion."""

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        settings: Settings,
        parsers: ParserPool,
        worker: Worker,
        writer: ThreadPoolExecutor,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self.added = self.updated = self.unchanged = self.chunks = self.embedded = 0
        self.failures: list[Failure] = []
        self._store = store
        self._collection = collection
        self._steps = steps
        self._settings = settings
        self._parsers = parsers
        self._worker = worker
        self._writer = writer
        self._on_progress = on_progress
        self._known = store.known(collection)
        self._total = 0
        self._started = self._heartbeat = time.perf_counter()
        self._parsing: dict[Future[ParsedText], tuple[Job, Source]] = {}
        self._ready: deque[_Ready] = deque()
        self._writes: deque[Future[Document]] = deque()
        self._elsewhere: list[Source] = []

    def files(self, files: Sequence[Path]) -> None:
        """Work until every file is stored, unchanged or failed."""
        self._total = len(files)
        waiting = deque(files)
        self._work(waiting)
        while self._elsewhere:
            # Another process took these files first: see what became of them.
            sources, self._elsewhere = self._elsewhere, []
            self._adopt(sources)
            self._work(waiting)
            if self._elsewhere:
                time.sleep(_WAIT_S)

    def _work(self, waiting: deque[Path]) -> None:
        while waiting or self._parsing or self._ready:
            if waiting and len(self._parsing) < _READ_FILES:
                self._take(self._read(waiting))
            self._collect()
            if self._ready and (self._ready_chunks() >= _EMBED_CHUNKS or not self._parsing):
                self._embed()
            self._report()
        while self._writes:
            self._stored(self._writes.popleft())
        self._report()

    def _read(self, waiting: deque[Path]) -> list[Source]:
        """Read ahead until a few changed files are in hand."""
        sources: list[Source] = []
        size = 0
        while waiting and len(sources) < _READ_FILES and size < _READ_BYTES:
            source = read(waiting.popleft(), max_bytes=self._steps.max_file_bytes)
            if self._is_stored(source):
                self.unchanged += 1
            else:
                sources.append(source)
                size += len(source.data)
        return sources

    def _is_stored(self, source: Source) -> bool:
        """Tell whether the store has the file as it is."""
        content, made = self._known.get(source.uri, ("", ""))
        same = content == source.content_hash and made in self._steps.fingerprints
        return same and not source.error

    def _take(self, sources: Sequence[Source]) -> None:
        """Open and claim jobs, and start parsing what was claimed."""
        self._worker.enqueue([source.uri for source in sources])
        self._start(sources)

    def _adopt(self, sources: Sequence[Source]) -> None:
        """Settle files that another process had: done, failed, or free because it died."""
        outcomes = self._worker.outcomes([source.uri for source in sources])
        rest: list[Source] = []
        for source in sources:
            outcome = outcomes[source.uri]
            if outcome.state == "done":
                self.unchanged += 1
            elif outcome.state == "failed":
                self.failures.append(Failure(source.uri, outcome.stage, outcome.reason))
            else:
                rest.append(source)
        self._start(rest)

    def _start(self, sources: Sequence[Source]) -> None:
        if not sources:
            return
        claimed = {
            job.uri: job
            for job in self._worker.claim([source.uri for source in sources], limit=len(sources))
        }
        for source in sources:
            job = claimed.get(source.uri)
            if job is None:
                self._elsewhere.append(source)
            elif source.error:
                self._fail(job, IngestError("read", source.error))
            else:
                future = self._parsers.submit(source.data, source.path.suffix.lower())
                self._parsing[future] = (job, source)

    def _collect(self) -> None:
        """Chunk what is parsed; wait for a parser only when there is nothing else to do."""
        if not self._parsing:
            return
        idle = not self._ready
        done, _ = wait(self._parsing, timeout=None if idle else 0, return_when=FIRST_COMPLETED)
        for future in done:
            job, source = self._parsing.pop(future)
            try:
                self._ready.append(_Ready(job, self._steps.document(source, future.result())))
            except IngestError as error:
                self._fail(job, error)

    def _embed(self) -> None:
        """Embed the documents in hand together; pass each on as soon as its vectors are there."""
        import numpy as np

        texts = [
            ready.document.text[chunk.start : chunk.end]
            for ready in self._ready
            for chunk in ready.document.chunks
        ]
        embedder = self._steps.embedder
        if self._steps.new and not self.embedded:
            adopt(self._steps, self._settings, self._store, self._collection)
        vectors = np.empty((len(texts), embedder.space.dimension), np.float32)
        first = done = 0
        while self._ready:
            part = texts[done : done + _EMBED_CHUNKS]
            vectors[done : done + len(part)] = embedder.embed_passages(part)
            done += len(part)
            self.embedded += len(part)
            while self._ready and first + len(self._ready[0].document.chunks) <= done:
                ready = self._ready.popleft()
                last = first + len(ready.document.chunks)
                self._write(ready, vectors[first:last])
                first = last
            self._report()

    def _write(self, ready: _Ready, vectors: Vectors) -> None:
        while len(self._writes) >= _WRITES or (self._writes and self._writes[0].done()):
            self._stored(self._writes.popleft())
        self._writes.append(
            self._writer.submit(
                self._store.put_document,
                self._collection,
                ready.document,
                self._steps.embedder.space,
                vectors,
                job=ready.job.id,
            )
        )

    def _stored(self, write: Future[Document]) -> None:
        document = write.result()
        self.chunks += document.chunks
        if document.version == 1:
            self.added += 1
        else:
            self.updated += 1

    def _fail(self, job: Job, error: IngestError) -> None:
        self.failures.append(Failure(job.uri, error.stage, error.reason))
        self._worker.fail(job.id, error.stage, error.reason)

    def _ready_chunks(self) -> int:
        return sum(len(ready.document.chunks) for ready in self._ready)

    def _report(self) -> None:
        now = time.perf_counter()
        if now - self._heartbeat > _HEARTBEAT_S:
            self._heartbeat = now
            self._worker.heartbeat()
        done = self.added + self.updated + self.unchanged + len(self.failures)
        self._on_progress(Progress(done, self._total, self.embedded, now - self._started))


def parser_count() -> int:
    """One parser process per core but one, which embeds."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


def limits(settings: Settings) -> ParseLimits:
    return ParseLimits(
        memory_mb=settings.parse_memory_mb,
        cpu_s=settings.parse_cpu_s,
        wall_s=settings.parse_wall_s,
        unzipped_mb=settings.parse_unzipped_mb,
        file_mb=settings.max_file_mb,
    )
