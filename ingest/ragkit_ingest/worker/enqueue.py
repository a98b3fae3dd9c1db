"""`ragkit ingest --queue`: enter changed files in the ledger, for workers to ingest.

Files are read and hashed, so that unchanged files are not queued; archives and files of records are
queued unread. Nothing is parsed or embedded, and no model is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit.store.jobs.queue import queue_worker, waiting
from ragkit_ingest.clean.description import masked_reason, masked_sources
from ragkit_ingest.run.recipe import options_in, steps_of
from ragkit_ingest.run.report import SKIPPED_KEYS, IngestReport
from ragkit_ingest.run.skip_rules import passed_over
from ragkit_ingest.run.steps import read
from ragkit_ingest.run.tally import Tally
from ragkit_ingest.run.vanished import delete_vanished, tell_of_kept
from ragkit_ingest.sources import RecordFile, SourceOptions, find
from ragkit_ingest.sources.items_of_file import Container
from ragkit_ingest.sources.places import Places, several
from ragkit_ingest.sources.reopen import said_of

if TYPE_CHECKING:
    from ragkit.knowledge.embedders import Embedders
    from ragkit.store.jobs.queue import QueueWorker
    from ragkit.store.open import Database
    from ragkit.store.postgres import PostgresStore
    from ragkit_ingest.run.steps import Steps
    from ragkit_ingest.sources import Listing
    from ragkit_ingest.sources.item import Item

_GROUP: Final = 64  # queued together; arbitrary: as late as the first of them was read they count


@dataclass(frozen=True, slots=True)
class QueueReport:
    """Files queued by this command, and all files that wait in the collection now.

    `others` counts the files that were not queued.
    """

    queued: int
    waiting: int
    others: IngestReport

    def as_json(self) -> dict[str, object]:
        """Return the shape that `ragkit ingest --queue --json` prints."""
        counts = self.others.as_json()
        shared = {name: counts[name] for name in ("failures", *SKIPPED_KEYS, "seconds")}
        return {
            "queued": self.queued,
            "waiting": self.waiting,
            "unchanged": self.others.unchanged,
            "deleted": self.others.deleted,
            **shared,
        }


def enqueue(
    places: Places,
    embedders: Embedders,
    database: Database,
    *,
    collection: str,
    sources: SourceOptions | None = None,
    sync: bool = False,
) -> QueueReport:
    """Queue changed files of the places; with `sync`, delete documents of vanished files.

    Raises what `ingest` raises, and UsageError for standard input and for a collection whose
    boilerplate is dropped: no worker sees a whole folder.
    """
    settings = embedders.settings
    store = database.store(settings.tenant)
    # What is said of the files is kept in the database until a worker reads it there.
    sources = masked_sources(sources or SourceOptions(), options_in(settings, store, collection))
    listing = find(several(places), sources, settings=settings)
    owner, is_new = store.add_collection(collection)
    started = time.perf_counter()
    try:
        steps = steps_of(embedders, store, collection, strict=True)
        _check_boilerplate(steps, collection)
        with queue_worker(database.pool, settings.tenant, owner.id) as worker:
            queueing = _Queueing(store, collection, steps, worker, sources, sync=sync)
            queued = queueing.queue(listing)
        if sync:
            queueing.delete_vanished(listing)
    finally:
        if is_new:
            store.drop_unused(owner.id)
    seconds = time.perf_counter() - started
    report = queueing.tally.report(skipped=listing.skipped, seconds=seconds)
    wait = {queue.collection: queue.files for queue in waiting(database.pool, settings.tenant)}
    return QueueReport(queued, wait.get(owner.id, 0), report)


def _check_boilerplate(steps: Steps, collection: str) -> None:
    if steps.options.boilerplate == "drop":
        raise UsageError(
            f"Collection {collection!r} drops lines that repeat across a folder, which no worker"
            " sees as a whole: use `ragkit ingest` without --queue."
        )


class _Queueing:
    """One pass over the places."""

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        worker: QueueWorker,
        options: SourceOptions,
        *,
        sync: bool,
    ) -> None:
        self._store = store
        self._collection = collection
        self._steps = steps
        self._worker = worker
        self._options = options
        self._sync = sync
        self._places: dict[tuple[str, bool], int] = {}
        self._containers: list[str] = []  # their URIs
        self.tally = Tally()

    def queue(self, listing: Listing) -> int:
        """Queue changed files; return how many of these files wait."""
        files, queued = listing.files(), 0
        while group := list(islice(files, _GROUP)):
            self.tally.saw(item.uri for _, item in group)
            began = time.perf_counter()
            changed = sorted(self._changed(group), key=itemgetter(0))
            age_s = time.perf_counter() - began
            for place, entries in groupby(changed, key=itemgetter(0)):
                queued += self._worker.put(place, [file for _, file in entries], age_s=age_s)
        return queued

    def delete_vanished(self, listing: Listing) -> None:
        """Delete what came from these places and is gone; what is in archives workers look at."""
        of = (self._store, self._collection, listing, self.tally)
        delete_vanished(*of, but_in=self._containers)
        tell_of_kept(*of)

    def _changed(
        self, group: Sequence[tuple[str, Item]]
    ) -> Iterator[tuple[int, tuple[str, str, str]]]:
        """Yield files that are to be queued: place; URI, hash, path."""
        stored = self._store.known(self._collection, [item.uri for _, item in group])
        for root, item in group:
            if not root:
                raise UsageError("Standard input cannot be queued: no other machine can read it.")
            if isinstance(item, Container | RecordFile):
                self._containers.append(item.uri)
                yield self._place(root, item), (item.uri, "", item.path)
                continue
            if reason := passed_over(item, self._steps.options):
                self.tally.skip(item.uri, reason)
                continue
            source = read(item, max_bytes=self._steps.max_file_bytes)
            if source.error is not None:
                reason = masked_reason(source.error.reason, self._steps.options)
                self.tally.failed(item.uri, source.error.stage, reason)
            elif self._steps.is_known(source, stored):
                self.tally.count(unchanged=1)
            else:
                yield self._place(root, item), (item.uri, source.content_hash, item.path)

    def _place(self, root: str, item: Item) -> int:
        """Return the number of a place for files that are found in it, or named themselves."""
        key = (root, item.found)
        if key not in self._places:
            options = said_of(self._options, found=item.found, sync=self._sync)
            self._places[key] = self._worker.add_place(root, options)
        return self._places[key]
