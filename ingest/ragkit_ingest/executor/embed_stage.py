"""The embedding stage: passages of all documents under way, with a fair share for each.

A short document need not wait for a long one that came before it. Several pipelines of a process
embed in turn, as each embedding uses all cores.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final, cast

from ragkit_ingest.executor.channel import Broken, Channel, FairLock
from ragkit_ingest.executor.write_stage import Embedded

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.store.jobs.worker import Worker
    from ragkit_ingest.executor.outcomes import Outcomes
    from ragkit_ingest.run.embedding import Rows
    from ragkit_ingest.run.steps import Prepared, Steps
    from ragkit_ingest.run.tally import Tally, Task

# Arbitrary: chunks split and not yet embedded, and documents that are embedded side by side.
SPLIT_CHUNKS: Final = 2048
_SIDE_BY_SIDE: Final = 4
BATCH_CHUNKS: Final = 128  # embedded together: seconds of work on a CPU, so that progress shows
# A worker embeds for about a second, then looks at whether to stop, and at what has come.
_FEWEST_CHUNKS: Final = 16
_MOST_CHUNKS: Final = 512
_STEP_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Split:
    """A document that is split and not embedded."""

    task: Task
    prepared: Prepared


@dataclass(slots=True)
class _Document:
    """A document that is being embedded: its vectors, of which the first `done` are made."""

    split: Split
    vectors: Vectors
    done: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> int:
        return len(self.split.prepared.rows)

    def next_rows(self, count: int) -> Rows:
        return self.split.prepared.rows[self.done : self.done + count]


class EmbedStage:
    """Embeds the documents of one pipeline.

    `settle` is called with a task that is not embedded after all. With `is_paced` the batches
    follow the embedder's speed. `begin` is called before the first batch.
    """

    def __init__(
        self,
        steps: Steps,
        worker: Worker,
        tally: Tally,
        outcomes: Outcomes,
        inbox: Channel[Split],
        outbox: Channel[Embedded],
        *,
        turn: FairLock,
        stop: threading.Event,
        settle: Callable[[Task], None],
        begin: Callable[[], None],
        is_paced: bool,
    ) -> None:
        self._steps = steps
        self._worker = worker
        self._tally = tally
        self._outcomes = outcomes
        self._inbox = inbox
        self._outbox = outbox
        self._turn = turn
        self._stop = stop
        self._settle = settle
        self._begin = begin
        self._is_paced = is_paced
        self._batch_chunks = _FEWEST_CHUNKS if is_paced else BATCH_CHUNKS
        self._documents: list[_Document] = []

    @property
    def waiting_chunks(self) -> int:
        """How many chunks of the documents in hand are not embedded yet."""
        return sum(document.total - document.done for document in list(self._documents))

    def run(self) -> None:
        """Embed until no document is left and none is to come. Raises Broken."""
        has_begun = False
        while self._gather():
            if not has_begun:
                self._begin()
                has_begun = True
            self._report([document for document in self._documents if not document.done])
            if self._documents:
                self._embed(_shares(self._documents, self._batch_chunks))
                self._hand_on()

    def _gather(self) -> bool:
        """Take the documents that are split; wait for one where there is none."""
        splits = [] if self._documents else self._inbox.take(self._batch_chunks)
        while self._has_room(splits):
            waiting = self._inbox.take_waiting(self._batch_chunks)
            if not waiting:
                break
            splits += waiting
        self._documents += [self._document(split) for split in splits]
        return bool(self._documents)

    def _has_room(self, splits: Sequence[Split]) -> bool:
        chunks = self.waiting_chunks + sum(len(split.prepared.rows) for split in splits)
        count = len(self._documents) + len(splits)
        return chunks < self._batch_chunks or (chunks < SPLIT_CHUNKS and count < _SIDE_BY_SIDE)

    def _document(self, split: Split) -> _Document:
        import numpy as np

        shape = (len(split.prepared.rows), self._steps.embedder.space.dimension)
        return _Document(split, np.empty(shape, np.float32))

    def _embed(self, shares: Sequence[tuple[_Document, int]]) -> None:
        """Embed so many chunks of each document; where that fails, each document by itself."""
        if self._stop.is_set():
            raise Broken
        began = perf_counter()
        rows = [row for document, count in shares for row in document.next_rows(count)]
        try:
            with self._turn:
                turn_began = perf_counter()
                vectors = self._steps.embed(cast("Rows", rows))
        except Exception as error:
            if len(shares) > 1:
                for share in shares:
                    self._embed([share])
                return
            if not self._outcomes.retry(shares[0][0].split.task, error):
                raise
            self._drop([shares[0][0]])
            return
        self._tally.spent("embed", began)
        self._tally.count(embedded=len(vectors))
        self._pace(len(vectors), perf_counter() - turn_began)
        first = 0
        for document, count in shares:
            end = document.done + count
            document.vectors[document.done : end] = vectors[first : first + count]
            document.seconds += (perf_counter() - turn_began) * count / max(len(vectors), 1)
            document.done = end
            first += count
        self._report([document for document, _ in shares])

    def _pace(self, chunks: int, seconds: float) -> None:
        if self._is_paced:
            fitting = int(chunks / max(seconds, 1e-6) * _STEP_S)
            self._batch_chunks = min(max(_FEWEST_CHUNKS, fitting), _MOST_CHUNKS)

    def _report(self, documents: Sequence[_Document]) -> None:
        """Record how far uploads are; drop those whose jobs are another's by now."""
        uploads = [document for document in documents if document.split.task.job.upload is not None]
        if not uploads:
            return
        held = self._worker.progress(
            [(document.split.task.job, document.done, document.total) for document in uploads]
        )
        lost = [document for document, is_held in zip(uploads, held, strict=True) if not is_held]
        for document in lost:
            self._outcomes.lose(document.split.task)
        self._drop(lost)

    def _drop(self, documents: Sequence[_Document]) -> None:
        for document in documents:
            self._documents.remove(document)
            self._settle(document.split.task)

    def _hand_on(self) -> None:
        """Hand on the documents that are embedded."""
        for document in [
            document for document in self._documents if document.done == document.total
        ]:
            self._documents.remove(document)
            task = document.split.task
            task.figures.seconds["embed"] = document.seconds
            prepared = document.split.prepared
            embedded = Embedded(task, prepared.document, document.vectors, prepared.terms)
            self._outbox.put(embedded, document.total)


def _shares(documents: Sequence[_Document], chunks: int) -> list[tuple[_Document, int]]:
    """Divide a batch between documents: an equal share for each, the remainder to the first."""
    share = max(1, chunks // len(documents))
    counts: list[int] = []
    for document in documents:
        remaining = document.total - document.done
        counts.append(min(remaining, share, max(0, chunks - sum(counts))))
    for place, document in enumerate(documents):
        remaining = document.total - document.done - counts[place]
        counts[place] += min(remaining, max(0, chunks - sum(counts)))
    return [(document, count) for document, count in zip(documents, counts, strict=True) if count]
