"""One upload's way into its collection: read, parse, chunk, embed, store, with its progress told.

It knows nothing of where jobs come from, nor of what becomes of those that fail.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as StillWorking
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from ragkit.errors import IngestError, LeaseLostError, ModelError, OtherModelError
from ragkit.types import ParsedText
from ragkit_ingest.items import Item
from ragkit_ingest.parse import MEDIA_TYPES
from ragkit_ingest.sources.sizes import in_hand
from ragkit_ingest.steps import Source, Steps
from ragkit_ingest.tally import Figures, Live

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragkit.contracts import Vectors
    from ragkit.store.open import Database
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.upload_worker import TakenUpload, UploadWorker
    from ragkit_ingest.embedding import Rows
    from ragkit_ingest.sandbox import ParserPool
    from ragkit_ingest.steps import Prepared

    StepsOf = Callable[[PostgresStore, str], Steps]  # for a collection

T = TypeVar("T")

# Embedded together: about a second of work, then there is a look at whether to stop.
_FEWEST_CHUNKS: Final = 16
_MOST_CHUNKS: Final = 512
_STEP_S: Final = 1.0
_HEARTBEAT_S: Final = 30.0


class BrokenOff(Exception):
    """The job in hand is not ours any more, or there is no time left for it."""


class Uploads:
    """Makes documents of uploads; `take_in` may be called by several threads at once."""

    def __init__(
        self,
        database: Database,
        steps_of: StepsOf,
        parsers: ParserPool,
        queue: UploadWorker,
        stop: threading.Event,
    ) -> None:
        self._database = database
        self._steps_of = steps_of
        self._parsers = parsers
        self._queue = queue
        self._stop = stop
        self._embedding = threading.Lock()  # one at a time: each uses all cores

    def take_in(self, job: TakenUpload) -> str:
        """Make a document of an upload and finish its job; say what came of it, without its text.

        When its collection is moved to another model meanwhile it begins again. Raises IngestError
        for a file that cannot be taken in, NotFoundError when a later one has taken its place,
        BrokenOff when the work is to be given up.
        """
        try:
            try:
                return self._take_in(job)
            except OtherModelError:
                return self._take_in(job)
        except LeaseLostError as lost:
            raise BrokenOff from lost

    def _take_in(self, job: TakenUpload) -> str:
        from ragkit.store.sources import Sources

        suffix = Path(job.name).suffix.lower()
        if suffix not in MEDIA_TYPES:
            known = ", ".join(MEDIA_TYPES)
            raise IngestError("parse", f"{suffix} files cannot be read; these can: {known}")
        store = self._database.store(job.tenant)
        sources = Sources(self._database.pool, job.tenant)
        source = sources.get(job.source)
        steps = self._steps(store, job.collection)
        for made in sorted(steps.fingerprints):
            pair = (source.sha256, made)
            same = store.put_source(job.collection, pair, source=job.source, job=job)
            if same is not None:
                return f"document {same} is unchanged"
        data, figures = b"".join(sources.parts(source)), Figures()
        item = Item(job.uri, suffix, in_hand(data), name=Path(job.name).stem)
        read = Source(item, data, content_hash=source.sha256)
        prepared = self._prepared(job, read, steps, figures)
        vectors = self._embedded(job, prepared.rows, steps, figures)
        figures.began("write")
        stored = store.put_document(
            *(job.collection, prepared.document, steps.embedder.space, vectors),
            job=job,
            source=job.source,
            figures=Live(figures),
        )
        return f"document {stored.id}, version {stored.version}, {stored.chunks} chunks"

    def _prepared(
        self, job: TakenUpload, source: Source, steps: Steps, figures: Figures
    ) -> Prepared:
        figures.bytes = len(source.data)
        figures.began("parse")
        parsed = self._parsed(job, source.data, source.item.suffix, steps)
        figures.ended("parse")
        figures.began("split")
        prepared = steps.prepared(source, parsed, self._parsers, partial(self._awaited, job))
        figures.ended("split")
        figures.chunks, figures.notes = len(prepared.rows), dict(prepared.notes)
        return prepared

    def _steps(self, store: PostgresStore, collection: str) -> Steps:
        try:
            return self._steps_of(store, collection)
        except (ModelError, OtherModelError) as error:  # which quote no document
            raise IngestError("embed", str(error)) from error

    def _parsed(self, job: TakenUpload, data: bytes, suffix: str, steps: Steps) -> ParsedText:
        """Parse a file in a process of its own."""
        return self._awaited(job, self._parsers.submit(data, suffix, steps.parse_options))

    def _awaited(self, job: TakenUpload, future: Future[T]) -> T:
        """Wait for what a process does, and renew the lease meanwhile."""
        while True:
            try:
                return future.result(timeout=_HEARTBEAT_S)
            except StillWorking:
                self._progress(job, 0, 0)
            except CancelledError:
                raise BrokenOff from None

    def _embedded(self, job: TakenUpload, rows: Rows, steps: Steps, figures: Figures) -> Vectors:
        """Embed a document's chunks a few at a time, so that short files need not wait for long."""
        import numpy as np

        vectors = np.empty((len(rows), steps.embedder.space.dimension), np.float32)
        done, together, spent_s = 0, _FEWEST_CHUNKS, 0.0
        while done < len(rows):
            self._progress(job, done, len(rows))
            few = rows[done : done + together]
            with self._embedding:
                began = time.perf_counter()
                vectors[done : done + len(few)] = steps.embed(few)
                took_s = time.perf_counter() - began
            rate, spent_s = len(few) / max(took_s, 1e-6), spent_s + took_s
            done += len(few)
            together = min(max(_FEWEST_CHUNKS, int(rate * _STEP_S)), _MOST_CHUNKS)
        self._progress(job, len(rows), len(rows))
        figures.seconds["embed"] = spent_s  # without waiting for others' turns
        return vectors

    def _progress(self, job: TakenUpload, done: int, total: int) -> None:
        if self._stop.is_set() or not self._queue.progress(job, done, total):
            raise BrokenOff
