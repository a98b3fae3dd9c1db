"""The first stage of an ingestion: read items, and start those that have changed.

It reads and hashes, asks the store what it has already, and takes jobs from the ledger, so that
several processes share the work.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.errors import IngestError, LeaseLostError, NotFoundError
from ragkit.store.jobs.queue import QueueWorker
from ragkit_ingest.run.skip_rules import passed_over
from ragkit_ingest.run.steps import Source, read
from ragkit_ingest.run.tally import Figures, Task

if TYPE_CHECKING:
    from ragkit.store.jobs.worker import Job, Worker
    from ragkit.store.postgres import PostgresStore
    from ragkit_ingest.executor.outcomes import Outcomes
    from ragkit_ingest.run.steps import Steps
    from ragkit_ingest.run.tally import Tally
    from ragkit_ingest.sources.item import Item

GROUP: Final = 64  # looked up together: each statement takes about a millisecond
GROUP_BYTES: Final = 16 << 20  # of changed items held in memory at once, one item at least
WAIT_S: Final = 0.5  # between looks at items that another process is working on


class Reading:
    """Reads groups of items, and starts what has changed and is this process's to do."""

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        worker: Worker,
        tally: Tally,
        outcomes: Outcomes,
        *,
        start: Callable[[Task], None],
        force: bool = False,
    ) -> None:
        self._store = store
        self._collection = collection
        self._steps = steps
        self._worker = worker
        self._tally = tally
        self._outcomes = outcomes
        self._start = start
        self._force = force
        self._started: set[str] = set()  # content hashes, since nothing was under way
        self._deferred: deque[Item] = deque()  # the same content is under way
        self._elsewhere: deque[tuple[Item, str]] = deque()  # another process has its job
        self._suspects: deque[Item] = deque()  # to be taken alone

    @property
    def has_deferred(self) -> bool:
        """Whether items wait until everything that is under way is stored."""
        return bool(self._deferred)

    def read(self, groups: Iterable[Sequence[Item]]) -> None:
        """Read everything once; items that have to wait are left for `finish`."""
        for items in groups:
            self._tally.saw(item.uri for item in items)
            self._read([item for item in items if not self._is_passed_over(item)])

    def _is_passed_over(self, item: Item) -> bool:
        reason = passed_over(item, self._steps.options)
        if not reason:
            return False
        self._tally.skip(item.uri, reason)
        if item.job is not None:
            self._finish(item.job)
        return True

    def finish(self, drained: Callable[[], None], stop: threading.Event) -> None:
        """Settle the items that had to wait, until none is left.

        `drained` returns when nothing that was started is under way any more.
        """
        drained()
        while self._deferred or self._elsewhere:
            self._started.clear()
            deferred, self._deferred = list(self._deferred), deque()
            elsewhere, self._elsewhere = list(self._elsewhere), deque()
            for items in groups_of([*deferred, *self._freed(elsewhere)]):
                self._read(items)
            drained()
            while self._suspects:
                self._read([self._suspects.popleft()], alone=True)
                drained()
            if self._elsewhere and stop.wait(WAIT_S):
                return

    def defer(self, task: Task) -> None:
        """Take an item up again when all that is under way is stored; any thread may call it.

        A job that came from a queue stays claimed: released, it would come again at once.
        """
        if task.source.item.job is None:
            self._worker.release(task.job)
        self._deferred.append(task.source.item)

    def _read(self, items: Sequence[Item], *, alone: bool = False) -> None:
        """Read items and take those that have changed; not too much of them at once."""
        stored = {} if self._force else self._stored(items)
        began = perf_counter()
        changed: deque[Source] = deque()
        for item in items:
            changed += self._changed(item, stored)  # no variable holds the bytes of the last item
            if sum(len(source.data) for source in changed) >= GROUP_BYTES:
                self._take(changed, began, alone=alone)
                began = perf_counter()
        if changed:
            self._take(changed, began, alone=alone)

    def _changed(self, item: Item, stored: Mapping[str, tuple[str, str]]) -> list[Source]:
        """Read an item; return nothing where it is unchanged or its job is gone."""
        source = self._source(item)
        if source is None:
            return []
        if self._steps.is_known(source, stored):
            self._tally.count(unchanged=1)
            if item.job is not None:
                self._finish(item.job)
            return []
        return [source]

    def _source(self, item: Item) -> Source | None:
        """Read an item; None for an upload whose place a later one has taken."""
        try:
            return read(item, max_bytes=self._steps.max_file_bytes)
        except NotFoundError:
            if item.job is None or item.job.upload is None:
                raise
            self._outcomes.replace(Task(Source(item), item.job))
            return None

    def _take(self, sources: deque[Source], began: float, *, alone: bool) -> None:
        """Open and claim jobs; start what was claimed, unless another has just finished it.

        Empties `sources`, so that the bytes of an item are freed as soon as it is parsed.
        """
        jobs = deque(self._claimed(sources, perf_counter() - began, alone=alone))
        claimed = [source.item for source, job in zip(sources, jobs, strict=True) if job]
        stored = {} if self._force else self._stored(claimed)
        holders = self._holders([source for source, job in zip(sources, jobs, strict=True) if job])
        while sources:
            self._take_one(sources.popleft(), jobs.popleft(), stored, holders)

    def _take_one(
        self,
        source: Source,
        job: Job | None,
        stored: Mapping[str, tuple[str, str]],
        holders: Mapping[str, int],
    ) -> None:
        if job is not None:
            task = Task(source, job, Figures(seconds={"read": source.seconds}))
            holder = holders.get(source.content_hash)
            del source
            self._begin(task, stored, holder)
        elif source.item.job is not None and source.item.job.upload is not None:
            self._outcomes.lose(Task(source, source.item.job))
        else:
            self._elsewhere.append((replace(source.item, job=None), source.content_hash))

    def _claimed(
        self, sources: Collection[Source], age_s: float, *, alone: bool
    ) -> list[Job | None]:
        """Return the job of each source; None where it is another process's."""
        held = [(source.item.job, source.content_hash) for source in sources if source.item.job]
        confirmed: dict[int, Job] = {}
        if held:
            assert isinstance(self._worker, QueueWorker)
            pairs = [(job, content) for job, content in held if job is not None]
            confirmed = {job.id: job for job in self._worker.confirm(pairs, age_s=age_s)}
        files = [
            (source.item.uri, source.content_hash) for source in sources if not source.item.job
        ]
        claimed: dict[str, Job] = {}
        if files:
            jobs = self._worker.take(files, age_s=age_s, alone=alone)
            claimed = {job.uri: job for job in jobs}
        return [
            confirmed.get(source.item.job.id) if source.item.job else claimed.get(source.item.uri)
            for source in sources
        ]

    def _begin(self, task: Task, stored: Mapping[str, tuple[str, str]], holder: int | None) -> None:
        """Start an item, unless its content is a document's already, or is soon to be."""
        source = task.source
        if source.error:
            self._outcomes.fail(task, source.error)
        elif task.job.upload is not None:
            self._begin_upload(task)
        elif self._steps.is_known(source, stored):
            self._finish(task.job)
            self._tally.count(unchanged=1)
        elif holder is not None and self._outcomes.is_copy(task, holder):
            return
        elif self._is_started(source.content_hash):
            self.defer(task)
        else:
            self._started.add(source.content_hash)
            self._start(task)

    def _begin_upload(self, task: Task) -> None:
        """Start an upload, which is never a copy: it is its sender's own."""
        try:
            if self._outcomes.is_unchanged(task):
                return
        except LeaseLostError:
            self._outcomes.lose(task)
        except NotFoundError:
            self._outcomes.replace(task)
        except IngestError as error:
            self._outcomes.fail(task, error)
        else:
            self._start(task)

    def _finish(self, job: Job) -> None:
        try:
            self._worker.finish(job)
        except LeaseLostError:
            return  # cancelled, or another process has it: there is nothing to store

    def _is_started(self, content: str) -> bool:
        return content in self._started and content not in self._outcomes.failed_hashes

    def _freed(self, elsewhere: Sequence[tuple[Item, str]]) -> list[Item]:
        """Count the items that other processes have settled; return those to be taken up here.

        These are free because their process died, or were done as they were before they changed.
        """
        outcomes = self._worker.outcomes([item.uri for item, _ in elsewhere])
        freed: list[Item] = []
        for item, content in elsewhere:
            outcome = outcomes[item.uri]
            if outcome.state == "failed":
                self._tally.failed(item.uri, outcome.stage, outcome.reason)
            elif outcome.state == "cancelled":
                self._tally.count(lost=1)
            elif outcome.state == "done" and outcome.content_hash == content:
                self._tally.count(unchanged=1)
            elif outcome.is_suspect:
                self._suspects.append(item)
            elif outcome.is_held:
                self._elsewhere.append((item, content))
            else:
                freed.append(item)
        return freed

    def _stored(self, items: Sequence[Item]) -> dict[str, tuple[str, str]]:
        """Map items but uploads to the hash and fingerprint that they are stored with."""
        uris = [item.uri for item in items if item.job is None or item.job.upload is None]
        return dict(self._store.known(self._collection, uris)) if uris else {}

    def _holders(self, sources: Sequence[Source]) -> dict[str, int]:
        """Map content that a document has already, under another URI, to that document."""
        hashes = [source.content_hash for source in sources if not source.error]
        if not hashes or self._force:
            return {}
        return dict(self._store.holders(self._collection, hashes, self._steps.fingerprint))


def groups_of(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Divide items into groups that are looked up together."""
    iterator = iter(items)
    while group := list(islice(iterator, GROUP)):
        yield group
