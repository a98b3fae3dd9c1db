"""The stages of an ingestion, side by side: read, parse, split, embed, write.

Each stage is a thread with a bounded queue before it, so that the embedder never waits for the
others and memory stays flat; parsers and the splitter are processes.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.errors import IngestError
from ragkit.system.closing import Closing
from ragkit.system.trimming import Trimming
from ragkit.types import ParsedText
from ragkit_ingest.executor.channel import Broken, Channel, FairLock, Room, result_of
from ragkit_ingest.executor.embed_stage import BATCH_CHUNKS, SPLIT_CHUNKS, EmbedStage, Split
from ragkit_ingest.executor.outcomes import Outcomes
from ragkit_ingest.executor.write_stage import WRITE_CHUNKS, Embedded, WriteStage
from ragkit_ingest.parser.pool import ParseLimits, ParserPool
from ragkit_ingest.run.changes import Reading
from ragkit_ingest.run.near_duplicates import MOST_ALIKE, Alike, flagged
from ragkit_ingest.run.recipe import adopt
from ragkit_ingest.run.tally import Tally, Task

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.jobs.worker import Worker
    from ragkit.store.postgres import PostgresStore
    from ragkit_ingest.run.steps import Prepared, Splitting, Steps
    from ragkit_ingest.sources.item import Item

# Bounds, arbitrary: enough that no stage waits for another's next piece of work.
FILES_UNDER_WAY: Final = 256  # neither stored nor failed; others are for processes beside this one
_PARSING_BYTES: Final = 32 << 20  # read and not yet split, for each parser; one file at least
# Of a worker, which claims no more once it has so much: others get their share of the queue.
_ENOUGH_FILES: Final = 64
_ENOUGH_BYTES: Final = 1 << 20  # not yet split
_ENOUGH_CHUNKS: Final = 2 * BATCH_CHUNKS
_SPLIT_AHEAD: Final = 1  # texts at the splitter's while another is described
_LOOK_S: Final = 0.2  # between looks at how far it is
_HEARTBEAT_S: Final = 30.0


class Shared(Closing):
    """Processes and the turn to embed, which the pipelines of a program share.

    `pipelines` is how many there are at once; each splits one text at a time.
    """

    def __init__(self, parsers: int, limits: ParseLimits, *, pipelines: int = 1) -> None:
        self.parsers = ParserPool(parsers, limits)
        # Apart from the parsers, so that a text need not wait for the files that are to be parsed.
        self.splitters = ParserPool(pipelines, limits)
        self.turn = FairLock()
        self.is_closed = False

    def rest(self) -> None:
        """End the processes that have nothing to do."""
        self.parsers.rest()
        self.splitters.rest()

    def close(self) -> None:
        """End all processes now, with whatever they are parsing."""
        self.is_closed = True
        self.parsers.close()
        self.splitters.close()


@dataclass(frozen=True, slots=True)
class _Parsed:
    task: Task
    future: Future[ParsedText]


@dataclass(frozen=True, slots=True)
class _Splitting:
    """What is being split, or why it cannot be; beginning that took so many seconds."""

    task: Task
    begun: Splitting | Exception
    seconds: float


class Pipeline:
    """The stages of one collection's items.

    With `is_worker`, an unexpected error costs its item, which is tried again a few times, and not
    the run. `parsing` bounds what is parsed at once for several pipelines together.
    """

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        settings: Settings,
        shared: Shared,
        worker: Worker,
        tally: Tally,
        *,
        force: bool = False,
        is_worker: bool = False,
        parsing: threading.Semaphore | None = None,
    ) -> None:
        self._tally = tally
        self._store = store
        self._collection = collection
        self._steps = steps
        self._settings = settings
        self._shared = shared
        self._worker = worker
        self._parsing = parsing
        self._reading_room = Room(_PARSING_BYTES * shared.parsers.workers)
        self._under_way = Room(FILES_UNDER_WAY)
        self._parsed = Channel[_Parsed](sys.maxsize)  # the room before it bounds it
        self._split = Channel[Split](SPLIT_CHUNKS)
        self._embedded = Channel[Embedded](WRITE_CHUNKS)
        self._bounds = (
            *(self._reading_room, self._under_way),
            *(self._parsed, self._split, self._embedded),
        )
        near = steps.options.near_duplicates
        self._alike = None if near == "keep" else Alike(store, collection, steps.options)
        self._stop = threading.Event()
        self._errors: list[BaseException] = []
        of_items = (store, collection, steps, worker, tally)
        self.outcomes = Outcomes(*of_items, retries=is_worker)
        self._reading = Reading(*of_items, self.outcomes, start=self._start, force=force)
        self._embedding = EmbedStage(
            *(steps, worker, tally, self.outcomes, self._split, self._embedded),
            turn=shared.turn,
            stop=self._stop,
            settle=self._settle,
            begin=self._adopt,
            is_paced=is_worker,
        )
        self._writing = WriteStage(
            store, collection, steps, tally, self.outcomes, settle=self._settle
        )

    @property
    def under_way(self) -> int:
        """How many items were started and are neither stored nor failed."""
        return self._under_way.used

    @property
    def has_enough(self) -> bool:
        """Whether there is work for every stage, so that others may take what comes next."""
        return (
            self.under_way >= _ENOUGH_FILES
            or self._reading_room.used >= _ENOUGH_BYTES
            or self._embedding.waiting_chunks >= _ENOUGH_CHUNKS
        )

    @property
    def has_deferred(self) -> bool:
        """Whether items wait until everything that is under way is stored."""
        return self._reading.has_deferred

    @property
    def is_ending(self) -> bool:
        """Whether the stages are being ended, so that failures are no item's fault."""
        return self._stop.is_set() or self._shared.is_closed

    def run(self, groups: Iterable[Sequence[Item]], look: Callable[[], None]) -> None:
        """Work until everything is stored, unchanged or failed; `look` is called meanwhile.

        Raises the error of the first stage that failed.
        """
        stages = [
            threading.Thread(target=self._stage, args=stage, name=f"ragkit-{stage[0]}", daemon=True)
            for stage in (
                ("read", partial(self._read, groups), self._parsed.close),
                ("split", self._splitting, self._split.close),
                ("embed", self._embedding.run, self._embedded.close),
                ("write", self._write, lambda: None),
            )
        ]
        self._shared.splitters.start()
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
        """End all waiting; nothing, when all is done."""
        self._stop.set()
        for bound in self._bounds:
            bound.abort()

    def _stage(self, name: str, work: Callable[[], None], close: Callable[[], None]) -> None:
        try:
            work()
        except Broken:
            return
        except BaseException as error:  # noqa: BLE001  raised again by the thread that started it
            self._errors.append(error)
            self._end()
        close()

    def _read(self, groups: Iterable[Sequence[Item]]) -> None:
        self._reading.read(groups)
        self._reading.finish(self._under_way.empty, self._stop)

    def _start(self, task: Task) -> None:
        """Have an item parsed that was read, when there is room for it."""
        data = task.source.data
        self._reading_room.enter(len(data))
        self._under_way.enter(1)
        self._enter_parsing()
        task.source = replace(task.source, data=b"")
        task.figures.bytes = len(data)
        future = self._shared.parsers.submit(
            *(data, task.source.item.suffix, self._steps.parse_options),
            on_start=partial(task.figures.began, "parse"),
        )
        future.add_done_callback(partial(self._put_parsed, task))

    def _enter_parsing(self) -> None:
        while self._parsing is not None and not self._parsing.acquire(timeout=_LOOK_S):
            if self._stop.is_set():
                raise Broken

    def _put_parsed(self, task: Task, future: Future[ParsedText]) -> None:
        task.figures.ended("parse")
        if self._parsing is not None:
            self._parsing.release()
        with suppress(Broken):
            self._parsed.put(_Parsed(task, future))

    def _splitting(self) -> None:
        """Split what is parsed; while one text is described, the next one is being split."""
        trim = Trimming()
        ahead: deque[_Splitting] = deque()
        while True:
            entries = self._parsed.take_waiting(1) if ahead else self._parsed.take()
            ahead.extend(map(self._begin_split, entries))
            if not ahead:
                return
            if len(ahead) > _SPLIT_AHEAD or not entries:
                splitting = ahead.popleft()
                self._end_split(splitting)
                self._reading_room.leave(splitting.task.figures.bytes)
                trim()

    def _begin_split(self, parsed: _Parsed) -> _Splitting:
        began = perf_counter()
        begun: Splitting | Exception
        try:
            text = result_of(parsed.future, self._stop)
            self._steps.get_ready()  # no file's own time
            began = perf_counter()
            begun = self._steps.split(parsed.task.source, text, self._shared.splitters)
        except Broken:
            raise
        except Exception as error:  # noqa: BLE001  raised again when its turn comes
            begun = error
        return _Splitting(parsed.task, begun, perf_counter() - began)

    def _end_split(self, splitting: _Splitting) -> None:
        began, task = perf_counter() - splitting.seconds, splitting.task
        try:
            prepared = self._prepare(splitting, began)
        except IngestError as error:
            if self.is_ending:
                raise Broken from None
            self.outcomes.fail(task, error)
            prepared = None
        except Exception as error:
            if not self.outcomes.retry(task, error):
                raise
            prepared = None
        if prepared is None:
            self._settle(task)
            return
        self._tally.spent("split", began)
        self._split.put(Split(task, prepared), len(prepared.rows))

    def _prepare(self, splitting: _Splitting, began: float) -> Prepared | None:
        """Describe a text that is split; None for one that is nearly another's, and left out."""
        task, begun = splitting.task, splitting.begun
        if isinstance(begun, Exception):
            raise begun
        prepared = self._steps.prepared(begun, lambda split: result_of(split, self._stop))
        compared = self._compare(task, prepared)
        if compared is not None:
            task.figures.seconds["split"] = perf_counter() - began
            task.figures.notes = dict(compared.notes)
            task.figures.chunks = len(compared.rows)
        return compared

    def _compare(self, task: Task, prepared: Prepared) -> Prepared | None:
        """Flag or leave out a document that is nearly another; None: left out, or deferred until
        the other is stored.
        """
        if self._alike is None:
            return prepared
        document = self._alike.signed(prepared.document)
        does_flag, is_upload = self._alike.does_flag, task.job.upload is not None
        twin = self._alike.twin(document, uploads=is_upload or does_flag)
        if twin is None:
            return replace(prepared, document=document)
        if twin.id is None and (is_upload or not does_flag):
            self._reading.defer(task)
            return None
        if does_flag:
            return replace(prepared, document=flagged(document, twin))
        if is_upload:
            is_left_out = self.outcomes.is_left_out(task, twin)
        else:
            assert twin.id is not None
            is_left_out = self.outcomes.is_copy(task, twin.id, min(twin.similarity, MOST_ALIKE))
        return None if is_left_out else replace(prepared, document=document)

    def _adopt(self) -> None:
        if self._steps.is_new:
            adopt(self._steps, self._settings, self._store, self._collection)

    def _write(self) -> None:
        # What is written together may be half of what is under way, so that no stage has to wait.
        enough = FILES_UNDER_WAY // 2
        self._writing.run(
            self._embedded, lambda waiting: waiting < min(self._under_way.used, enough)
        )

    def _settle(self, task: Task) -> None:
        """Let go of an item that is stored, failed or deferred."""
        if self._alike is not None:
            self._alike.settled(task.uri)
        self._under_way.leave(1)
