"""One ingestion: what changed becomes documents in the store, each whole in one transaction.

It opens what the stages need, starts again where the database was away for a while, and reports.
It knows nothing of formats, tokens or SQL.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal

from ragkit.embed.unread_languages import unread
from ragkit.errors import OtherModelError
from ragkit.upkeep.served_vectors import check_server
from ragkit_ingest.executor.pipeline import Pipeline, Shared
from ragkit_ingest.parser.pool import ParseLimits, ParserPool
from ragkit_ingest.run.boilerplate_scan import folder_of, repeated_lines
from ragkit_ingest.run.changes import groups_of
from ragkit_ingest.run.outage import AWAY, is_away, waits_s
from ragkit_ingest.run.recipe import steps_of
from ragkit_ingest.run.report import IngestReport, Progress
from ragkit_ingest.run.steps import read
from ragkit_ingest.run.tally import Tally
from ragkit_ingest.run.unpacking import unpacked
from ragkit_ingest.run.vanished import delete_vanished, tell_of_kept
from ragkit_ingest.run.watch_state import WatchState
from ragkit_ingest.sources import SourceOptions, find
from ragkit_ingest.sources.places import Places, several

if TYPE_CHECKING:
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.settings import Settings
    from ragkit.store.jobs.worker import Worker
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors import BuildProgress
    from ragkit_ingest.executor.ray.waves import Waves
    from ragkit_ingest.run.boilerplate_scan import Lines
    from ragkit_ingest.run.steps import Steps
    from ragkit_ingest.sources import Listing
    from ragkit_ingest.sources.item import Item

log = logging.getLogger("ragkit.ingest")

JOB_KIND: Final = "ingest"
_MOST_FAILED: Final = 10_000  # arbitrary: those of a watched folder that are not tried at each look

Engine = Literal["local", "ray"]


def ingest(
    places: Places,
    *,
    settings: Settings | None = None,
    collection: str | None = None,
    embedders: Embedders | None = None,
    jobs: int | None = None,
    sources: SourceOptions | None = None,
    sync: bool = False,
    force: bool = False,
    engine: Engine = "local",
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_index: Callable[[BuildProgress], None] | None = None,
) -> IngestReport:
    """Take files, folders and other places into a collection; what did not change costs one hash.

    `places` is one place, or a sequence of them: a path, an address, or a `Text`. `embedders` are
    models that may be loaded already, made of the same settings.
    `jobs` is the number of parser processes, `sources` what is taken of the places. With `sync`,
    documents whose files have vanished from these places are deleted; with `force`, unchanged ones
    are made anew. `engine` says what works on them: this program, or a Ray cluster. `on_index` is
    told, from another thread, how far the vector index is, where one is built at the end. A file
    that fails is in the report's `failures` and never stops the others.
    Raises NotFoundError for a missing path, DatabaseError when the database stays away, ModelError,
    and OtherModelError when the settings name another model than the collection's on purpose.
    """
    with ingesting(
        places,
        collection,
        settings=settings,
        embedders=embedders,
        jobs=jobs,
        sources=sources,
        sync=sync,
        force=force,
        engine=engine,
        on_progress=on_progress,
        on_index=on_index,
    ) as look:
        return look()


@contextmanager
def ingesting(
    places: Places,
    collection: str | None = None,
    *,
    settings: Settings | None = None,
    embedders: Embedders | None = None,
    jobs: int | None = None,
    sources: SourceOptions | None = None,
    sync: bool = False,
    force: bool = False,
    engine: Engine = "local",
    watch: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_index: Callable[[BuildProgress], None] | None = None,
) -> Iterator[Callable[[], IngestReport]]:
    """Lend what does what `ingest` does, as often as it is called, with one load of the model.

    With `watch`, files that look as they did the time before are not read again, and a time at
    which nothing was found leaves no trace in the ledger. The embedded database runs meanwhile.
    """
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.settings import load_settings
    from ragkit.store.open import open_database

    settings = settings or load_settings()
    if engine == "ray":
        from ragkit_ingest.executor.ray.cluster import check

        check(settings)
    listing = find(several(places), sources, settings=settings)
    models = embedders or Embedders(settings)
    name = collection or settings.collection
    watch_state = WatchState() if watch else None

    def look() -> IngestReport:
        return _Run(
            *(models, name, listing, watch_state),
            jobs=jobs,
            sync=sync,
            force=force,
            engine=engine,
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
        watch_state: WatchState | None,
        *,
        jobs: int | None,
        sync: bool,
        force: bool,
        engine: Engine,
        on_progress: Callable[[Progress], None],
        on_index: Callable[[BuildProgress], None] | None,
    ) -> None:
        self._embedders = embedders
        self._settings = embedders.settings
        self._collection = collection
        self._listing = listing
        self._watch_state = watch_state
        self._jobs = jobs
        self._sync = sync
        self._force = force
        self._engine = engine
        self._on_progress = on_progress
        self._on_index = on_index
        self._started = time.perf_counter()
        self._tally = Tally()
        self._has_begun = False  # whether the database was there at all
        self._is_new = False  # whether the collection was created here
        self._run: int | None = None  # as the ledger knows it
        self._notices: tuple[str, ...] = ()

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
            skipped=self._listing.skipped,
            seconds=time.perf_counter() - self._started,
            notices=self._notices,
        )

    def _once(self) -> None:
        from ragkit.store.open import open_database

        with open_database(self._settings) as database:
            store = database.store(self._settings.tenant, durable=False)
            owner, is_new = store.add_collection(self._collection)
            self._is_new |= is_new
            self._run = None
            try:
                self._fill(store, owner.id)
            finally:
                if self._is_new and self._watch_state is None:
                    store.drop_unused(owner.id, self._run)

    def _fill(self, store: PostgresStore, collection: int) -> None:
        """Take what is in the places into a collection."""
        steps = steps_of(self._embedders, store, self._collection, strict=True)
        self._has_begun = True
        files = self._files(store, steps)
        first = next(files, None)
        if first is not None:
            check_server(store, self._collection, steps.embedder, steps.options)
        try:
            if first is not None or self._watch_state is None:
                self._run = store.job_ledger.start_run(collection, JOB_KIND)
                self._take_in(store, collection, steps, chain(filter(None, [first]), files))
        except OtherModelError as error:
            raise OtherModelError(
                f"collection {self._collection!r} was moved to another embedding model while"
                " files were taken in: what is stored stays; run the same command again"
            ) from error
        if self._sync:
            delete_vanished(store, self._collection, self._listing, self._tally)
            tell_of_kept(store, self._collection, self._listing, self._tally)
        self._notices = self._noticed(store)
        self._end(store, collection)
        if self._tally.has_changed:
            store.finish_load(self._collection, steps.embedder.space, self._on_index)

    def _files(self, store: PostgresStore, steps: Steps) -> Iterator[Item]:
        """Yield the files that are to be read."""
        files = (item for _, item in self._listing.files())
        if self._watch_state is None:
            return files
        self._watch_state.begin(steps)
        failed = failing(store, self._collection) if self._watch_state.failures else {}
        known = partial(store.known, self._collection)
        return self._watch_state.changed(files, steps, known, failed, self._tally)

    def _end(self, store: PostgresStore, collection: int) -> None:
        """Note in the ledger what was done; where that is nothing, a look leaves nothing there."""
        report, ledger = self._report(), store.job_ledger
        if self._run is not None or (self._watch_state is not None and self._watch_state.failures):
            ledger.settle(self._mended(store))
        others_failed = self._watch_state is None or self._watch_state.end(report.failures)
        if others_failed or report.has_changed:
            run = ledger.start_run(collection, JOB_KIND) if self._run is None else self._run
            ledger.end_run(run, report.as_json())
        elif self._run is not None:
            ledger.drop_run(self._run)

    def _noticed(self, store: PostgresStore) -> tuple[str, ...]:
        """Say which of the documents just written the collection's model does not read."""
        space = store.active_space(self._collection) if self._tally.languages else None
        noted = unread(space.model, self._tally.languages) if space else None
        if noted is None:
            return ()
        remedy = noted.remedy(self._collection, self._settings)
        return (f"{noted.sentence()} Remedy: {remedy}",)

    def _take_in(
        self, store: PostgresStore, collection: int, steps: Steps, files: Iterable[Item]
    ) -> None:
        settings = self._settings
        processes = self._jobs or settings.jobs or parser_count()
        with (
            Shared(processes, limits(settings)) as shared,
            store.job_ledger.worker(collection, run=self._run) as worker,
        ):
            parsers = shared.parsers
            if steps.options.boilerplate == "drop":
                steps.lines = self._repeated_lines(store, parsers, steps)
            stages = self._stages(store, steps, shared, worker)
            unpack = unpacked if self._watch_state is None else self._watch_state.unpack
            stages.run(groups_of(unpack(files, parsers, steps.max_file_bytes)), self._look)

    def _stages(
        self, store: PostgresStore, steps: Steps, shared: Shared, worker: Worker
    ) -> Pipeline | Waves:
        """Make what does the work: threads and processes of this program, or a Ray cluster."""
        what = (store, self._collection, steps, self._settings)
        if self._engine == "local":
            return Pipeline(*what, shared, worker, self._tally, force=self._force)
        from ragkit_ingest.executor.ray.waves import Waves

        processes = self._jobs or self._settings.jobs
        at_most = limits(self._settings)
        return Waves(*(*what, at_most, worker, self._tally), parsers=processes, force=self._force)

    def _repeated_lines(self, store: PostgresStore, parsers: ParserPool, steps: Steps) -> Lines:
        """Look through the folders in which something has changed."""
        max_bytes = steps.max_file_bytes
        known = store.known(self._collection)
        listing = copy(self._listing)  # what is found of it while it is taken in is another matter
        folders = {
            folder_of(item.uri)
            for item in unpacked(listing, parsers, max_bytes)
            if self._force or not steps.is_known(read(item, max_bytes=max_bytes), known)
        }
        items = unpacked(listing, parsers, max_bytes)
        changed = (item for item in items if folder_of(item.uri) in folders)
        return repeated_lines(changed, parsers, steps.parse_options, max_bytes=max_bytes)

    def _mended(self, store: PostgresStore) -> list[int]:
        """List the jobs of what could not be looked through once, and was now."""
        failed = store.job_ledger.jobs(
            collection=self._collection, state="failed", limit=_MOST_FAILED
        )
        return [
            job.id
            for job in failed
            if job.kind == JOB_KIND
            and job.uri not in self._tally.found
            and self._listing.has_entered(job.uri)
        ]

    def _look(self) -> None:
        tally = self._tally
        seconds = time.perf_counter() - self._started
        self._on_progress(Progress(tally.done, tally.seen, tally.embedded, seconds))


def failing(store: PostgresStore, collection: str) -> dict[str, str]:
    """Map the files that failed, as the ledger has it, to the hash of what failed."""
    failed = store.job_ledger.jobs(collection=collection, state="failed", limit=_MOST_FAILED)
    return {job.uri: job.content_hash for job in failed}


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
        text_chars=settings.parse_text_mchars * 1_000_000,
    )
