"""Ask the items of tasks concurrently, and write each outcome at once.

Of a finished item only its id and key stay in memory.
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
from ragkit_eval.run.item import Ask, Item, Response, Scored, Task
from ragkit_eval.run.keys import KeyOf, key_maker
from ragkit_eval.run.record import Header, Record, Status
from ragkit_eval.run.reuse import Reuse
from ragkit_eval.run.runfile import RunFile

CONCURRENCY: Final = 32  # arbitrary: enough to fill a small server's batches
_OK: Final = 0.5  # for a graded metric; one that is 0 or 1 has to be 1


@dataclass(frozen=True, slots=True)
class Counts:
    """The progress of a run. `kept` items were in the file already, `reused` ones in other runs."""

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
        """Return the counts with one more outcome."""
        name = "errors" if status == "error" else status
        return replace(self, **{name: getattr(self, name) + 1})


Progress = Callable[[Counts], None]
_Prompt = tuple[Task, Item, str]
_Answered = tuple[Task, Item, str, Response]


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
    """Ask all items of the tasks, `concurrency` at a time; continue a run that `out` holds in part.

    A ModelError is the item's outcome; any other error of ragkit ends the run, and finished items
    stay in `out`. Scoring runs in threads. Raises UsageError for a file that holds another run, and
    for two items of one id; any other error is raised unchanged.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency {concurrency} is too small: use 1 or more")
    asks = {task.name: ask_for(task) for task in tasks}
    if len(asks) < len(tasks):
        raise UsageError("a task is named twice: name each once")
    index = Reuse(reuse)
    # A stopped run does not wait for them: a program that is being scored has its own limits.
    threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="scoring")
    try:
        with RunFile.open(out, header, overwrite=overwrite) as file:
            keys = key_of or key_maker(header)
            active = _ActiveRun(tasks, asks, file, keys, progress, index, retry_errors=retry_errors)
            active.count_finished(sum(task.items for task in header.tasks))
            await active.run(concurrency, threads)
            return active.counts
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


class _ActiveRun:
    """A run in progress."""

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
        self._retried: frozenset[Status] = frozenset({"error"} if retry_errors else ())

    def count_finished(self, total: int) -> None:
        """Count the items that the file holds already."""
        self.counts = Counts(total)
        for _, status in self._file.finished.values():
            if status not in self._retried:
                self.counts = self.counts.add(status)
        self.counts = replace(self.counts, kept=self.counts.done)
        self._progress(self.counts)

    async def run(self, concurrency: int, threads: ThreadPoolExecutor) -> None:
        """Prepare, ask and score concurrently, connected by bounded queues.

        Prompts are prepared before a slot is free, so that the server never waits for them.
        """
        prompts: asyncio.Queue[_Prompt | None] = asyncio.Queue(concurrency)
        responses: asyncio.Queue[_Answered | None] = asyncio.Queue(concurrency)
        scorers = os.cpu_count() or 1

        async def prepare_all() -> None:
            for prompt in self._pending_prompts():
                await prompts.put(prompt)
            for _ in range(concurrency):
                await prompts.put(None)

        async def ask_all() -> None:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(self._ask_items(prompts, responses))
            for _ in range(scorers):
                await responses.put(None)

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(prepare_all())
                group.create_task(ask_all())
                for _ in range(scorers):
                    group.create_task(self._score_responses(responses, threads))
        except BaseExceptionGroup as errors:
            first = _find_first(errors)
            raise first from first.__cause__

    def _pending_prompts(self) -> Iterator[_Prompt]:
        """Yield the items without an outcome; write those that other runs have."""
        for task in self._tasks:
            ids: set[str] = set()
            for item in task.items():
                if item.id in ids:
                    raise UsageError(f"{task.name} has two items of the id {item.id!r}")
                ids.add(item.id)
                key = self._key_of(task, item)
                stored_key, status = self._file.finished.get((task.name, item.id), ("", "error"))
                if stored_key == key and status not in self._retried:
                    continue
                record = self._reuse.find(key, item)
                if record is None:
                    yield task, item, key
                else:
                    self._write(record, reused=1)

    async def _ask_items(
        self, prompts: asyncio.Queue[_Prompt | None], responses: asyncio.Queue[_Answered | None]
    ) -> None:
        while (prompt := await prompts.get()) is not None:
            task, item, key = prompt
            try:
                response = await self._asks[task.name](item)
            except ModelError as error:
                self._write(_make_error(task, item, key, str(error)))
            else:
                await responses.put((task, item, key, response))

    async def _score_responses(
        self, responses: asyncio.Queue[_Answered | None], threads: ThreadPoolExecutor
    ) -> None:
        loop = asyncio.get_running_loop()
        while (response := await responses.get()) is not None:
            self._write(await loop.run_in_executor(threads, _score_response, *response))

    def _write(self, record: Record, *, reused: int = 0) -> None:
        self._file.write(record)
        counts = self.counts.add(record.status)
        self.counts = replace(counts, reused=counts.reused + reused)
        self._progress(self.counts)


def _score_response(task: Task, item: Item, key: str, response: Response) -> Record:
    try:
        scored = task.score(item, response)
    except RagkitError as error:
        return _make_error(task, item, key, f"could not be scored: {error}", response)
    undefined = next((name for name, value in scored.scores.items() if not isfinite(value)), None)
    if undefined is not None:
        problem = f"could not be scored: {undefined} is {scored.scores[undefined]}, not a number"
        return _make_error(task, item, key, problem, response)
    ok = scored.scores.get(task.metric, 0.0) >= _OK
    return _make_record(task, item, key, "ok" if ok else "wrong", response, scored)


def _make_error(
    task: Task, item: Item, key: str, problem: str, response: Response | None = None
) -> Record:
    record = _make_record(task, item, key, "error", response or Response(), Scored("", {}))
    return replace(record, error=" ".join(problem.split()))


def _make_record(
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
        detail=_make_detail(response),
    )


def _make_detail(response: Response) -> dict[str, object]:
    """Return a response's detail with the values that its prediction was read from."""
    detail = dict(response.detail)
    if response.top:
        detail["top"] = [[token, round(logprob, 6)] for token, logprob in response.top]
    if response.likelihoods:
        detail["likelihoods"] = [asdict(likelihood) for likelihood in response.likelihoods]
    return detail


def _find_first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error that is not a group."""
    first = errors.exceptions[0]
    return _find_first(first) if isinstance(first, BaseExceptionGroup) else first
