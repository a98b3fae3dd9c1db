"""The ingestion worker: uploaded and queued files become documents as they come.

It waits for the database whenever that is away.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psycopg

from ragkit.errors import DatabaseError, MigrationError
from ragkit_ingest.worker.shift import Shift

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_ingest.run.report import IngestReport

log = logging.getLogger("ragkit.worker")

_FIRST_WAIT_S: Final = 0.1  # between tries to reach a database that is away,
_LONGEST_WAIT_S: Final = 5.0  # doubled up to this


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
    from ragkit.knowledge.embedders import Embedders
    from ragkit.store.open import open_database

    embedders = Embedders(settings)
    embedders.default.load()
    reports: list[IngestReport] = []
    lost: list[int] = []  # workers that this process was when the database went away
    wait_s = _FIRST_WAIT_S
    while True:
        started = time.monotonic()
        try:
            with open_database(settings) as database:
                log.info("ready for uploads and queued files")
                shift = Shift(database, embedders, lost, reports)
                shift.run(until_empty=until_empty)
                return Done(tuple(reports), shift.left)
        except MigrationError:
            raise
        except (DatabaseError, psycopg.OperationalError, psycopg.InterfaceError) as error:
            log.warning("waiting for the database: %s", " ".join(str(error).split()))
        has_worked = time.monotonic() - started > _LONGEST_WAIT_S
        wait_s = _FIRST_WAIT_S if has_worked else min(2 * wait_s, _LONGEST_WAIT_S)
        time.sleep(wait_s)
