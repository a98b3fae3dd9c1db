"""Ask every item of some tasks, many at once, and write each outcome down as it comes.

It knows nothing of who answers. What it holds of a finished item is its id and key alone.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError, RagkitError, UsageError
from ragkit_eval.item import Ask, Item, Response, Scored, Task
from ragkit_eval.record import Header, Record, Status
from ragkit_eval.run.keys import KeyOf, key_maker
from ragkit_eval.run.reuse import Reuse
from ragkit_eval.run.runfile import RunFile

CONCURRENCY: Final = 32  # arbitrary: enough to fill a small server's batches
_OK: Final = 0.5  # of a graded metric; of one that is 0 or 1 it means 1


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a run is. `kept` items were in the file before, `reused` ones in other runs."""

    total: int
    ok: int = 0
    wrong: int = 0
    errors: int = 0
    kept: int = 0
    reused: int = 0

    @property
    def done(self) -> int:
        """Count the items that have an outcome."""
        return self.ok + self.wrong + self.errors

    def add(self, status: Status) -> Counts:
        """Count one outcome more."""
        name = "errors" if status == "error" else status
        return replace(self, **{name: getattr(self, name) + 1})


Progress = Callable[[Counts], None]
_Ready = tuple[Task, Item, str]
_Asked = tuple[Task, Item, str, Response]


