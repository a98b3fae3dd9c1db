"""A worker's shift, from one opening of the database to its end: whose queue is worked on when.

When the process is told to end, its jobs are released; when it is killed, the ledger knows them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import psycopg

from ragkit.errors import (
    DatabaseError,
    LeaseLostError,
    ModelError,
    ModelServerError,
    NotFoundError,
    OtherModelError,
    SettingsError,
)
from ragkit.store.connection.identity import keeps_sessions
from ragkit.store.jobs.queue import QueueWorker, next_queue, waiting
from ragkit.store.jobs.upload_bytes import CHANNEL
from ragkit.store.jobs.worker_connection import WorkerConnection
from ragkit.system.trimming import Trimming
from ragkit.upkeep.served_vectors import check_server
from ragkit_ingest.executor.pipeline import Shared
from ragkit_ingest.run.recipe import steps_of
from ragkit_ingest.run.run import limits, parser_count
from ragkit_ingest.run.skipped import SkippedFiles
from ragkit_ingest.run.tally import Tally
from ragkit_ingest.worker.spell import Ended, Run, Spell, Unreachable
from ragkit_ingest.worker.upkeep import Tidying

if TYPE_CHECKING:
    from psycopg import Connection

    from ragkit.knowledge.embedders import Embedders
    from ragkit.store.jobs.queue import Waiting
    from ragkit.store.open import Database
    from ragkit_ingest.run.report import IngestReport
    from ragkit_ingest.run.steps import Steps

log = logging.getLogger("ragkit.worker")

# Parsers that have had nothing to do for so long are ended: their words and tokens take some 180 MB
# each, and a new one a second. Arbitrary.
_REST_AFTER_S: Final = 300.0
POLL_S: Final = 1.0  # between looks for jobs that a dead worker left; new ones are notified
_LOOK_S: Final = 0.1  # between looks at whether a spell has ended
# At the end; together less than ragkit.system.ending leaves the process.
_GIVE_BACK_S: Final = 0.4  # for each statement that releases jobs
_JOIN_S: Final = 0.8  # for a running embedding
_TOGETHER: Final = 16  # uploads failed at a time
_MOST_AT_ONCE: Final = 4  # spells of one tenant, arbitrary: each holds files in memory
_TURN_S: Final = 5.0  # arbitrary: of a spell, where others wait for their turn
_ALONE_AFTER_S: Final = 10.0  # arbitrary: between suspects, while other files wait


@dataclass(eq=False, slots=True)
class _Turn:
    """A spell that a thread is at: whose queue, since when, and how it is told to give way."""

    queue: Waiting
    alone: bool
    began: float = field(default_factory=time.monotonic)
    give_way: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    run: Run | None = None
    has_ended: bool = False


class Shift:
    """The work from one opening of the database to its end or the process's.

    Each queue is worked on by one thread, and tenants take turns. `lost` are numbers of workers
    whose jobs are released first; `reports` gets one for each spell.
    """

    def __init__(
        self,
        database: Database,
        embedders: Embedders,
        lost: list[int] | None = None,
        reports: list[IngestReport] | None = None,
    ) -> None:
        settings = embedders.settings
        self._database = database
        self._embedders = embedders
        self._settings = settings
        self._lost = [] if lost is None else lost
        self.reports = [] if reports is None else reports
        self.left = 0  # queued files that others have to take in
        self._at_once = min(settings.jobs or max(2, parser_count()), _MOST_AT_ONCE)
        self._slots = self._at_once + 1  # one more than a tenant gets, for others
        parsers = max(settings.jobs or parser_count(), self._at_once) + 1
        self._shared = Shared(parsers, limits(settings), pipelines=self._slots)
        self._parsing: dict[str, threading.Semaphore] = {}  # by tenant
        self._unreachable = Unreachable()
        self._tidy = Tidying(database)
        self._tidying: threading.Thread | None = None
        self._keeps_reports = True
        self._turns: list[_Turn] = []
        self._last = ""  # the tenant whose turn was last
        self._alone_at = float("-inf")
        self._bell = threading.Event()  # a spell has ended
        self._errors: list[Exception] = []
        self.stop = threading.Event()

    def run(self, *, until_empty: bool = False) -> None:
        """Work until the process is told to end or something fails; then release everything.

        With `until_empty` also until nothing waits.
        """
        self._keeps_reports = until_empty  # for ever, they would be many
        pool = self._database.pool
        with pool.connection() as conn, pool.connection() as listening:
            connection = WorkerConnection(conn)
            try:
                connection.give_back(self._lost)
                self._lost.clear()
                with self._listening(listening) as wait:
                    self._attend(connection, wait, until_empty=until_empty)
            finally:
                self._end(connection)

    def _attend(
        self, connection: WorkerConnection, wait: Callable[[], None], *, until_empty: bool
    ) -> None:
        """Begin spells on the queues that hold something, as there are free threads."""
        trim = Trimming()
        worked_at = time.monotonic()
        while not self._errors:
            queues = waiting(self._database.pool)
            self._turns = [turn for turn in self._turns if not turn.has_ended]
            self._begin(connection, queues)
            if self._turns:
                worked_at = time.monotonic()
            elif time.monotonic() - worked_at > _REST_AFTER_S:
                self._shared.rest()
                worked_at = float("inf")  # once
            if until_empty and not self._turns and self._is_done(queues):
                self._tidy.finish()
                return
            if not self._turns:
                self._begin_tidying()
                trim()
            wait()
        raise self._errors[0]

    def work(self, connection: WorkerConnection, queue: Waiting, *, alone: bool = False) -> None:
        """Work on one queue for a while, in this thread. Raises Ended."""
        self._spell(connection, _Turn(queue, alone))

    def close(self) -> None:
        """End the processes of parsers and splitters."""
        self._shared.close()

    def _begin(self, connection: WorkerConnection, queues: Sequence[Waiting]) -> None:
        """Begin spells: one with a suspect, which goes alone, or as many as fit."""
        if any(turn.alone for turn in self._turns):
            return
        ordinary = [queue for queue in queues if self._is_due(queue, queue.places)]
        suspects = [queue for queue in queues if self._is_due(queue, queue.suspect_places)]
        is_late = time.monotonic() - self._alone_at > _ALONE_AFTER_S
        if not suspects or (ordinary and not is_late):
            self._begin_ordinary(connection, ordinary)
        elif self._turns:
            for turn in self._turns:
                turn.give_way.set()
        else:
            self._alone_at = time.monotonic()
            self._start(connection, suspects[0], alone=True)

    def _begin_ordinary(self, connection: WorkerConnection, queues: Sequence[Waiting]) -> None:
        """Begin spells, of one tenant after the other."""
        at_work = {turn.queue.collection for turn in self._turns}
        tenants = Counter(turn.queue.tenant for turn in self._turns)
        waiting = [queue for queue in queues if queue.collection not in at_work]
        while waiting:
            queue = next_queue(waiting, self._last)
            waiting.remove(queue)
            if tenants[queue.tenant] >= self._at_once:
                continue
            if len(self._turns) >= self._slots:
                self._call_for_turn()
                return
            tenants[queue.tenant] += 1
            self._last = queue.tenant
            self._start(connection, queue)

    def _call_for_turn(self) -> None:
        """Have the spell that has lasted longest give way, if it had its time."""
        oldest = min(self._turns, key=lambda turn: turn.began)
        if time.monotonic() - oldest.began > _TURN_S:
            oldest.give_way.set()

    def _is_due(self, queue: Waiting, places: set[int | None]) -> bool:
        """Tell whether something waits at these places that this machine can take in."""
        if None in places:
            return True
        is_reachable = queue.collection not in self._unreachable.collections
        is_tenant = queue.tenant == self._settings.tenant
        return bool(places - self._unreachable.places) and is_tenant and is_reachable

    def _is_done(self, queues: Sequence[Waiting]) -> bool:
        """Tell whether nothing waits for this machine, and nobody is at work that may yet fail."""
        tenant = self._settings.tenant
        self.left = sum(queue.files for queue in queues if queue.tenant == tenant)
        places = [(queue, queue.places | queue.suspect_places) for queue in queues]
        is_due = any(self._is_due(queue, numbers) for queue, numbers in places)
        return not is_due and not any(queue.at_work for queue in queues)

    def _start(self, connection: WorkerConnection, queue: Waiting, *, alone: bool = False) -> None:
        turn = _Turn(queue, alone)
        target = self._guarded
        name = f"queue-{queue.collection}"
        turn.thread = threading.Thread(
            target=target, args=(connection, turn), daemon=True, name=name
        )
        self._turns.append(turn)
        turn.thread.start()

    def _guarded(self, connection: WorkerConnection, turn: _Turn) -> None:
        """Do a spell; an error that is no document's ends the shift."""
        try:
            self._spell(connection, turn)
        except Ended:
            pass
        except Exception as error:  # noqa: BLE001  handed to the main thread
            self._errors.append(error)
        finally:
            turn.has_ended = True
            self._bell.set()

    def _spell(self, connection: WorkerConnection, turn: _Turn) -> None:
        queue = turn.queue
        store = self._database.store(queue.tenant)
        try:
            steps = steps_of(self._embedders, store, queue.name, strict=False)
            with suppress(ModelServerError):  # the run waits for a server that is away
                check_server(store, queue.name, steps.embedder, steps.options)
            steps.get_ready()
            run = Run(store.job_ledger, store.job_ledger.start_run(queue.collection, "worker"))
        except NotFoundError:  # the collection was deleted
            return
        except (ModelError, OtherModelError, SettingsError) as error:
            self._refuse(connection, turn, error)
            return
        turn.run = run
        worker = QueueWorker(connection, queue.tenant, queue.collection, run=run.number)
        run.spell = self._make_spell(turn, steps, worker)
        report: IngestReport | None = None
        try:
            run.spell.run()
        except NotFoundError:
            log.info("a collection was deleted while files were taken into it")
        except OtherModelError:
            log.info("collection %r was moved to another model: begun again", queue.name)
        finally:
            try:
                worker.close()
            finally:
                report = run.end()
        if report is not None:
            self._report(queue, report)

    def _make_spell(self, turn: _Turn, steps: Steps, worker: QueueWorker) -> Spell:
        queue, settings = turn.queue, self._settings
        has_places = (
            queue.tenant == settings.tenant
            and queue.collection not in self._unreachable.collections
        )
        parsing = self._parsing.setdefault(
            queue.tenant, threading.Semaphore(self._shared.parsers.workers - 1)
        )
        return Spell(
            *(self._database, queue, steps, settings, self._shared, worker, self._unreachable),
            has_places=has_places,
            alone=turn.alone,
            stop=self.stop,
            give_way=turn.give_way,
            parsing=parsing,
        )

    def _refuse(self, connection: WorkerConnection, turn: _Turn, error: Exception) -> None:
        """Leave a collection's files to machines with its model; fail its uploads."""
        queue, tally = turn.queue, Tally()
        log.warning("collection %r is left to others: %s", queue.name, error)
        self._unreachable.add_collection(queue.collection)
        worker = QueueWorker(connection, queue.tenant, queue.collection)
        while files := worker.next_files(_TOGETHER, places=False, alone=turn.alone):
            for job in (file.job for file in files):
                with suppress(LeaseLostError):
                    worker.fail(job, "embed", str(error))
                    tally.failed(job.uri, "embed", str(error))
                    log.info("job %d of tenant %r: failed at embed", job.id, queue.tenant)
        if tally.failures and self._keeps_reports:
            self.reports.append(tally.report(skipped=SkippedFiles(), seconds=0.0))

    def _report(self, queue: Waiting, report: IngestReport) -> None:
        if self._keeps_reports:
            self.reports.append(report)
        log.info(
            "collection %r: %d added, %d updated, %d unchanged, %d deleted, %d failed in %.1f s",
            *(queue.name, report.added, report.updated, report.unchanged, report.deleted),
            report.failed,
            report.seconds,
        )
        if report.has_changed:
            changed = report.added + report.updated + report.deleted + report.copies
            self._tidy.note(queue.tenant, queue.name, changed)

    def _begin_tidying(self) -> None:
        """See to the indexes in a thread, as this may take long."""
        if self._tidying is not None and self._tidying.is_alive():
            return
        if self._tidy.is_due():
            self._tidying = threading.Thread(target=self._tidy_up, daemon=True, name="tidy")
            self._tidying.start()

    def _tidy_up(self) -> None:
        try:
            self._tidy.finish()
        except Exception as error:  # noqa: BLE001  handed to the main thread
            self._errors.append(error)

    def _end(self, connection: WorkerConnection) -> None:
        """Stop the spells and release their jobs, for as long as there is time.

        A job that cannot be released, because a statement that waits uses the connection, is free
        when the connection ends with the process.
        """
        self.stop.set()
        _within(_GIVE_BACK_S, lambda: connection.give_back([connection.number]))
        self.close()
        _within(_GIVE_BACK_S, self._end_runs)
        end = time.monotonic() + _JOIN_S
        for turn in self._turns:
            if turn.thread is not None:
                turn.thread.join(max(0.0, end - time.monotonic()))
        if not _within(_GIVE_BACK_S, connection.close):
            self._lost.append(connection.number)

    def _end_runs(self) -> None:
        for turn in self._turns:
            if turn.run is not None and not turn.has_ended:  # its thread may not get so far
                turn.run.end()

    @contextmanager
    def _listening(self, conn: Connection[Any]) -> Iterator[Callable[[], None]]:
        """Lend the function that waits for news of jobs or the end of a spell, POLL_S at most.

        A pooler passes no notification on.
        """
        if not keeps_sessions(conn):
            yield partial(self._wait, self._bell.wait)
            return
        try:
            conn.execute(f"LISTEN {CHANNEL}")
            yield partial(
                self._wait, lambda seconds: any(conn.notifies(timeout=seconds, stop_after=1))
            )
        finally:
            conn.close()  # it listens: not for others to use

    def _wait(self, is_told: Callable[[float], bool]) -> None:
        end = time.monotonic() + POLL_S
        while not self._bell.is_set() and time.monotonic() < end:
            if is_told(_LOOK_S):
                break
        self._bell.clear()


def _within(seconds: float, work: Callable[[], None]) -> bool:
    """Do work that needs the database, for so long at most; tell whether it was done."""
    done = threading.Event()

    def run() -> None:
        with suppress(psycopg.Error, DatabaseError):
            work()
            done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return done.is_set()
