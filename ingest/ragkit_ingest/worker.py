"""The ingestion worker: uploaded and queued files become documents as they come.

It waits for the database whenever that is away, gives back what it was at when it is told to end,
and leaves nothing undone when it is killed: the ledger knows. It knows nothing of HTTP or SQL.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import psycopg

from ragkit.errors import (
    DatabaseError,
    IngestError,
    LeaseLostError,
    MigrationError,
    NotFoundError,
)
from ragkit.store.acting import act_for, keeps_sessions
from ragkit_ingest.models import adopt, steps_of
from ragkit_ingest.queued import Ended, QueuedFiles
from ragkit_ingest.run import limits, parser_count
from ragkit_ingest.sandbox import ParserPool
from ragkit_ingest.tidying import Tidying
from ragkit_ingest.upload import BrokenOff, Uploads

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.embedders import Embedders
    from ragkit.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.upload_worker import TakenUpload, UploadWorker
    from ragkit_ingest.report import IngestReport
    from ragkit_ingest.steps import Steps
    from ragkit_ingest.upload import StepsOf

log = logging.getLogger("ragkit.worker")

POLL_S: Final = 1.0  # between looks for jobs that a dead worker left; new ones are notified
_FIRST_WAIT_S: Final = 0.1  # between tries to reach a database that is away,
_LONGEST_WAIT_S: Final = 5.0  # doubled up to this
# At the end; together less than ragkit.ending leaves the process.
_GIVE_BACK_S: Final = 0.4  # for each statement that gives work back
_JOIN_S: Final = 0.8  # for a running embedding
_MOST_AT_ONCE: Final = 4  # arbitrary; each holds a file in memory, and parses in its own process


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker has done by the time that nothing waits any more.

    `left` counts queued files that are for other workers: this one does not reach them.
    """

    reports: tuple[IngestReport, ...]
    left: int


def work(settings: Settings, *, until_empty: bool = False) -> Done:
    """Take in uploads, of all tenants, and queued files, of the settings' tenant.

    It comes back only with `until_empty`, when nothing waits and no other worker is at anything
    that was queued. Raises ModelError without an embedding model, MigrationError for a database
    that is newer.
    """
    from ragkit.embedders import Embedders
    from ragkit.store.open import open_database

    embedders = Embedders(settings)
    embedders.default.load()
    reports: list[IngestReport] = []  # of shifts that the database ended
    lost: list[int] = []  # workers that this process was when the database went away
    wait_s = _FIRST_WAIT_S
    while True:
        started = time.monotonic()
        files: QueuedFiles | None = None
        try:
            with open_database(settings) as database:
                log.info("ready for uploads and queued files")
                shift = Shift(database, settings, partial(_steps, embedders), lost)
                shift.files = files = QueuedFiles(database, embedders, shift.stop)
                shift.run(until_empty=until_empty)
                return Done((*reports, *files.reports), files.left)
        except MigrationError:
            raise
        except (DatabaseError, psycopg.OperationalError, psycopg.InterfaceError) as error:
            log.warning("waiting for the database: %s", " ".join(str(error).split()))
        if files is not None:
            reports += files.reports
        lasted = time.monotonic() - started > _LONGEST_WAIT_S
        wait_s = _FIRST_WAIT_S if lasted else min(2 * wait_s, _LONGEST_WAIT_S)
        time.sleep(wait_s)


def _steps(embedders: Embedders, store: PostgresStore, collection: str) -> Steps:
    """Return the steps for a collection, with its own model."""
    steps = steps_of(embedders, store, collection, strict=False)
    if steps.new:
        steps.embedder.load()
        adopt(steps, embedders.settings, store, collection)
    return steps


