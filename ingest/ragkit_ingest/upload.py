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
from ragkit.formats import refusal
from ragkit.store.sources import Sources
from ragkit.types import NewDocument, ParsedText
from ragkit_ingest.alike import Alike, Twin, flagged
from ragkit_ingest.items import Item
from ragkit_ingest.members import holds_others, send_members
from ragkit_ingest.parse import MEDIA_TYPES
from ragkit_ingest.sources.sizes import in_hand
from ragkit_ingest.steps import Source, Steps
from ragkit_ingest.tally import Figures, Live

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragkit.contracts import Vectors
    from ragkit.ingest_options import IngestOptions
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
_LOOK_S: Final = 0.2  # between looks at whether another upload is stored


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
        self._alike: dict[tuple[str, str, IngestOptions], Alike] = {}  # by tenant and collection

    def take_in(self, job: TakenUpload) -> str:
        """Make a document of an upload and finish its job; say what came of it, without its text.

        When its collection is moved to another model meanwhile it begins again. Raises IngestError
        for a file that cannot be taken in, NotFoundError when a later one has taken its place,
        BrokenOff when the work is to be given up.
        """
        if reason := refusal(job.name):
            raise IngestError("parse", reason)
        try:
            apart = self._taken_apart(job)
            if apart is not None:
                return apart
            try:
                return self._take_in(job)
            except OtherModelError:
                return self._take_in(job)
        except LeaseLostError as lost:
            raise BrokenOff from lost

    def _taken_apart(self, job: TakenUpload) -> str | None:
        """Send on what a mail or an archive holds; None where a document is to be made of it, too.

        An archive's job is finished; a mail's says from now on what was in it.
        """
        suffix = Path(job.name).suffix.lower()
        if not holds_others(job, suffix):
            return None
        sources = Sources(self._database.pool, job.tenant, job.readers)
        source = sources.get(job.source)
        max_bytes = self._steps(self._database.store(job.tenant), job.collection).max_file_bytes
        of = (job, suffix, b"".join(sources.parts(source)), sources, self._parsers, max_bytes)
        try:
            inside = send_members(*of, partial(self._awaited, job))
        except IngestError:
            if suffix in MEDIA_TYPES:  # a mail fails by itself
                return None
            raise
        if suffix in MEDIA_TYPES:
            self._queue.note(job, str(inside))
            return None
        if not inside.sent:
            raise IngestError("parse", f"no file in it can be read; {inside}".rstrip("; "))
        self._queue.settle(job, str(inside))
        return f"{len(inside.sent)} files in it, {len(inside.left_out)} left out"

    def _take_in(self, job: TakenUpload) -> str:
        suffix = Path(job.name).suffix.lower()
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
        read = Source(item, data, content_hash=source.sha256, size_bytes=len(data))
        prepared = self._prepared(job, read, steps, figures)
        alike = self._alike_of(job, store, steps.options)
        try:
            document, twin = self._apart(job, store, prepared.document, alike)
            if twin is not None:
                reason = f"left out, as nearly the same as {twin.uri} ({twin.similarity:.2f})"
                self._queue.settle(job, reason, twin.id)
                return f"nearly the same as document {twin.id}"
            vectors = self._embedded(job, prepared.rows, steps, figures)
            figures.began("write")
            stored = store.put_document(
                *(job.collection, document, steps.embedder.space, vectors),
                job=job,
                source=job.source,
                figures=Live(figures),
            )
        finally:
            if alike is not None:
                alike.settled(job.uri)
        return f"document {stored.id}, version {stored.version}, {stored.chunks} chunks"

    def _alike_of(
        self, job: TakenUpload, store: PostgresStore, options: IngestOptions
    ) -> Alike | None:
        """Return what looks for near duplicates in a collection; None where they are kept."""
        if options.near_duplicates == "keep":
            return None
        new = Alike(store, job.collection, options, uploads=True)
        return self._alike.setdefault((job.tenant, job.collection, options), new)

    def _apart(
        self, job: TakenUpload, store: PostgresStore, document: NewDocument, alike: Alike | None
    ) -> tuple[NewDocument, Twin | None]:
        """Flag what is nearly alike to another document, or return that one where it is left out.

        What takes the place of a document is stored: the old content must not stay.
        """
        if alike is None:
            return document, None
        document, options = alike.signed(document), alike.options
        while (twin := alike.twin(document)) is not None:
            if twin.id is None:  # until it is stored, nobody knows who may read it
                self._progress(job, 0, 0)
                time.sleep(_LOOK_S)
            elif options.near_duplicates == "flag":
                return flagged(document, twin), None
            elif store.known(job.collection, [job.uri]):
                break
            else:
                return document, twin
        return document, None

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
