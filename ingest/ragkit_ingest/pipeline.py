"""The stages of an ingestion, side by side: read, parse, split, embed, write.

Each stage is a thread with a bounded queue before it, so that the embedder never waits for the
others and memory stays flat; parsers and the splitter are processes. It knows nothing of formats,
tokens or SQL.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.errors import DatabaseError, IngestError, UsageError
from ragkit.store.writing import Result
from ragkit.types import NewDocument, ParsedText
from ragkit_ingest.alike import MOST_ALIKE, Alike, flagged
from ragkit_ingest.channel import Broken, Channel, Room
from ragkit_ingest.models import adopt
from ragkit_ingest.reading import Reading
from ragkit_ingest.sandbox import ParserPool
from ragkit_ingest.steps import rows_of
from ragkit_ingest.tally import Live, Tally, Task
from ragkit_ingest.trimming import Trimming

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.settings import Settings
    from ragkit.store.jobs import Worker
    from ragkit.store.postgres import PostgresStore
    from ragkit.types import Document
    from ragkit_ingest.embedding import Rows
    from ragkit_ingest.items import Item
    from ragkit_ingest.steps import Prepared, Steps

# Bounds of what waits, arbitrary: enough that no stage waits for another's next piece of work.
FILES_UNDER_WAY: Final = 256  # neither stored nor failed; others are for processes beside this one
_PARSING_BYTES: Final = 32 << 20  # read and not yet split, for each parser; one file at least
_SPLIT_CHUNKS: Final = 2048
_WRITE_CHUNKS: Final = 8192
_TOGETHER_CHUNKS: Final = 4096  # written in one transaction; of 1,024 each takes half as long again
_GATHER_S: Final = 0.5  # for what is written together; arbitrary: nobody misses it so soon
_EMBED_CHUNKS: Final = 128  # embedded together: seconds of work on a CPU, so that progress shows
_LOOK_S: Final = 0.2  # between looks at how far it is
_HEARTBEAT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Parsed:
    task: Task
    future: Future[ParsedText]


@dataclass(frozen=True, slots=True)
class _Split:
    task: Task
    prepared: Prepared


@dataclass(frozen=True, slots=True)
class _Embedded:
    task: Task
    document: NewDocument
    vectors: Vectors


class Pipeline:
    """One ingestion's stages and what they have done so far."""

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        settings: Settings,
        parsers: ParserPool,
        worker: Worker,
        tally: Tally,
        *,
        force: bool = False,
    ) -> None:
        self._tally = tally
        self._store = store
        self._collection = collection
        self._steps = steps
        self._settings = settings
        self._parsers = parsers
        # Apart from the parsers, so that a text need not wait for the files that are to be parsed.
        self._splitters = ParserPool(1, parsers.limits)
        self._worker = worker
        self._reading_room = Room(_PARSING_BYTES * parsers.workers)
        self._under_way = Room(FILES_UNDER_WAY)
        self._parsed = Channel[_Parsed](sys.maxsize)  # the room before it bounds it
        self._split = Channel[_Split](_SPLIT_CHUNKS)
        self._embedded = Channel[_Embedded](_WRITE_CHUNKS)
        self._bounds = (
            *(self._reading_room, self._under_way),
            *(self._parsed, self._split, self._embedded),
        )
        near = steps.options.near_duplicates
        self._alike: Alike | None = None
        if near != "keep":  # an upload can be named as nearly alike; no file can be a copy of one
            self._alike = Alike(store, collection, steps.options, uploads=near == "flag")
        self._stop = threading.Event()
        self._errors: list[BaseException] = []
        self._reading = Reading(
            *(store, collection, steps, worker, self._tally),
            start=self._start,
            force=force,
        )

    def run(self, items: Iterable[Item], look: Callable[[], None]) -> None:
        """Work until everything is stored, unchanged or failed; `look` is called meanwhile.

        Raises what the first stage that failed raised.
        """
        stages = [
            threading.Thread(target=self._stage, args=stage, name=f"ragkit-{stage[0]}")
            for stage in (
                ("read", partial(self._read, items), self._parsed.close),
                ("split", self._splitting, self._split.close),
                ("embed", self._embedding, self._embedded.close),
                ("write", self._writing, lambda: None),
            )
        ]
        self._splitters.start()
        for stage in stages:
            stage.start()
        try:
            self._watch(stages, look)
        finally:
            self._end()
            for stage in stages:
                stage.join()
        if self._errors:
            raise self._errors[0]
        look()

    def _watch(self, stages: Sequence[threading.Thread], look: Callable[[], None]) -> None:
        beaten = perf_counter()
        while not self._errors:
            alive = [stage for stage in stages if stage.is_alive()]
            if not alive:
                return
            alive[0].join(_LOOK_S)
            look()
            if perf_counter() - beaten > _HEARTBEAT_S:
                beaten = perf_counter()
                self._worker.heartbeat()

    def _end(self) -> None:
        """End whatever still waits or parses; nothing, when all is done."""
        self._stop.set()
        for bound in self._bounds:
            bound.abort()
        self._parsers.close()
        self._splitters.close()

    def _stage(self, name: str, work: Callable[[], None], after: Callable[[], None]) -> None:
        try:
            work()
        except Broken:
            return
        except BaseException as error:  # noqa: BLE001  raised again by the thread that started it
            self._errors.append(error)
            self._end()
        after()

    def _read(self, items: Iterable[Item]) -> None:
        self._reading.read(items)
        self._reading.rest(self._under_way.empty, self._stop)

    def _start(self, task: Task) -> None:
        """Have a thing parsed that was read, when there is room for it."""
        data = task.source.data
        self._reading_room.enter(len(data))
        self._under_way.enter(1)
        task.source = replace(task.source, data=b"")
        task.figures.bytes = len(data)
        future = self._parsers.submit(
            *(data, task.source.item.suffix, self._steps.parse_options),
            on_start=partial(task.figures.began, "parse"),
        )
        future.add_done_callback(partial(self._was_parsed, task))

    def _was_parsed(self, task: Task, future: Future[ParsedText]) -> None:
        task.figures.ended("parse")
        with suppress(Broken):
            self._parsed.put(_Parsed(task, future))

    def _splitting(self) -> None:
        trim = Trimming()
        while things := self._parsed.take():
            for thing in things:
                self._split_one(thing.task, thing.future)
                self._reading_room.leave(thing.task.figures.bytes)
                trim()

    def _split_one(self, task: Task, future: Future[ParsedText]) -> None:
        try:
            parsed = future.result()
            self._steps.get_ready()  # no file's own time
            began = perf_counter()
            whole = self._steps.prepared(task.source, parsed, self._splitters)
            prepared = self._apart(task, whole)
        except CancelledError:
            raise Broken from None
        except IngestError as error:
            if self._stop.is_set():
                raise Broken from None
            self._reading.fail(task, error)
            prepared = None
        if prepared is None:
            self._under_way.leave(1)
            return
        task.figures.seconds["split"] = perf_counter() - began
        task.figures.notes = dict(prepared.notes)
        task.figures.chunks = len(prepared.rows)
        self._tally.spent("split", began)
        self._split.put(_Split(task, prepared), len(prepared.rows))

    def _apart(self, task: Task, prepared: Prepared) -> Prepared | None:
        """Flag or leave out what is nearly alike to another document; None: left out, or put off
        until that one is stored.
        """
        if self._alike is None:
            return prepared
        document = self._alike.signed(prepared.document)
        twin = self._alike.twin(document)
        if twin is None:
            return replace(prepared, document=document)
        if self._steps.options.near_duplicates == "flag":
            return replace(prepared, document=flagged(document, twin))
        if twin.id is None:
            self._reading.put_off(task)
            return None
        if self._reading.is_copy(task, twin.id, min(twin.similarity, MOST_ALIKE)):
            return None
        return replace(prepared, document=document)

    def _embedding(self) -> None:
        while things := self._split.take(_EMBED_CHUNKS):
            began = perf_counter()
            if self._steps.new and not self._tally.embedded:
                adopt(self._steps, self._settings, self._store, self._collection)
            vectors = self._embed(rows_of(thing.prepared for thing in things))
            self._tally.spent("embed", began)
            share = (perf_counter() - began) / max(len(vectors), 1)
            first = 0
            for thing in things:
                size = len(thing.prepared.rows)
                thing.task.figures.seconds["embed"] = share * size
                own = vectors[first : first + size]
                self._embedded.put(_Embedded(thing.task, thing.prepared.document, own), size)
                first += size

    def _embed(self, rows: Rows) -> Vectors:
        """Embed rows a few at a time, so that progress shows."""
        import numpy as np

        done: list[Vectors] = []
        for first in range(0, len(rows), _EMBED_CHUNKS):
            if self._stop.is_set():
                raise Broken
            done.append(self._steps.embed(rows[first : first + _EMBED_CHUNKS]))
            self._tally.count(embedded=len(done[-1]))
        return np.concatenate(done)

    def _writing(self) -> None:
        while things := self._embedded.take(
            _TOGETHER_CHUNKS,
            more=lambda waiting: waiting < self._under_way.used,
            patience_s=_GATHER_S,
        ):
            self._write(things)
            for thing in things:
                if self._alike is not None:
                    self._alike.settled(thing.task.uri)
                self._under_way.leave(1)

    def _write(self, things: Sequence[_Embedded]) -> None:
        """Store what has come together in one transaction; where that fails, each by itself."""
        began = perf_counter()
        try:
            stored = self._stored(things)
        except (DatabaseError, UsageError):
            if len(things) == 1:
                raise
            for thing in things:
                self._write([thing])
            return
        self._tally.spent("write", began)
        for thing, document in zip(things, stored, strict=True):
            if document is None:  # it was deleted, or another process has taken it over
                self._tally.count(lost=1)
            else:
                self._tally.stored(document, thing.task.figures.notes)

    def _stored(self, things: Sequence[_Embedded]) -> list[Document | None]:
        chunks = sum(len(thing.vectors) for thing in things)
        results: list[Result] = []
        for thing in things:
            thing.task.figures.began("write")
            figures = Live(thing.task.figures, share=len(thing.vectors) / chunks)
            results.append(Result(thing.task.job, thing.document, thing.vectors, figures))
        return self._store.put_results(self._collection, results, self._steps.embedder.space)
