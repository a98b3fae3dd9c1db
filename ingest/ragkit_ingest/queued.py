"""A worker's share of the files that were queued: taken a few at a time, through the same stages.

It knows nothing of uploads, nor of who queued the files.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.errors import IngestError, LeaseLostError, ModelError, NotFoundError, OtherModelError
from ragkit.store.jobs import host
from ragkit.store.queue import queue_worker, waiting
from ragkit_ingest.models import steps_of
from ragkit_ingest.pipeline import Pipeline
from ragkit_ingest.run import JOB_KIND, limits, parser_count
from ragkit_ingest.sandbox import ParserPool
from ragkit_ingest.skipped import SkippedFiles
from ragkit_ingest.sources import RecordFile
from ragkit_ingest.sources.again import AwayError, PlaceAgain
from ragkit_ingest.sources.passed import is_in
from ragkit_ingest.sources.taking import Container
from ragkit_ingest.tally import Tally
from ragkit_ingest.unpacking import unpacked
from ragkit_ingest.vanished import delete_vanished

if TYPE_CHECKING:
    from ragkit.embedders import Embedders
    from ragkit.settings import Settings
    from ragkit.store.ledger import Ledger
    from ragkit.store.open import Database
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.queue import QueuedFile, QueueWorker, Waiting
    from ragkit_ingest.items import Item
    from ragkit_ingest.report import IngestReport
    from ragkit_ingest.sources import Listing
    from ragkit_ingest.steps import Steps

log = logging.getLogger("ragkit.worker")

_TOGETHER: Final = 16  # taken at a time: as many as are asked for together
# Arbitrary: few enough that other machines get their share, enough to fill the embedder's batches.
_UNDER_WAY: Final = 64
_PAUSE_S: Final = 0.05  # between looks at how many are under way
# Arbitrary: after so long what has come is indexed, and archives are ticked off.
_SPELL_S: Final = 300.0
_AWAY_S: Final = 60.0  # before a place or model that was away is asked for again; arbitrary


class Ended(Exception):
    """The process is told to end: what was taken goes back to the queue."""


class QueuedFiles:
    """Takes in queued files of one tenant, a collection at a time, until `stop` is set."""

    def __init__(self, database: Database, embedders: Embedders, stop: threading.Event) -> None:
        self._database = database
        self._embedders = embedders
        self._settings = embedders.settings
        self._stop = stop
        self._away: dict[int, float] = {}  # places, and until when they are not asked for
        self._unfit: dict[int, float] = {}  # collections whose model this machine lacks
        self._worker: QueueWorker | None = None
        self._run: _Run | None = None
        self.reports: list[IngestReport] = []
        self.left = 0  # files that others have to take in

    def work(self) -> bool:
        """Take in what waits in the first collection; say whether there was anything to do here."""
        for queue in waiting(self._database.pool, self._settings.tenant):
            without = self._out_of_reach()
            if queue.files and queue.places - without and not self._is_unfit(queue.collection):
                return self._work(queue)
        return False

    def is_done(self) -> bool:
        """Say whether nothing waits for this machine, and nobody is at work that may yet fail."""
        found = waiting(self._database.pool, self._settings.tenant)
        self.left = sum(one.files for one in found)
        without = self._out_of_reach()
        mine = [one for one in found if one.places - without and one.collection not in self._unfit]
        return not mine and not any(one.at_work for one in found)

    def close(self) -> None:
        """Give back what was taken and is not done; another thread may still be at it."""
        worker, run = self._worker, self._run
        if worker is not None:
            worker.close()
        if run is not None:  # that thread may not get so far
            run.end()

    def _work(self, queue: Waiting) -> bool:
        store = self._database.store(self._settings.tenant, durable=False)
        try:
            steps = steps_of(self._embedders, store, queue.name, strict=False)
            steps.embedder.load()
            done = self._spell(store, queue, steps)
        except NotFoundError:  # the collection was deleted
            return True
        except (ModelError, OtherModelError) as error:
            log.warning("collection %r is left to others: %s", queue.name, error)
            self._unfit[queue.collection] = time.monotonic() + _AWAY_S
            return True
        if done is None:
            return False
        if done.has_changed:
            store.finish_load(queue.name, steps.embedder.space)
        self.reports.append(done)
        log.info(
            "collection %r: %d added, %d updated, %d unchanged, %d deleted, %d failed in %.1f s",
            *(queue.name, done.added, done.updated, done.unchanged, done.deleted, done.failed),
            done.seconds,
        )
        return True

    def _spell(self, store: PostgresStore, queue: Waiting, steps: Steps) -> IngestReport | None:
        """Work for a while; None when there was nothing to take."""
        settings, ledger = self._settings, store.job_ledger
        run = _Run(ledger, ledger.start_run(queue.collection, "worker"), time.perf_counter())
        self._run = run
        try:
            with queue_worker(
                *(self._database.pool, settings.tenant, queue.collection, JOB_KIND), run=run.number
            ) as worker:
                self._worker = worker
                spell = _Spell(store, queue.name, steps, settings, worker, self._away, self._stop)
                run.spell = spell
                spell.run(alone=False)
                while spell.run(alone=True):
                    pass
        finally:
            self._worker = self._run = None
            done = run.end()
        return done

    def _out_of_reach(self) -> frozenset[int]:
        now = time.monotonic()
        return frozenset(place for place, until in self._away.items() if until > now)

    def _is_unfit(self, collection: int) -> bool:
        return self._unfit.get(collection, 0.0) > time.monotonic()


@dataclass(slots=True)
class _Run:
    """A spell as the ledger has it: nothing of it is left where there was nothing to do."""

    ledger: Ledger
    number: int
    started: float
    spell: _Spell | None = None

    def end(self) -> IngestReport | None:
        """Note the end; doing so again changes nothing but the time."""
        if self.spell is None or not self.spell.taken:
            self.ledger.drop_run(self.number)
            return None
        report = self.spell.tally.report(
            skipped=self.spell.skipped, seconds=time.perf_counter() - self.started
        )
        self.ledger.end_run(self.number, report.as_json())
        return report


class _Spell:
    """Some time of work on one collection's queue."""

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        settings: Settings,
        worker: QueueWorker,
        away: dict[int, float],
        stop: threading.Event,
    ) -> None:
        self._store = store
        self._collection = collection
        self._steps = steps
        self._settings = settings
        self._worker = worker
        self._away = away
        self._stop = stop
        self._until = time.monotonic() + _SPELL_S
        self._places: dict[int, PlaceAgain] = {}
        self._whole: list[tuple[QueuedFile, Listing, bool]] = []  # what holds other things
        self.tally = Tally()
        self.taken = 0
        self.skipped = SkippedFiles()  # in mails and archives

    def run(self, *, alone: bool) -> bool:
        """Take in what there is; if `alone`, one file only. Say whether there was any."""
        before, settings = self.taken, self._settings
        processes = settings.jobs or parser_count()
        with ParserPool(processes, limits(settings)) as parsers:
            what = (self._store, self._collection, self._steps, settings)
            pipeline = Pipeline(*what, parsers, self._worker, self.tally)
            pipeline.run(self._items(parsers, alone=alone), self._look)
            self._tick_off()
        return self.taken > before

    def _look(self) -> None:
        if self._stop.is_set():
            raise Ended

    def _items(self, parsers: ParserPool, *, alone: bool) -> Iterator[Item]:
        """Take files from the queue, and yield what is in them."""
        while not self._stop.is_set() and time.monotonic() < self._until:
            if self._worker.count_under_way() >= _UNDER_WAY:
                self._stop.wait(_PAUSE_S)
                continue
            now = time.monotonic()
            without = [place for place, until in self._away.items() if until > now]
            limit = 1 if alone else _TOGETHER
            files = self._worker.next_files(limit, without=without, alone=alone)
            for file in files:
                yield from self._found(file, parsers)
            if not files or alone:
                return

    def _found(self, file: QueuedFile, parsers: ParserPool) -> Iterator[Item]:
        """Find a file again; what is there now is taken, whatever it was when it was queued."""
        try:
            place = self._place(file.place)
            listing = place.listing(file.path)
        except AwayError as error:
            if self._away.get(file.place, 0.0) < time.monotonic():
                log.warning("left to others: %s", error)
            self._away[file.place] = time.monotonic() + _AWAY_S
            self._worker.leave(file.job, f"not on {host()}: {error}")
            return
        self.taken += 1
        if listing is None:
            self._vanished(file, sync=place.sync)
            return
        found = [item for _, item in listing.files()]
        if any(isinstance(item, Container | RecordFile) for item in found):
            self._whole.append((file, listing, place.sync))
        elif file.job.uri not in {item.uri for item in found}:  # of a format not known here
            reason = "no format that is read here, or a page that moved"
            self._fail(file, IngestError("read", reason))
        yield from unpacked(found, parsers, self._steps.max_file_bytes)

    def _place(self, number: int) -> PlaceAgain:
        if number not in self._places:
            root, said = self._worker.place(number)
            self._places[number] = PlaceAgain(root, said, self._settings)
        return self._places[number]

    def _vanished(self, file: QueuedFile, *, sync: bool) -> None:
        """Forget a file that is gone, if whoever queued it wished so; else it fails."""
        if not sync:
            gone = "it was not there any more when its turn came"
            self._fail(file, IngestError("read", gone))
            return
        stored = self._store.named(self._collection)
        self._finish(file)
        uris = [uri for uri in stored if is_in(uri, file.job.uri)]
        if uris:
            self.tally.count(deleted=self._store.delete_uris(self._collection, uris))

    def _tick_off(self) -> None:
        """Finish archives and files of records, of which everything is done now."""
        for file, listing, sync in self._whole:
            if sync:
                delete_vanished(self._store, self._collection, listing, self.tally)
            self.skipped += listing.skipped
            if self._worker.is_held(file.job):
                self._finish(file)
        self._whole = []

    def _finish(self, file: QueuedFile) -> None:
        try:
            self._worker.finish(file.job)
        except LeaseLostError:
            log.info("job %d: no longer ours", file.job.id)

    def _fail(self, file: QueuedFile, error: IngestError) -> None:
        try:
            self._worker.fail(file.job, error.stage, error.reason)
        except LeaseLostError:
            self.tally.count(lost=1)
        else:
            self.tally.failed(file.job.uri, error.stage, error.reason)
