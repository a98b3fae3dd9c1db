"""One event loop in a thread of its own, and iterators over what runs there.

The bridge between synchronous code and asynchronous input and output: whoever waits in
`Pieces.__next__` can be let go by another thread.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from contextlib import aclosing
from queue import SimpleQueue
from typing import Any, Generic, Self, TypeVar

from ragkit.system.cancellation import check_cancelled, current_cancellation

T = TypeVar("T")
CLOSE_S = 1.0  # how long closing waits for a connection to be let go

_guard = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process, started at its first use; a forked child gets its own."""
    with _guard:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="ragkit-io", daemon=True).start()
        return loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it; whoever interrupts the wait ends it."""
    future = asyncio.run_coroutine_threadsafe(work, event_loop())
    try:
        return future.result()
    finally:
        future.cancel()  # nothing, once it is done


class Pieces(Generic[T]):
    """Iterate over what an asynchronous generator yields on the loop.

    It begins at the first `next`. `close` may come from any thread, also while another waits in
    `next`, whose iteration then just ends; so does forgetting the iterator. Raises
    WorkCancelledError where the work of this context was cancelled.
    """

    def __init__(self, source: AsyncGenerator[T, None]) -> None:
        self._pump = _Pump(source)
        self._begun = self._ended = False
        self._batch: Iterator[T] = iter(())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        if self._ended:
            raise StopIteration
        for item in self._batch:
            return item
        if not self._begun:
            self._begun = True
            self._pump.begin()
            if (cancellation := current_cancellation()) is not None:
                cancellation.add(self)
        batch = self._pump.queue.get()
        if isinstance(batch, _End):
            self._ended = True
            if batch.error is not None:
                raise batch.error
            check_cancelled()  # a stream that was cut off is not to be taken for a short one
            raise StopIteration
        self._batch = iter(batch)
        return next(self._batch)

    def close(self) -> None:
        """Stop the generator and wait until it has let go of what it held; twice is once."""
        if self._begun:
            self._pump.cancel()
            self._pump.done.wait(CLOSE_S)
        self._ended = self._begun = True

    def stop(self) -> None:
        """Have the generator stopped, from any thread, without waiting for it."""
        self._pump.cancel()

    def __del__(self) -> None:
        if self._begun:
            self._pump.cancel()


class _End:
    """Stands last in the queue; `error` is None for an end without one, or a closed iterator."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Pump(Generic[T]):
    """Moves what the generator yields into a queue; the iterator refers to it, never it to that.

    What it yields without waiting is moved together: waking the other thread costs more than an
    item.
    """

    def __init__(self, source: AsyncGenerator[T, None]) -> None:
        self.queue: SimpleQueue[Sequence[T] | _End] = SimpleQueue()
        self.done = threading.Event()
        self._source = source
        self._items: list[T] = []  # not in the queue yet
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        self._loop = event_loop()
        self._loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        if self._loop is not None and not self.done.is_set():
            self._loop.call_soon_threadsafe(self._stop)

    def _start(self) -> None:
        self._task = asyncio.ensure_future(self._move())
        self._task.add_done_callback(self._finish)

    def _stop(self) -> None:
        assert self._task is not None, "it is started before it is stopped"
        self._task.cancel()

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._hand_over()
        self.queue.put(_End(None if task.cancelled() else task.exception()))
        self.done.set()

    async def _move(self) -> None:
        loop = asyncio.get_running_loop()
        async with aclosing(self._source) as source:
            async for item in source:
                if not self._items:
                    loop.call_soon(self._hand_over)  # once the generator waits
                self._items.append(item)

    def _hand_over(self) -> None:
        items, self._items = self._items, []
        if items:
            self.queue.put(items)
