"""One ingestion: what changed becomes documents in the store, each in one transaction.

It opens what the stages need, starts again where the database was away for a while, and reports.
It knows nothing of formats, tokens or SQL.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import OtherModelError
from ragkit_ingest.away import AWAY, is_away, waits_s
from ragkit_ingest.models import steps_of
from ragkit_ingest.pipeline import Pipeline
from ragkit_ingest.repeated import folder_of, repeated_lines
from ragkit_ingest.report import IngestReport, Progress
from ragkit_ingest.sandbox import ParseLimits, ParserPool
from ragkit_ingest.sources import SourceOptions, find
from ragkit_ingest.steps import read
from ragkit_ingest.tally import Tally
from ragkit_ingest.unpacking import unpacked

if TYPE_CHECKING:
    from ragkit.embedders import Embedders
    from ragkit.settings import Settings
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors import BuildProgress
    from ragkit_ingest.repeated import Lines
    from ragkit_ingest.sources import Listing
    from ragkit_ingest.steps import Steps

log = logging.getLogger("ragkit.ingest")

JOB_KIND: Final = "ingest"


def ingest(
    places: Sequence[Path | str],
    *,
    settings: Settings | None = None,
    collection: str | None = None,
    jobs: int | None = None,
    sources: SourceOptions | None = None,
    sync: bool = False,
    force: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_index: Callable[[BuildProgress], None] | None = None,
) -> IngestReport:
    """Take files, folders and other places into a collection; what did not change costs one hash.

    `jobs` is the number of parser processes, `sources` what is taken of the places. With `sync`,
    documents whose files have vanished from these places are deleted; with `force`, unchanged ones
    are made anew. `on_index` is told, from another thread, how far the vector index is, where one
    is built at the end. A file that fails is in the report's `failures` and never stops the others.
    Raises NotFoundError for a missing path, DatabaseError when the database stays away, ModelError,
    and OtherModelError when the settings name another model than the collection's on purpose.
    """
    with ingesting(
        places,
        collection,
        settings=settings,
        jobs=jobs,
        sources=sources,
        sync=sync,
        force=force,
        on_progress=on_progress,
        on_index=on_index,
    ) as look:
        return look()


@contextmanager
def ingesting(
    places: Sequence[Path | str],
    collection: str | None = None,
    *,
    settings: Settings | None = None,
    jobs: int | None = None,
    sources: SourceOptions | None = None,
    sync: bool = False,
    force: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_index: Callable[[BuildProgress], None] | None = None,
) -> Iterator[Callable[[], IngestReport]]:
    """Lend what does what `ingest` does, as often as it is called, with one load of the model.

    The embedded database runs meanwhile.
    """
    from ragkit.embedders import Embedders
    from ragkit.settings import load_settings
    from ragkit.store.open import open_database

    settings = settings or load_settings()
    listing = find([str(place) for place in places], sources, settings=settings)
    embedders = Embedders(settings)
    name = collection or settings.collection

    def look() -> IngestReport:
        return _Run(
            *(embedders, name, listing),
            jobs=jobs,
            sync=sync,
            force=force,
            on_progress=on_progress,
            on_index=on_index,
        ).report()

    with open_database(settings):
        yield look


class _Run:
    """One ingestion, over as many openings of the database as it takes."""

    def __init__(
        self,
        embedders: Embedders,
        collection: str,
        listing: Listing,
        *,
        jobs: int | None,
        sync: bool,
        force: bool,
        on_progress: Callable[[Progress], None],
        on_index: Callable[[BuildProgress], None] | None,
    ) -> None:
        self._embedders = embedders
        self._settings = embedders.settings
        self._collection = collection
        self._listing = listing
        self._jobs = jobs
        self._sync = sync
        self._force = force
        self._on_progress = on_progress
        self._on_index = on_index
        self._started = time.perf_counter()
        self._tally = Tally()
        self._has_begun = False  # whether the database was there at all

    def report(self) -> IngestReport:
        """Do it, and say what was done."""
        waits = waits_s()
        while True:
            try:
                self._once()
                break
            except AWAY as error:
                wait_s = next(waits, None)
                if not self._has_begun or not is_away(error) or wait_s is None:
                    raise
                log.warning("waiting for the database: %s", " ".join(str(error).split()))
                self._tally.begin_again()
                time.sleep(wait_s)
        return self._report()

    def _report(self) -> IngestReport:
        return self._tally.report(
            skipped=self._listing.skipped, seconds=time.perf_counter() - self._started
        )

    def _once(self) -> None:
        from ragkit.store.open import open_database

        with open_database(self._settings) as database:
            store = database.store(self._settings.tenant, durable=False)
            owner = store.create_collection(self._collection)
            steps = steps_of(self._embedders, store, self._collection, strict=True)
            run = store.job_ledger.start_run(owner.id, JOB_KIND)
            self._has_begun = True
            try:
                self._take_in(store, owner.id, run, steps)
            except OtherModelError as error:
                raise OtherModelError(
                    f"collection {self._collection!r} was moved to another embedding model while"
                    " files were taken in: what is stored stays; run the same command again"
                ) from error
            if self._sync:
                self._delete_vanished(store)
            store.job_ledger.end_run(run, self._report().as_json())
            if self._tally.has_changed:
                store.finish_load(self._collection, steps.embedder.space, self._on_index)

    def _take_in(self, store: PostgresStore, collection: int, run: int, steps: Steps) -> None:
        settings = self._settings
        processes = self._jobs or settings.jobs or parser_count()
        with (
            ParserPool(processes, limits(settings)) as parsers,
            store.job_ledger.worker(collection, JOB_KIND, run=run) as worker,
        ):
            if steps.options.boilerplate == "drop":
                steps.lines = self._repeated_lines(store, parsers, steps)
            pipeline = Pipeline(
                *(store, self._collection, steps, settings, parsers, worker, self._tally),
                force=self._force,
            )
            pipeline.run(unpacked(self._listing, parsers, steps.max_file_bytes), self._look)

    def _repeated_lines(self, store: PostgresStore, parsers: ParserPool, steps: Steps) -> Lines:
        """Look through the folders in which something has changed."""
        max_bytes = steps.max_file_bytes
        known = store.known(self._collection)
        folders = {
            folder_of(item.uri)
            for item in unpacked(self._listing, parsers, max_bytes)
            if self._force or not steps.is_known(read(item, max_bytes=max_bytes), known)
        }
        items = unpacked(self._listing, parsers, max_bytes)
        changed = (item for item in items if folder_of(item.uri) in folders)
        return repeated_lines(changed, parsers, steps.parse_options, max_bytes=max_bytes)

    def _delete_vanished(self, store: PostgresStore) -> None:
        """Delete what is stored and was not found again where it came from."""
        found = self._tally.found
        stored = store.named(self._collection)
        gone = [uri for uri in stored if uri not in found and self._listing.covers(uri)]
        self._tally.count(deleted=store.delete_uris(self._collection, gone) if gone else 0)

    def _look(self) -> None:
        tally = self._tally
        seconds = time.perf_counter() - self._started
        self._on_progress(Progress(tally.done, tally.seen, tally.embedded, seconds))


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
