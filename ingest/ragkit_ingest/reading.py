"""The first stage of an ingestion: which things have changed, and whose turn it is to take them in.

It reads and hashes, asks the store what it has already, and takes jobs from the ledger, so that
several processes share the work. It knows nothing of what becomes of a thing that was read.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.errors import LeaseLostError
from ragkit_ingest.clean.said import masked_reason
from ragkit_ingest.passing import passed_over
from ragkit_ingest.steps import read
from ragkit_ingest.tally import Figures, Task

if TYPE_CHECKING:
    from ragkit.errors import IngestError
    from ragkit.store.jobs import Worker
    from ragkit.store.postgres import PostgresStore
    from ragkit_ingest.items import Item
    from ragkit_ingest.steps import Source, Steps
    from ragkit_ingest.tally import Tally

GROUP: Final = 16  # asked for together: each question to the database costs about a millisecond
GROUP_BYTES: Final = 16 << 20  # of changed things held in memory at once, one at least
WAIT_S: Final = 0.5  # between looks at things that another process is working on


class Reading:
    """Reads things in groups and hands on what has changed and is this process's to do."""

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        worker: Worker,
        tally: Tally,
        *,
        start: Callable[[Task], None],
        force: bool = False,
    ) -> None:
        self._store = store
        self._collection = collection
        self._steps = steps
        self._worker = worker
        self._tally = tally
        self._start = start
        self._force = force
        self._under_way: set[str] = set()  # content hashes of what was started by this process
        self._failed: set[str] = set()  # those of which a first thing failed
        self._later: deque[Item] = deque()  # the same content is under way
        self._elsewhere: deque[tuple[Item, str]] = deque()  # another process has it
        self._suspects: deque[Item] = deque()  # what may have ended programs, to be taken alone

    def read(self, items: Iterable[Item]) -> None:
        """Read everything once; what has to wait is kept for `rest`."""
        for some in _some(items):
            self._tally.saw(item.uri for item in some)
            self._read([item for item in some if not self._passes_over(item)])

    def _passes_over(self, item: Item) -> bool:
        reason = passed_over(item, self._steps.options)
        if reason:
            self._tally.skip(item.uri, reason)
        return bool(reason)

    def rest(self, drained: Callable[[], None], stop: threading.Event) -> None:
        """Settle what had to wait, until nothing is left.

        `drained` comes back when nothing that was started is under way any more.
        """
        drained()
        while self._later or self._elsewhere:
            self._under_way.clear()
            again, self._later = list(self._later), deque()
            others, self._elsewhere = list(self._elsewhere), deque()
            for items in _some([*again, *self._settled(others)]):
                self._read(items)
            drained()
            while self._suspects:
                self._read([self._suspects.popleft()], alone=True)
                drained()
            if self._elsewhere and stop.wait(WAIT_S):
                return

    def put_off(self, task: Task) -> None:
        """Take a thing up again when what is under way is stored; other threads may call it."""
        self._worker.release(task.job)
        self._later.append(task.source.item)

    def fail(self, task: Task, error: IngestError) -> None:
        """Record why a thing failed; others with its content need not wait for one another."""
        self._failed.add(task.source.content_hash)
        reason = masked_reason(error.reason, self._steps.options)
        try:
            self._worker.fail(task.job, error.stage, reason, task.figures.as_json())
        except LeaseLostError:
            self._tally.count(lost=1)
        else:
            self._tally.failed(task.uri, error.stage, reason)

    def is_copy(self, task: Task, document: int, similarity: float = 1.0) -> bool:
        """Note that a document has a thing's content already; tell whether it could be noted."""
        noted = self._store.put_copy(
            *(self._collection, task.uri),
            (task.source.content_hash, self._steps.fingerprint),
            document,
            similarity=similarity,
            job=task.job,
            figures=task.figures.as_json(),
        )
        if noted:
            self._tally.count(copies=1)
        return noted

    def _read(self, items: Sequence[Item], *, alone: bool = False) -> None:
        """Read a few things and take those that have changed; not too much of them at once."""
        known = {} if self._force else self._known([item.uri for item in items])
        began, size = perf_counter(), 0
        changed: list[Source] = []
        for item in items:
            source = read(item, max_bytes=self._steps.max_file_bytes)
            if self._steps.is_known(source, known):
                self._tally.count(unchanged=1)
                continue
            changed.append(source)
            size += len(source.data)
            if size >= GROUP_BYTES:
                self._take(changed, began, alone=alone)
                began, size, changed = perf_counter(), 0, []
        if changed:
            self._take(changed, began, alone=alone)

    def _take(self, sources: Sequence[Source], began: float, *, alone: bool) -> None:
        """Open and claim jobs; start what was claimed, unless another has just finished it."""
        files = [(source.item.uri, source.content_hash) for source in sources]
        claimed = {
            job.uri: job
            for job in self._worker.take(files, age_s=perf_counter() - began, alone=alone)
        }
        mine = [source for source in sources if source.item.uri in claimed]
        known = {} if self._force else self._known([source.item.uri for source in mine])
        same = self._holders(mine)
        for source in sources:
            job = claimed.get(source.item.uri)
            if job is None:
                self._elsewhere.append((source.item, source.content_hash))
            elif self._steps.is_known(source, known):
                self._worker.finish(job)
                self._tally.count(unchanged=1)
            else:
                figures = Figures(seconds={"read": source.seconds})
                self._begin(Task(source, job, figures), same.get(source.content_hash))

    def _begin(self, task: Task, same: int | None) -> None:
        """Start what was claimed, unless its content is a document's already, or is soon to be."""
        source = task.source
        if source.error:
            self.fail(task, source.error)
        elif same is not None and self.is_copy(task, same):
            return
        elif self._is_under_way(source.content_hash):
            self.put_off(task)
        else:
            self._under_way.add(source.content_hash)
            self._start(task)

    def _is_under_way(self, content: str) -> bool:
        return content in self._under_way and content not in self._failed

    def _settled(self, others: Sequence[tuple[Item, str]]) -> list[Item]:
        """Tell what became of things that another process had; return those to be taken up here.

        These are free because their process died, or were done as they were before they changed.
        """
        outcomes = self._worker.outcomes([item.uri for item, _ in others])
        mine: list[Item] = []
        for item, content in others:
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
                mine.append(item)
        return mine

    def _known(self, uris: Sequence[str]) -> dict[str, tuple[str, str]]:
        return dict(self._store.known(self._collection, uris)) if uris else {}

    def _holders(self, sources: Sequence[Source]) -> dict[str, int]:
        """Map content that a document has already, under another URI, to that document."""
        hashes = [source.content_hash for source in sources if not source.error]
        if not hashes or self._force:
            return {}
        return dict(self._store.holders(self._collection, hashes, self._steps.fingerprint))


def _some(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Divide things into groups that are asked for together."""
    rest = iter(items)
    while some := list(islice(rest, GROUP)):
        yield some