async def run_items(
    tasks: Sequence[Task],
    ask_for: Callable[[Task], Ask],
    header: Header,
    out: Path,
    *,
    concurrency: int = CONCURRENCY,
    key_of: KeyOf | None = None,
    progress: Progress | None = None,
    retry_errors: bool = True,
    overwrite: bool = False,
    reuse: Sequence[Path] = (),
) -> Counts:
    """Ask all items of the tasks, `concurrency` at a time; go on where `out` has some of them.

    A ModelError is the item's outcome; any other error of ragkit's ends the run, and what is
    finished by then stays in `out`. Scoring runs in threads. Raises UsageError for a file that
    holds another run, and for two items of one id; whatever else ends a run is raised as it came.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency {concurrency} is too small: use 1 or more")
    asks = {task.name: ask_for(task) for task in tasks}
    if len(asks) < len(tasks):
        raise UsageError("a task is named twice: name each once")
    others = Reuse(reuse)
    # Not waited for when the run is stopped: a program that is being scored has its own limits.
    threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="scoring")
    try:
        with RunFile.open(out, header, overwrite=overwrite) as file:
            keys = key_of or key_maker(header)
            going = _Going(tasks, asks, file, keys, progress, others, retry_errors=retry_errors)
            going.begin(sum(task.items for task in header.tasks))
            await going.run(concurrency, threads)
            return going.counts
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


class _Going:
    """A run under way."""

    def __init__(
        self,
        tasks: Sequence[Task],
        asks: dict[str, Ask],
        file: RunFile,
        key_of: KeyOf,
        progress: Progress | None,
        reuse: Reuse,
        *,
        retry_errors: bool,
    ) -> None:
        self.counts = Counts(0)
        self._tasks = tasks
        self._asks = asks
        self._file = file
        self._key_of = key_of
        self._progress = progress or (lambda counts: None)
        self._reuse = reuse
        self._again: frozenset[Status] = frozenset({"error"} if retry_errors else ())

    def begin(self, total: int) -> None:
        """Count what the file has."""
        self.counts = Counts(total)
        for _, status in self._file.finished.values():
            if status not in self._again:
                self.counts = self.counts.add(status)
        self.counts = replace(self.counts, kept=self.counts.done)
        self._progress(self.counts)

    async def run(self, concurrency: int, threads: ThreadPoolExecutor) -> None:
        """Prepare, ask and score at once; none waits for another but for a queue that is full.

        Prompts are ready before a slot is free, so that the server never waits for them.
        """
        ready: asyncio.Queue[_Ready | None] = asyncio.Queue(concurrency)
        asked: asyncio.Queue[_Asked | None] = asyncio.Queue(concurrency)
        scorers = os.cpu_count() or 1

        async def prepare_all() -> None:
            for one in self._waiting():
                await ready.put(one)
            for _ in range(concurrency):
                await ready.put(None)

        async def ask_all() -> None:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(self._asking(ready, asked))
            for _ in range(scorers):
                await asked.put(None)

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(prepare_all())
                group.create_task(ask_all())
                for _ in range(scorers):
                    group.create_task(self._scoring(asked, threads))
        except BaseExceptionGroup as errors:
            first = _first(errors)
            raise first from first.__cause__

    def _waiting(self) -> Iterator[_Ready]:
        """Go through the items that have no outcome yet."""
        for task in self._tasks:
            seen: set[str] = set()
            for item in task.items():
                if item.id in seen:
                    raise UsageError(f"{task.name} has two items of the id {item.id!r}")
                seen.add(item.id)
                key = self._key_of(task, item)
                had, status = self._file.finished.get((task.name, item.id), ("", "error"))
                if had == key and status not in self._again:
                    continue
                found = self._reuse.find(key, item)
                if found is None:
                    yield task, item, key
                else:
                    self._write(found, reused=1)

    async def _asking(
        self, ready: asyncio.Queue[_Ready | None], asked: asyncio.Queue[_Asked | None]
    ) -> None:
        while (one := await ready.get()) is not None:
            task, item, key = one
            try:
                response = await self._asks[task.name](item)
            except ModelError as error:
                self._write(_failed(task, item, key, str(error)))
            else:
                await asked.put((task, item, key, response))

    async def _scoring(
        self, asked: asyncio.Queue[_Asked | None], threads: ThreadPoolExecutor
    ) -> None:
        loop = asyncio.get_running_loop()
        while (one := await asked.get()) is not None:
            self._write(await loop.run_in_executor(threads, _scored, *one))

    def _write(self, record: Record, *, reused: int = 0) -> None:
        self._file.write(record)
        counts = self.counts.add(record.status)
        self.counts = replace(counts, reused=counts.reused + reused)
        self._progress(self.counts)


def _scored(task: Task, item: Item, key: str, response: Response) -> Record:
    try:
        scored = task.score(item, response)
    except RagkitError as error:
        return _failed(task, item, key, f"could not be scored: {error}", response)
    odd = next((name for name, value in scored.scores.items() if not isfinite(value)), None)
    if odd is not None:
        problem = f"could not be scored: {odd} is {scored.scores[odd]}, no number"
        return _failed(task, item, key, problem, response)
    ok = scored.scores.get(task.metric, 0.0) >= _OK
    return _record(task, item, key, "ok" if ok else "wrong", response, scored)


def _failed(
    task: Task, item: Item, key: str, problem: str, response: Response | None = None
) -> Record:
    record = _record(task, item, key, "error", response or Response(), Scored("", {}))
    return replace(record, error=" ".join(problem.split()))


def _record(
    task: Task, item: Item, key: str, status: Status, response: Response, scored: Scored
) -> Record:
    usage = asdict(response.usage) if response.usage else {}
    return Record(
        task=task.name,
        id=item.id,
        key=key,
        status=status,
        prediction=scored.prediction,
        targets=item.targets,
        scores=scored.scores,
        group=item.group,
        cluster=item.cluster,
        question=item.question,
        prompt=item.prompt,
        output=response.text,
        finish=response.finish,
        fallback=scored.fallback,
        latency_s=round(response.latency_s, 6),
        first_token_s=response.first_token_s,
        usage={name: count for name, count in usage.items() if count is not None},
        detail=_detail(response),
    )


def _detail(response: Response) -> dict[str, object]:
    """Keep what a prediction was read out of, besides what whoever answered kept."""
    detail = dict(response.detail)
    if response.top:
        detail["top"] = [[token, round(logprob, 6)] for token, logprob in response.top]
    if response.likelihoods:
        detail["likelihoods"] = [asdict(one) for one in response.likelihoods]
    return detail


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error that is no group."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
