"""Record what became of each item: in the ledger, in the report, and of an upload in the log.

A log line names no file and quotes no text.
"""

from __future__ import annotations

import logging
import traceback
from time import perf_counter
from typing import TYPE_CHECKING

from ragkit.errors import LeaseLostError, OtherModelError
from ragkit_ingest.clean.description import masked_reason
from ragkit_ingest.executor.channel import Broken
from ragkit_ingest.run.outage import is_away

if TYPE_CHECKING:
    from ragkit.errors import IngestError
    from ragkit.store.jobs.worker import Worker
    from ragkit.store.postgres import PostgresStore
    from ragkit.types import Document
    from ragkit_ingest.run.near_duplicates import Twin
    from ragkit_ingest.run.steps import Steps
    from ragkit_ingest.run.tally import Tally, Task

log = logging.getLogger("ragkit.worker")


class Outcomes:
    """Records outcomes of one collection's items; its methods may be called by several threads.

    With `retries`, an error that nobody expected costs its item and not the run: the item is tried
    again a few times.
    """

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        worker: Worker,
        tally: Tally,
        *,
        retries: bool = False,
    ) -> None:
        self._store = store
        self._collection = collection
        self._steps = steps
        self._worker = worker
        self._tally = tally
        self._retries = retries
        self.failed_hashes: set[str] = set()  # of content that failed

    def fail(self, task: Task, error: IngestError) -> None:
        """Record why an item failed; others with its content need not wait for one another."""
        self.failed_hashes.add(task.source.content_hash)
        reason = masked_reason(error.reason, self._steps.options)
        try:
            self._worker.fail(task.job, error.stage, reason, task.figures.as_json())
        except LeaseLostError:
            self.lose(task)
        else:
            self._tally.failed(task.uri, error.stage, reason)
            self._log(task, f"failed at {error.stage}")

    def retry(self, task: Task, error: Exception) -> bool:
        """Have an item tried again that an unexpected error ended; False where it ends the run."""
        if not self._retries or isinstance(error, Broken | OtherModelError) or is_away(error):
            return False
        kind = type(error).__name__
        frames = "".join(traceback.format_tb(error.__traceback__))  # a message may quote the text
        log.error("job %d: %s\n%s", task.job.id, kind, frames.rstrip())
        reason = f"{kind}: the worker's log says where"
        try:
            is_queued = self._worker.retry(task.job, "worker", reason)
        except LeaseLostError:
            self.lose(task)
            return True
        if not is_queued:
            self._tally.failed(task.uri, "worker", reason)
        self._log(task, f"{kind}, to be tried again" if is_queued else f"failed by {kind}")
        return True

    def lose(self, task: Task) -> None:
        """Count an item that was deleted or cancelled, or that another process has taken over."""
        self._tally.count(lost=1)
        self._log(task, "no longer ours")

    def replace(self, task: Task) -> None:
        """Record that a later upload has taken an upload's place."""
        try:
            self._worker.replaced(task.job)
        except LeaseLostError:
            self.lose(task)
        else:
            self._tally.count(lost=1)
            self._log(task, "a later file has taken its place")

    def store(self, task: Task, document: Document) -> None:
        """Count a document that was stored."""
        self._tally.stored(document, task.figures.notes)
        parts = f"version {document.version}, {document.chunks} chunks"
        self._log(task, f"document {document.id}, {parts}")

    def is_unchanged(self, task: Task) -> bool:
        """Finish an upload whose document is what would be made of it; tell whether it is."""
        assert task.job.upload is not None
        number = self._store.put_source(
            self._collection,
            task.source.content_hash,
            self._steps.fingerprints,
            source=task.job.upload.source,
            job=task.job,
        )
        if number is None:
            return False
        self._tally.count(unchanged=1)
        self._log(task, f"document {number} is unchanged")
        return True

    def is_copy(self, task: Task, document: int, similarity: float = 1.0) -> bool:
        """Note that a document has an item's content already; tell whether it could be noted."""
        is_noted = self._store.put_copy(
            self._collection,
            task.uri,
            (task.source.content_hash, self._steps.fingerprint),
            document,
            similarity=similarity,
            job=task.job,
            figures=task.figures.as_json(),
        )
        if is_noted:
            self._tally.count(copies=1)
        return is_noted

    def is_left_out(self, task: Task, twin: Twin) -> bool:
        """Leave an upload out that is nearly another document; tell whether it is left out.

        An upload that takes the place of a document is stored: the old content must not stay.
        """
        if self._store.known(self._collection, [task.uri]):
            return False
        reason = f"left out, as nearly the same as {twin.uri} ({twin.similarity:.2f})"
        self.settle(task, reason, f"nearly the same as document {twin.id}", twin.id)
        return True

    def settle(self, task: Task, reason: str, remark: str, document: int | None = None) -> None:
        """Finish an upload of which no document is made; `remark` is for the log."""
        try:
            self._worker.settle(task.job, reason, document)
        except LeaseLostError:
            self.lose(task)
        else:
            self._log(task, remark)

    def _log(self, task: Task, remark: str) -> None:
        if task.job.upload is not None:
            seconds = perf_counter() - task.began
            line = "job %d of tenant %r: %s, %.2f s"
            log.info(line, task.job.id, self._worker.tenant, remark, seconds)
