"""A worker's spell on one collection's queue: uploads and files at places, as they come.

What it claims goes through the same stages as in any ingestion (`ragkit_ingest.executor.pipeline`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.documents.formats import refusal, suffix_of
from ragkit.errors import IngestError, LeaseLostError, NotFoundError
from ragkit.store.jobs.upload_bytes import Sources
from ragkit.store.jobs.worker import host
from ragkit_ingest.executor.channel import result_of
from ragkit_ingest.executor.pipeline import Pipeline
from ragkit_ingest.parse import MEDIA_TYPES
from ragkit_ingest.run.changes import groups_of
from ragkit_ingest.run.members import ContainerUpload, Members
from ragkit_ingest.run.skipped import SkippedFiles
from ragkit_ingest.run.steps import Source
from ragkit_ingest.run.tally import Tally, Task
from ragkit_ingest.run.unpacking import unpacked
from ragkit_ingest.run.vanished import delete_vanished
from ragkit_ingest.sources import RecordFile
from ragkit_ingest.sources.item import Item, failing
from ragkit_ingest.sources.items_of_file import Container
from ragkit_ingest.sources.reopen import AwayError, PlaceAgain
from ragkit_ingest.sources.skipped import is_in

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.jobs.ledger import Ledger
    from ragkit.store.jobs.queue import QueuedFile, QueueWorker, Waiting
    from ragkit.store.jobs.worker import Job
    from ragkit.store.open import Database
    from ragkit_ingest.executor.pipeline import Shared
    from ragkit_ingest.parser.spool import Part
    from ragkit_ingest.run.report import IngestReport
    from ragkit_ingest.run.steps import Steps
    from ragkit_ingest.sources import Listing

log = logging.getLogger("ragkit.worker")

_FIRST: Final = 4  # claimed at first: few, as other workers may have come for the same queue
_TOGETHER: Final = 16  # claimed at a time after that: as many as are looked up together
_PAUSE_S: Final = 0.05  # between looks at whether there is room for further files
_POLL_S: Final = 0.2  # between looks at a queue from which nothing could be claimed
# Arbitrary: after so long what has come is indexed, and archives are ticked off.
_SPELL_S: Final = 300.0
_ALONE_S: Final = 30.0  # of suspects, during which no other file is taken in; arbitrary
_DEFERRED_S: Final = (
    5.0  # that an item waits for those under way, at most, before others; arbitrary
)
_UNREACHABLE_S: Final = 60.0  # before a place or model is tried again; arbitrary


class Ended(Exception):
    """The process is told to end: what was claimed goes back to the queue."""


class Unreachable:
    """Places that this machine does not reach, and collections whose model it lacks, for now."""

    def __init__(self) -> None:
        self._places: dict[int, float] = {}
        self._collections: dict[int, float] = {}

    @property
    def places(self) -> frozenset[int]:
        return self._current(self._places)

    @property
    def collections(self) -> frozenset[int]:
        return self._current(self._collections)

    def add_place(self, place: int, error: AwayError) -> None:
        """Note a place that cannot be reached."""
        if place not in self.places:
            log.warning("left to others: %s", error)
        self._places[place] = time.monotonic() + _UNREACHABLE_S

    def add_collection(self, collection: int) -> None:
        """Note a collection whose model is not here."""
        self._collections[collection] = time.monotonic() + _UNREACHABLE_S

    def _current(self, until: dict[int, float]) -> frozenset[int]:
        moment = time.monotonic()
        return frozenset(number for number, end in list(until.items()) if end > moment)


@dataclass(slots=True)
class Run:
    """A spell as the ledger has it: no trace stays where there was nothing to do."""

    ledger: Ledger
    number: int
    spell: Spell | None = None
    started: float = field(default_factory=time.perf_counter)

    def end(self) -> IngestReport | None:
        """Note the end; doing so again changes nothing but the time."""
        if self.spell is None or not self.spell.claimed:
            self.ledger.drop_run(self.number)
            return None
        report = self.spell.tally.report(
            skipped=self.spell.skipped, seconds=time.perf_counter() - self.started
        )
        self.ledger.end_run(self.number, report.as_json())
        return report


class Spell:
    """Some time of work on one collection's queue.

    `has_places` tells whether files at places are taken, or uploads only; `give_way` is set when
    others need the worker; with `alone` suspects are taken, one by one.
    """

    def __init__(
        self,
        database: Database,
        queue: Waiting,
        steps: Steps,
        settings: Settings,
        shared: Shared,
        worker: QueueWorker,
        unreachable: Unreachable,
        *,
        has_places: bool,
        alone: bool,
        stop: threading.Event,
        give_way: threading.Event,
        parsing: threading.Semaphore,
    ) -> None:
        self._database = database
        self._store = database.store(queue.tenant)
        self._queue = queue
        self._steps = steps
        self._settings = settings
        self._shared = shared
        self._worker = worker
        self._unreachable = unreachable
        self._has_places = has_places
        self._alone = alone
        self._stop = stop
        self._give_way = give_way
        self._places: dict[int, PlaceAgain] = {}
        self._containers: list[tuple[QueuedFile, Listing, bool]] = []  # which hold other files
        self._handed_on: set[int] = set()  # jobs of items that were handed to the stages
        self.tally = Tally()
        self.claimed = 0
        self.skipped = SkippedFiles()  # in mails and archives
        self._pipeline = Pipeline(
            *(self._store, queue.name, steps, settings, shared, worker, self.tally),
            is_worker=True,
            parsing=parsing,
        )

    def run(self) -> None:
        """Take in what waits. Raises Ended."""
        self._until = time.monotonic() + (_ALONE_S if self._alone else _SPELL_S)
        self._pipeline.run(self._groups(), self._look)
        self._tick_off()

    def _look(self) -> None:
        if self._stop.is_set():
            raise Ended

    def _groups(self) -> Iterator[list[Item]]:
        """Claim jobs, and yield the items that they are for."""
        while not self._is_over():
            if self._has_enough():
                self._stop.wait(_PAUSE_S)
                continue
            files = self._worker.next_files(
                self._limit(),
                places=self._has_places,
                without=self._unreachable.places,
                alone=self._alone,
            )
            yield from groups_of(chain.from_iterable(map(self._items, files)))
            if not files:
                if not self._pipeline.under_way:
                    return
                self._stop.wait(_POLL_S)

    def _is_over(self) -> bool:
        moment = time.monotonic()
        if self._pipeline.has_deferred:
            self._until = min(self._until, moment + _DEFERRED_S)
        is_ending = self._stop.is_set() or self._pipeline.is_ending
        return is_ending or self._give_way.is_set() or moment > self._until

    def _has_enough(self) -> bool:
        if self._alone:
            return bool(self._pipeline.under_way)
        return self._pipeline.has_enough

    def _limit(self) -> int:
        if self._alone:
            return 1
        return _TOGETHER if self.claimed else _FIRST

    def _items(self, file: QueuedFile) -> Iterator[Item]:
        """Yield the items of a claimed job; an unexpected error costs this job alone."""
        try:
            if file.job.upload is not None:
                yield from self._uploaded(file.job)
            else:
                yield from self._at_place(file)
        except LeaseLostError:
            self._pipeline.outcomes.lose(_task(file.job))
        except Exception as error:
            if not self._pipeline.outcomes.retry(_task(file.job), error):
                raise

    def _uploaded(self, job: Job) -> Iterator[Item]:
        """Yield an upload as an item; unpack one that holds others."""
        self.claimed += 1
        upload = job.upload
        assert upload is not None
        suffix = suffix_of(upload.name)
        if reason := refusal(upload.name):
            self._fail(job, IngestError("parse", reason))
            return
        sources = Sources(self._database.pool, self._queue.tenant, upload.readers)
        container = ContainerUpload(job.uri, suffix, self._queue.name, upload.principal, sources)
        try:
            if container.holds_members and not self._send_members(job, container):
                return
        except NotFoundError:  # its bytes or its collection
            self._pipeline.outcomes.replace(_task(job))
            return
        read = partial(_read_upload, sources, upload.source)
        yield Item(job.uri, suffix, read, name=Path(upload.name).stem, job=job)

    def _send_members(self, job: Job, container: ContainerUpload) -> bool:
        """Send on the members of a mail or archive; tell whether a document is made of it, too.

        An archive's job is finished; a mail's names its members from now on.
        """
        assert job.upload is not None
        is_document = container.suffix in MEDIA_TYPES
        data = _read_upload(container.sources, job.upload.source, self._steps.max_file_bytes)
        try:
            members = container.send_members(data, self._unpack, self._steps.max_file_bytes)
        except IngestError as error:
            if not is_document:  # a mail fails by itself
                self._fail(job, error)
            return is_document
        if is_document:
            self._worker.note(job, str(members))
        elif members.sent:
            self._settle_archive(job, members)
        else:
            reason = f"no file in it can be read; {members}".rstrip("; ")
            self._fail(job, IngestError("parse", reason))
        return is_document

    def _unpack(self, data: bytes, suffix: str) -> list[tuple[str, Part]]:
        return result_of(self._shared.parsers.members(data, suffix), self._stop)

    def _settle_archive(self, job: Job, members: Members) -> None:
        remark = f"{len(members.sent)} files in it, {len(members.left_out)} left out"
        self._pipeline.outcomes.settle(_task(job), str(members), remark)

    def _at_place(self, file: QueuedFile) -> Iterator[Item]:
        """Find a file at its place; what is there now is taken, whatever it was when queued."""
        assert file.place is not None
        # A file that changed and was queued again is claimed anew, perhaps while it is embedded.
        self._handed_on.discard(file.job.id)
        try:
            place = self._place(file.place)
            listing = place.listing(file.path)
        except AwayError as error:
            self._unreachable.add_place(file.place, error)
            self._worker.leave(file.job, f"not on {host()}: {error}")
            return
        self.claimed += 1
        if listing is None:
            self._forget_vanished(file.job, sync=place.sync)
            return
        items = [item for _, item in listing.files()]
        if any(isinstance(item, Container | RecordFile) for item in items):
            self._containers.append((file, listing, place.sync))
        elif file.job.uri not in {item.uri for item in items}:  # of a format not known here
            reason = "no format that is read here, or a page that moved"
            self._fail(file.job, IngestError("read", reason))
        for item in unpacked(items, self._shared.parsers, self._steps.max_file_bytes):
            if item.uri != file.job.uri or file.job.id in self._handed_on:
                yield item
            else:
                self._handed_on.add(file.job.id)
                yield replace(item, job=file.job)

    def _place(self, number: int) -> PlaceAgain:
        if number not in self._places:
            root, options = self._worker.place(number)
            self._places[number] = PlaceAgain(root, options, self._settings)
        return self._places[number]

    def _forget_vanished(self, job: Job, *, sync: bool) -> None:
        """Delete what was made of a file that is gone, if it was queued so; else the file fails."""
        if not sync:
            gone = "it was not there any more when its turn came"
            self._fail(job, IngestError("read", gone))
            return
        stored = self._store.named(self._queue.name)
        self._finish(job)
        uris = [uri for uri in stored if is_in(uri, job.uri)]
        if uris:
            self.tally.count(deleted=self._store.delete_uris(self._queue.name, uris))

    def _tick_off(self) -> None:
        """Finish archives and files of records, of which everything is done now."""
        for file, listing, sync in self._containers:
            if sync:
                delete_vanished(self._store, self._queue.name, listing, self.tally)
            self.skipped += listing.skipped
            if file.job.id not in self._handed_on:
                self._finish(file.job)

    def _finish(self, job: Job) -> None:
        try:
            self._worker.finish(job)
        except LeaseLostError:
            log.info("job %d: no longer ours", job.id)

    def _fail(self, job: Job, error: IngestError) -> None:
        if not self._pipeline.is_ending:
            self._pipeline.outcomes.fail(_task(job), error)


def _task(job: Job) -> Task:
    """Make a task of a job of which nothing was read."""
    return Task(Source(failing(job.uri, "", IngestError("read", "not read"))), job)


def _read_upload(sources: Sources, number: int, max_bytes: int) -> bytes:
    """Read an uploaded file; one above `max_bytes` is refused when it is parsed."""
    return b"".join(sources.parts(sources.get(number)))