class Shift:
    """The work from one opening of the database to its end or the process's."""

    def __init__(
        self, database: Database, settings: Settings, steps_of: StepsOf, lost: list[int]
    ) -> None:
        self._database = database
        self._steps_of = steps_of
        self._lost = lost
        self._at_once = min(settings.jobs or max(2, parser_count()), _MOST_AT_ONCE)
        self._parsers = ParserPool(self._at_once + 1, limits(settings))
        self._claiming = threading.Lock()
        self._under_way: Counter[str] = Counter()  # uploads by tenant; for _claiming to change
        self.stop = threading.Event()
        self._bell = _Bell()
        self._errors: list[Exception] = []
        self._tidy = Tidying(database)
        self._idle: dict[str, int] = {}  # threads with nothing to do, and the ring they heard last
        self._until_empty = False
        self.files: QueuedFiles | None = None  # None: uploads alone

    def run(self, *, until_empty: bool = False) -> None:
        """Work until the process is told to end or something fails; then give everything back.

        With `until_empty` also until nothing waits.
        """
        from ragkit.store.upload_worker import UploadWorker

        self._until_empty = until_empty
        pool = self._database.pool
        with pool.connection() as own, _told(pool) as wait:
            queue = UploadWorker(own)
            uploads = Uploads(self._database, self._steps_of, self._parsers, queue, self.stop)
            threads = [
                threading.Thread(
                    target=self._work,
                    args=(queue, uploads),
                    daemon=True,
                    name=f"upload-{n}",
                )
                for n in range(self._at_once + 1)  # one more than a tenant gets, for others
            ]
            if self.files is not None:
                threads.append(threading.Thread(target=self._file, daemon=True, name="files"))
            try:
                queue.give_back(self._lost)
                self._lost.clear()
                for thread in threads:
                    thread.start()
                while not self._errors:
                    wait()
                    if until_empty and self._is_done(len(threads)):
                        return
                    self._bell.ring()
                raise self._errors[0]
            finally:
                self._end(queue, threads)

    def _end(self, queue: UploadWorker, threads: list[threading.Thread]) -> None:
        self.stop.set()
        self._bell.ring()
        self._parsers.close()
        # What cannot be given back, because the connection is in use by a statement that waits, is
        # free when that connection ends with the process.
        _within(_GIVE_BACK_S, lambda: queue.give_back([queue.number]))
        if self.files is not None:
            _within(_GIVE_BACK_S, self.files.close)
        end = time.monotonic() + _JOIN_S
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))
        if not _within(_GIVE_BACK_S, queue.close):
            self._lost.append(queue.number)

    def _work(self, queue: UploadWorker, uploads: Uploads) -> None:
        """Do one upload after the other; the first error that is not a file's ends the shift."""
        try:
            while not self.stop.is_set():
                heard = self._bell.rings
                job = self._claim(queue)
                if job is None:
                    self._tidy.when_idle(queue)
                    self._rest(heard)
                    continue
                try:
                    self.do(queue, uploads, job)
                finally:
                    with self._claiming:
                        self._under_way[job.tenant] -= 1
                self._bell.ring()  # a thread may have left the tenant's next file alone
        except Exception as error:  # noqa: BLE001  handed to the main thread
            self._errors.append(error)

    def _claim(self, queue: UploadWorker) -> TakenUpload | None:
        """Take the next upload; one tenant never has all threads, however large its files are."""
        with self._claiming:
            full = [tenant for tenant, n in self._under_way.items() if n >= self._at_once]
            job = queue.claim(without=full)
            if job is not None:
                self._under_way[job.tenant] += 1
                self._idle.pop(threading.current_thread().name, None)  # before another thread looks
            return job

    def _file(self) -> None:
        """Take in queued files as they come; an error that is not a file's ends the shift."""
        assert self.files is not None
        try:
            while not self.stop.is_set():
                heard = self._bell.rings
                self._idle.pop(threading.current_thread().name, None)
                if not self.files.work():
                    self._rest(heard)
        except Ended:
            return
        except Exception as error:  # noqa: BLE001  handed to the main thread
            self._errors.append(error)

    def _rest(self, heard: int) -> None:
        """Wait for the bell. Where the end is waited for, what rang during the look counts not: a
        thread whose looks take long would never be seen at rest.
        """
        self._idle[threading.current_thread().name] = heard
        self._bell.wait(self._bell.rings if self._until_empty else heard)

    def _is_done(self, threads: int) -> bool:
        """Say whether every thread has looked once more after the start, and found nothing to do.

        What one of them leaves to be done again it looks for itself before it rests. The threads
        for uploads look one after the other: one that looks again counts as idle until it takes
        an upload, as slow looks would never let all of them rest at once.
        """
        heard = list(self._idle.values())
        idle = len(heard) == threads and min(heard) >= 1
        return idle and (self.files is None or self.files.is_done())

    def do(self, queue: UploadWorker, uploads: Uploads, job: TakenUpload) -> None:
        """Do one upload and record what came of it; only the database's absence is raised."""
        try:
            self._do(queue, uploads, job)
        except LeaseLostError:  # deleted, cancelled, or taken by another while we were away
            log.info("job %d of tenant %r: no longer ours", job.id, job.tenant)

    def _do(self, queue: UploadWorker, uploads: Uploads, job: TakenUpload) -> None:
        started = time.perf_counter()
        act_for(job.tenant, "")
        try:
            said = uploads.take_in(job)
        except BrokenOff:
            return
        except NotFoundError:  # its bytes or its collection
            queue.replaced(job)
            said = "a later file has taken its place"
        except IngestError as error:
            if self.stop.is_set():
                return  # broken off; it is given back
            queue.fail(job, error.stage, error.reason)
            said = f"failed at {error.stage}"
        except Exception as error:  # one file must not end the work on the others
            if _is_away(error):
                raise
            said = self._failed(queue, job, error)
        else:
            self._tidy.note(job)
        log.info(
            "job %d of tenant %r: %s, %.2f s",
            job.id,
            job.tenant,
            said,
            time.perf_counter() - started,
        )

    def _failed(self, queue: UploadWorker, job: TakenUpload, error: Exception) -> str:
        """Record what was not expected. A message may quote the document: the log gets none."""
        kind = type(error).__name__
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("job %d: %s\n%s", job.id, kind, frames.rstrip())
        again = queue.retry(job, "worker", f"{kind}: the worker's log says where")
        return f"{kind}, to be tried again" if again else f"failed by {kind}"


