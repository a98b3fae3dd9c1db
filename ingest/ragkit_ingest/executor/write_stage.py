"""The writing stage: documents that came together are stored together, each whole.

An upload is stored by itself, as it takes the place of an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.errors import DatabaseError, IngestError, LeaseLostError, NotFoundError, UsageError
from ragkit.store.documents.write import Result
from ragkit_ingest.run.outage import is_away
from ragkit_ingest.run.tally import Live

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.store.postgres import PostgresStore
    from ragkit.text.analysers import ChunkTerms
    from ragkit.types import Document, NewDocument
    from ragkit_ingest.executor.channel import Channel
    from ragkit_ingest.executor.outcomes import Outcomes
    from ragkit_ingest.run.steps import Steps
    from ragkit_ingest.run.tally import Tally, Task

WRITE_CHUNKS: Final = 8192  # embedded and not yet stored; arbitrary
_TOGETHER_CHUNKS: Final = 4096  # written in one transaction; of 1,024 each takes half as long again
_GATHER_S: Final = 0.5  # for what is written together; arbitrary: nobody misses it so soon


@dataclass(frozen=True, slots=True)
class Embedded:
    """A document with a vector for each chunk, and the chunks' terms if they are known."""

    task: Task
    document: NewDocument
    vectors: Vectors
    terms: ChunkTerms | None = None


class WriteStage:
    """Stores the documents of one pipeline; `settle` is called with each task that is settled."""

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        tally: Tally,
        outcomes: Outcomes,
        *,
        settle: Callable[[Task], None],
    ) -> None:
        self._store = store
        self._collection = collection
        self._steps = steps
        self._tally = tally
        self._outcomes = outcomes
        self._settle = settle

    def run(self, inbox: Channel[Embedded], expects: Callable[[int], bool]) -> None:
        """Store what comes; `expects` tells whether more than so many are under way."""
        while documents := inbox.take(_TOGETHER_CHUNKS, expects=expects, patience_s=_GATHER_S):
            self.write(documents)
            for document in documents:
                self._settle(document.task)

    def write(self, documents: Sequence[Embedded]) -> None:
        """Store documents; uploads one by one, files in one transaction."""
        began = perf_counter()
        files = [document for document in documents if document.task.job.upload is None]
        if files:
            self._write_files(files)
        for document in documents:
            if document.task.job.upload is not None:
                self._write_upload(document)
        self._tally.spent("write", began)

    def _write_files(self, documents: Sequence[Embedded]) -> None:
        """Store files together; where that fails, each by itself."""
        try:
            stored = self._stored(documents)
        except Exception as error:
            if len(documents) == 1:
                if self._outcomes.retry(documents[0].task, error):
                    return
                raise
            if is_away(error) or not isinstance(error, DatabaseError | UsageError):
                raise
            for document in documents:
                self._write_files([document])
            return
        for document, row in zip(documents, stored, strict=True):
            if row is None:  # it was deleted, or another process has taken it over
                self._outcomes.lose(document.task)
            else:
                self._outcomes.store(document.task, row)

    def _write_upload(self, document: Embedded) -> None:
        task = document.task
        assert task.job.upload is not None
        task.figures.began("write")
        try:
            stored = self._store.put_document(
                self._collection,
                document.document,
                self._steps.embedder.space,
                document.vectors,
                job=task.job,
                source=task.job.upload.source,
                figures=Live(task.figures),
                terms=document.terms,
            )
        except LeaseLostError:
            self._outcomes.lose(task)
        except NotFoundError:
            self._outcomes.replace(task)
        except IngestError as error:
            self._outcomes.fail(task, error)
        except Exception as error:
            if not self._outcomes.retry(task, error):
                raise
        else:
            self._outcomes.store(task, stored)

    def _stored(self, documents: Sequence[Embedded]) -> list[Document | None]:
        chunks = sum(len(document.vectors) for document in documents)
        results: list[Result] = []
        for document in documents:
            task = document.task
            task.figures.began("write")
            figures = Live(task.figures, share=len(document.vectors) / chunks)
            results.append(
                Result(task.job, document.document, document.vectors, figures, document.terms)
            )
        return self._store.put_results(self._collection, results, self._steps.embedder.space)
