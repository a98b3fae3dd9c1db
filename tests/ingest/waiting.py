"""Queues in tests: work on what waits in this thread, as a worker would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from ragkit.knowledge.embedders import Embedders
from ragkit.store.jobs.queue import waiting
from ragkit.store.jobs.worker_connection import WorkerConnection
from ragkit.store.open import Database
from ragkit_ingest.run.report import IngestReport
from ragkit_ingest.worker.shift import Shift


@contextmanager
def worker_at(
    database: Database, embedders: Embedders, stop: Event | None = None
) -> Iterator[tuple[Shift, WorkerConnection]]:
    """Make a shift that is ready to work, and release what it has at the end."""
    shift = Shift(database, embedders)
    shift.stop = stop or shift.stop
    with database.pool.connection() as conn:
        connection = WorkerConnection(conn)
        try:
            yield shift, connection
        finally:
            shift.close()
            connection.close()


def work_off(
    database: Database, embedders: Embedders, stop: Event | None = None
) -> list[IngestReport]:
    """Work once on each queue that holds something; files that may be taken alone come last."""
    with worker_at(database, embedders, stop) as (shift, connection):
        for alone in (False, True):
            for queue in waiting(database.pool):
                if queue.suspect_places if alone else queue.places:
                    shift.work(connection, queue, alone=alone)
        return shift.reports