@contextmanager
def _told(pool: ConnectionPool[Connection[Any]]) -> Iterator[Callable[[], None]]:
    """Lend what waits until an upload is told of, or for POLL_S; a pooler passes nothing on."""
    from ragkit.store.sources import CHANNEL

    with pool.connection() as conn:
        if not keeps_sessions(conn):
            yield lambda: time.sleep(POLL_S)
            return
        try:
            conn.execute(f"LISTEN {CHANNEL}")
            yield lambda: deque(conn.notifies(timeout=POLL_S, stop_after=1), maxlen=0).clear()
        finally:
            conn.close()  # it listens: not for others to use


class _Bell:
    """Wakes all threads that wait; what rang before they waited counts as well."""

    def __init__(self) -> None:
        self.rings = 0
        self._condition = threading.Condition()

    def ring(self) -> None:
        with self._condition:
            self.rings += 1
            self._condition.notify_all()

    def wait(self, heard: int) -> None:
        """Wait until it has rung more often than `heard`."""
        with self._condition:
            self._condition.wait_for(lambda: self.rings > heard)


def _within(seconds: float, work: Callable[[], None]) -> bool:
    """Do what needs the database, for so long at most; say whether it was done."""
    done = threading.Event()

    def run() -> None:
        with suppress(psycopg.Error, DatabaseError):
            work()
            done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return done.is_set()


def _is_away(error: Exception) -> bool:
    """Tell whether an error is the database's absence, which no file is to blame for."""
    found: Any = error.__cause__ if isinstance(error, DatabaseError) else error
    return isinstance(found, psycopg.OperationalError | psycopg.InterfaceError)
