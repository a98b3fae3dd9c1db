"""Run tasks against a model server from Python."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ragkit.errors import UsageError
from ragkit_eval.run.header import make_header
from ragkit_eval.run.item import Ask, Task
from ragkit_eval.run.record import Run, read_run
from ragkit_eval.run.runner import CONCURRENCY, Progress, run_items

if TYPE_CHECKING:
    from ragkit_eval.endpoint import Endpoint
    from ragkit_eval.judge import Judge

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
T = TypeVar("T")


def evaluate(
    tasks: Sequence[str | Task],
    *,
    url: str,
    out: str | Path,
    model: str | None = None,
    api_key: str | None = None,
    revision: str = "",
    server_args: str = "",
    data: str | Path | None = None,
    limit: int | None = None,
    groups: Sequence[str] = (),
    concurrency: int = CONCURRENCY,
    timeout_s: float = 600.0,
    seed: int | None = 0,
    chat: bool | None = None,
    special_tokens: bool = True,
    execute_code: bool = False,
    weak_sandbox: bool = False,
    judge: Judge | None = None,
    label: str = "",
    reuse: Sequence[str | Path] = (),
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Ask an OpenAI-compatible server every item of some tasks, and return the run in `out`.

    An unfinished run in `out` with the same tasks, model and sampling is continued, and items that
    ended in an error are asked again; `reuse` names runs whose outcomes are copied for equal items.
    `model` may be omitted if the server has only one; `revision` and `server_args` describe what a
    server does not report, and other values make another run. `limit` selects so many items of each
    task, always the same ones, and `groups` only these subjects. `execute_code` and `weak_sandbox`
    allow programs of the model to be run (see `open_task`). `judge` adds the score "judge" to tasks
    whose answers are texts, and is needed by those that have no other. `chat` asks every task as a
    chat, or none. `special_tokens=False` stops the server from adding special tokens, such as a
    first <s>, to a prompt that is not a chat. The records are returned without prompts and outputs.

    Raises UsageError for invalid options, ModelServerError and ServerGoneError when the server does
    not answer; finished items stay in `out`.
    """
    chosen = _open_tasks(
        tasks,
        data=None if data is None else Path(data),
        limit=limit,
        groups=groups,
        execute_code=execute_code,
        weak_sandbox=weak_sandbox,
    )
    if judge is None:
        _check_unjudged(chosen)

    async def ask_all() -> None:
        from ragkit_eval.endpoint import Endpoint

        async with Endpoint.open(
            url, model, api_key=api_key, concurrency=concurrency, timeout_s=timeout_s, seed=seed
        ) as endpoint:
            await _ask_tasks(
                endpoint,
                chosen,
                Path(out),
                {"revision": revision, "server_args": server_args},
                chat=chat,
                special_tokens=special_tokens,
                seed=seed,
                judge=judge,
                label=label,
                concurrency=concurrency,
                progress=progress,
                overwrite=overwrite,
                reuse=[Path(path) for path in reuse],
            )

    run_async(ask_all())
    return read_run(Path(out), texts=False)


async def _ask_tasks(
    endpoint: Endpoint,
    tasks: Sequence[Task],
    out: Path,
    details: Mapping[str, str],
    *,
    chat: bool | None,
    special_tokens: bool,
    seed: int | None,
    judge: Judge | None,
    label: str,
    **options: Any,
) -> None:
    """Describe the run in a header, and ask all items; `options` are those of `run_items`."""
    from ragkit_eval.judge import judged_ask, with_judge

    if judge is not None:
        tasks = [with_judge(task, judge) if _writes(task) else task for task in tasks]

    def ask_for(task: Task) -> Ask:
        ask = endpoint.ask_for(task, chat=chat, special_tokens=special_tokens)
        return judged_ask(ask, judge) if judge is not None and _writes(task) else ask

    for task in tasks:
        ask_for(task)  # raises for a task that cannot be asked, before prompts are made
    description = {"name": endpoint.model, **endpoint.about, **details}
    overrides = {
        "chat": chat,
        "add_special_tokens": None if special_tokens else False,
        "judge": judge.signature if judge else None,
    }
    header = make_header(tasks, description, overrides, seed, label=label)
    header = replace(header, environment={**header.environment, "url": endpoint.url})
    await run_items(tasks, ask_for, header, out, **options)


def _open_tasks(tasks: Sequence[str | Task], **options: Any) -> list[Task]:
    """Open the tasks that are named. Raises UsageError for none, and for one named twice."""
    from ragkit_eval.tasks.registry import open_task

    chosen = [open_task(task, **options) if isinstance(task, str) else task for task in tasks]
    if not chosen:
        raise UsageError("no task is named: name one, such as mmlu")
    if len({task.name for task in chosen}) < len(chosen):
        raise UsageError("a task is named twice: name each once")
    return chosen


def _writes(task: Task) -> bool:
    """Tell whether a judge can read a task's responses: texts whose targets are answers."""
    return task.method == "generate" and bool(getattr(task, "has_answers", True))


def _check_unjudged(tasks: Sequence[Task]) -> None:
    """Raise UsageError for a task that only a judge scores."""
    for task in tasks:
        if task.metric == "judge":
            raise UsageError(
                f"{task.name} is scored by a judge: name one with --judge, such as llm:quality"
            )


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; SIGINT and SIGTERM cancel it.

    The caller then gets KeyboardInterrupt, or SystemExit with 143, as for a signal outside of the
    loop. A second signal has its previous effect. Where a loop is running already, as in a
    notebook, the coroutine runs in a new thread, and signals are not handled.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        return _run_in_thread(work)
    caught: list[int] = []

    async def guarded() -> T:
        with _cancel_on_signals(asyncio.current_task(), caught):
            return await work

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        if signal.SIGTERM in caught:
            raise SystemExit(128 + signal.SIGTERM) from None
        raise KeyboardInterrupt from None


@contextmanager
def _cancel_on_signals(task: asyncio.Task[T] | None, caught: list[int]) -> Iterator[None]:
    """Let the first signal cancel a task, and restore the previous handlers."""
    if task is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    previous = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in previous.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)

    def stop(number: int) -> None:
        caught.append(number)
        restore()
        task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        restore()


def _run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
