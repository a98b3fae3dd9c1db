"""An ingestion on Ray: this program reads, holds the jobs and counts; a cluster does the rest.

What has changed is gathered into waves, each a dataset that Ray Data works through. It knows
nothing of formats, tokens or SQL.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ragkit import errors
from ragkit.errors import IngestError, RagkitError, SettingsError
from ragkit.store.jobs.worker import MAX_TOGETHER
from ragkit_ingest.executor.channel import Broken, Channel, Room
from ragkit_ingest.executor.outcomes import Outcomes
from ragkit_ingest.executor.ray import cluster
from ragkit_ingest.executor.ray.dataset import Plan, results
from ragkit_ingest.executor.ray.operators import Embed, Parse, Recipe, Write, without_secrets
from ragkit_ingest.executor.ray.parcels import Outcome, blocks, parcels
from ragkit_ingest.run.changes import Reading
from ragkit_ingest.run.recipe import adopt

if TYPE_CHECKING:
    import pyarrow

    from ragkit.settings.settings import Settings
    from ragkit.store.jobs.worker import Worker
    from ragkit.store.postgres import PostgresStore
    from ragkit_ingest.executor.ray.cluster import Size
    from ragkit_ingest.parser.pool import ParseLimits
    from ragkit_ingest.run.steps import Steps
    from ragkit_ingest.run.tally import Tally, Task
    from ragkit_ingest.sources.item import Item

log = logging.getLogger("ragkit.ingest")

# What is read ahead of a wave, and a wave itself, arbitrary: seconds of starting processes pay, and
# the bytes fit into a machine's memory three times.
_WAVE_FILES: Final = 8192
_WAVE_BYTES: Final = 256 << 20
# What one process does at a time, arbitrary: seconds of work on a core, or on a GPU.
_BLOCK_FILES: Final = 16
_BLOCK_FILES_GPU: Final = 256
_BLOCK_BYTES: Final = 16 << 20
_LOOK_S: Final = 0.2
_HEARTBEAT_S: Final = 30.0
_NEAR: Final = (
    "--engine ray makes documents side by side and cannot compare them: set near_duplicates of"
    " collection {!r} to keep, or ingest without --engine ray."
)
_ENDED: Final = "the process that worked on this file ended, on the Ray cluster, several times"


class Waves:
    """One ingestion on Ray, with the interface of `ragkit_ingest.executor.pipeline.Pipeline`."""

    def __init__(
        self,
        store: PostgresStore,
        collection: str,
        steps: Steps,
        settings: Settings,
        limits: ParseLimits,
        worker: Worker,
        tally: Tally,
        *,
        parsers: int | None = None,
        force: bool = False,
    ) -> None:
        if steps.options.near_duplicates != "keep":
            raise SettingsError(_NEAR.format(collection))
        self._store = store
        self._collection = collection
        self._steps = steps
        self._settings = settings
        self._limits = limits
        self._worker = worker
        self._tally = tally
        self._parsers = parsers
        self._gathered: list[Task] = []
        self._gathered_bytes = 0
        self._waves = Channel[list["Task"]](1)  # one is worked on, one waits, one is gathered
        self._under_way = Room(1 << 62)  # what is neither stored nor failed
        self._stop = threading.Event()
        self._errors: list[BaseException] = []
        of_items = (store, collection, steps, worker, tally)
        self._outcomes = Outcomes(*of_items)
        self._reading = Reading(*of_items, self._outcomes, start=self._start, force=force)

    def run(self, groups: Iterable[Sequence[Item]], look: Callable[[], None]) -> None:
        """Work until everything is stored, unchanged or failed; `look` is called meanwhile.

        Raises what the first that failed raised.
        """
        threads = [
            threading.Thread(target=self._guarded, args=(self._read, groups), name="ragkit-read"),
            threading.Thread(target=self._guarded, args=(self._beat, look), name="ragkit-beat"),
        ]
        for thread in threads:
            thread.start()
        try:
            with ExitStack() as stack:
                self._work(stack)
        except Broken:
            pass  # another thread's error, which is raised below
        finally:
            self._end()
            for thread in threads:
                thread.join()
        if self._errors:
            raise self._errors[0]
        look()

    def _guarded(self, work: Callable[[Any], None], argument: Any) -> None:
        try:
            work(argument)
        except Broken:
            return
        except BaseException as error:  # noqa: BLE001  raised again by the thread that started it
            self._errors.append(error)
            self._end()

    def _end(self) -> None:
        self._stop.set()
        self._waves.abort()
        self._under_way.abort()

    def _beat(self, look: Callable[[], None]) -> None:
        """Show how far it is, and keep the jobs, whose lease covers what is on the cluster too."""
        beaten = perf_counter()
        while not self._stop.wait(_LOOK_S):
            look()
            if perf_counter() - beaten > _HEARTBEAT_S:
                beaten = perf_counter()
                self._worker.heartbeat()

    def _read(self, groups: Iterable[Sequence[Item]]) -> None:
        self._reading.read(groups)
        self._reading.finish(self._drained, self._stop)
        self._waves.close()

    def _start(self, task: Task) -> None:
        """Add a thing that was read to the wave; hand the wave on when it is full."""
        task.figures.bytes = len(task.source.data)
        self._under_way.enter(1)
        self._gathered.append(task)
        self._gathered_bytes += task.figures.bytes
        full = len(self._gathered) >= _WAVE_FILES or self._gathered_bytes >= _WAVE_BYTES
        if full or _is_suspect(task):
            self._hand_on()

    def _hand_on(self) -> None:
        if self._gathered:
            wave, self._gathered, self._gathered_bytes = self._gathered, [], 0
            self._waves.put(wave)

    def _drained(self) -> None:
        self._hand_on()
        self._under_way.empty()

    def _work(self, stack: ExitStack) -> None:
        """Work through the waves. The cluster is joined when there is something for it to do."""
        size: Size | None = None
        while waves := self._waves.take():
            if self._steps.is_new and not self._tally.embedded:
                adopt(self._steps, self._settings, self._store, self._collection)
            for wave in waves:
                if _is_suspect(wave[0]):
                    self._process_locally(wave)
                    continue
                size = size or stack.enter_context(cluster.joined())
                self._spread(wave, size)

    def _spread(self, wave: Sequence[Task], size: Size) -> None:
        """Process a wave on the cluster, and again its rest when the cluster breaks it off.

        If a try settled nothing, one task may be the cause: the halves are tried, down to a single
        task, which fails. Ray itself has retried it several times by then.
        """
        from ray.exceptions import RayError, RayTaskError

        remaining = dict(enumerate(wave))
        max_files = _BLOCK_FILES_GPU if size.gpus else _BLOCK_FILES
        packed = blocks(wave, max_files=max_files, most_bytes=_BLOCK_BYTES)
        try:
            self._settle(remaining, results(packed, self._plan, size))
        except RayTaskError:
            raise  # a fault of ours, which no thing is to blame for
        except RayError as error:
            log.warning("the Ray cluster broke a wave off: %s", _short(error))
        tasks = list(remaining.values())
        if len(wave) == 1 and tasks:
            self._outcomes.fail(tasks[0], IngestError("worker", _ENDED))
            self._under_way.leave(1)
            return
        middle = len(tasks) if len(tasks) < len(wave) else (len(tasks) + 1) // 2
        for half in filter(None, (tasks[:middle], tasks[middle:])):
            self._spread(half, size)

    def _process_locally(self, wave: Sequence[Task]) -> None:
        """Process a wave in this program, by the same stages."""
        plan = self._plan
        parse = Parse(plan.options, plan.limits, plan.version)
        embed = Embed(plan.recipe, plan.limits)
        write = Write(plan.settings, self._collection)
        packed = blocks(wave, max_files=1, most_bytes=_BLOCK_BYTES)
        try:
            self._settle(dict(enumerate(wave)), (write(embed(parse(block))) for block in packed))
        finally:
            parse.close()
            embed.close()
            write.close()

    def _settle(self, remaining: dict[int, Task], done: Iterable[pyarrow.Table]) -> None:
        """Record the outcomes of tasks, and remove these from the remaining ones."""
        for packed in done:
            for outcome in parcels(packed):
                assert isinstance(outcome, Outcome)
                if self._stop.is_set():
                    raise Broken
                if remaining.pop(outcome.place, None) is None:
                    continue  # Ray did it once more
                self._note(outcome)
                self._under_way.leave(1)

    def _note(self, outcome: Outcome) -> None:
        task, figures = outcome.task, outcome.task.figures
        for stage, spent_s in figures.seconds.items():
            if stage != "read":
                self._tally.spent(stage, perf_counter() - spent_s)
        if outcome.kind == "stopped":
            raise _error(outcome)
        if outcome.kind == "failed":
            self._outcomes.fail(task, IngestError(outcome.stage, outcome.reason))
        elif outcome.kind == "lost":  # it was deleted, or another process has taken it over
            self._tally.count(lost=1, embedded=figures.chunks)
        else:
            self._tally.count(embedded=figures.chunks)
            assert outcome.document is not None
            self._outcomes.store(task, outcome.document)

    @cached_property
    def _plan(self) -> Plan:
        steps = self._steps
        recipe = Recipe(
            settings=without_secrets(self._settings),
            collection=self._collection,
            kept=self._store.spaces.active(self._collection),
            fingerprint=steps.fingerprint,
            options=steps.options,
            analyser=steps.analyser,
            lines=steps.lines,
        )
        settings = without_secrets(self._settings, keep=("database_url",))
        return Plan(recipe, steps.parse_options, self._limits, settings, parsers=self._parsers)


def _is_suspect(task: Task) -> bool:
    """Return whether a task has to be tried alone: programs ended while they had it."""
    return task.job.attempts > MAX_TOGETHER


def _error(outcome: Outcome) -> RagkitError:
    """Rebuild the error that ended the work on another machine."""
    kind = getattr(errors, outcome.stage, RagkitError)
    error: RagkitError = kind(outcome.reason)
    return error


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
