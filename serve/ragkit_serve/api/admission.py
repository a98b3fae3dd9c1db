"""Bounded admission: so many questions are answered at once, so many wait, the rest is turned away.

It also is what drains on shutdown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.shutdown import Ending
from ragkit_serve.api.slots import Place

if TYPE_CHECKING:
    from ragkit.access.library import Caller
    from ragkit_serve.api.metrics import Metrics
    from ragkit_serve.api.quota import Quota

LONGEST_WAIT_S: Final = 30.0  # arbitrary: of one question for its turn
_FIRST_GUESS_S: Final = 2.0  # how long an answer takes, before any was measured


class Admission:
    """The places of one process; belongs to the event loop it is first used on.

    `ended` is set when running answers must end although they are not complete. There is one thread
    for each place.
    """

    def __init__(self, *, concurrency: int, queue: int, quota: Quota, metrics: Metrics) -> None:
        self.ended = Ending()
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="ragkit-answer")
        self._places = asyncio.Semaphore(concurrency)
        self._concurrency = concurrency
        self._queue = queue
        self._quota = quota
        self._metrics = metrics
        self._idle = asyncio.Event()
        self._idle.set()
        self._draining = False
        self._running = self._waiting = 0
        self._lasting_s = _FIRST_GUESS_S

    @property
    def draining(self) -> bool:
        """Tell whether nothing new is taken any more."""
        return self._draining

    @property
    def running(self) -> int:
        """Count the questions being worked on, also for clients that have left."""
        return self._running

    @asynccontextmanager
    async def place(self, caller: Caller) -> AsyncIterator[Place]:
        """Hold a place while a question is answered, waiting for one if need be.

        What still runs in a thread at the end is cancelled; the place, and the key's question, are
        taken until it has ended. Raises ApiError 429 for the caller's own quota, 503 when the
        server is full or draining.
        """
        place = await self._taken(caller)
        try:
            yield place
        finally:
            place.leave()

    async def drain(self, grace_s: float) -> None:
        """Take nothing new, and wait until all work has ended; after `grace_s` it is cancelled."""
        self._draining = True
        try:
            async with asyncio.timeout(grace_s):
                await self._idle.wait()
        except TimeoutError:
            self.ended.set()
            try:
                async with asyncio.timeout(1.0):  # arbitrary: to send an event and hang up
                    await self._idle.wait()
            except TimeoutError:
                return

    def close(self) -> None:
        """Let the threads go; nothing waits for one that hangs."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _taken(self, caller: Caller) -> Place:
        with ExitStack() as held:
            held.enter_context(self._quota.question(caller))
            await self._take()
            held.callback(self._give_back, time.monotonic())
            return Place(self._threads, held.pop_all().close)
        raise AssertionError("the stack lets no exception go")

    async def _take(self) -> None:
        if self._draining:
            raise self._full("draining", "the server is shutting down: ask again", 1)
        if self._places.locked() and self._waiting >= self._queue:
            raise self._overloaded()
        self._waiting += 1
        self._metrics.waiting.set(self._waiting)
        try:
            async with asyncio.timeout(LONGEST_WAIT_S):
                await self._places.acquire()
        except TimeoutError:
            raise self._overloaded() from None
        finally:
            self._waiting -= 1
            self._metrics.waiting.set(self._waiting)
        self._running += 1
        self._metrics.in_flight.set(self._running)
        self._idle.clear()

    def _give_back(self, began: float) -> None:
        lasted_s = time.monotonic() - began
        self._places.release()
        self._running -= 1
        self._metrics.in_flight.set(self._running)
        self._lasting_s += (lasted_s - self._lasting_s) / 8  # a moving average
        if not self._running:
            self._idle.set()

    def _overloaded(self) -> ApiError:
        rounds = 1 + self._waiting / self._concurrency
        wait_s = min(60, max(1, round(self._lasting_s * rounds)))
        return self._full("overload", "the server is full: ask again later", wait_s)

    def _full(self, reason: str, message: str, wait_s: int) -> ApiError:
        self._metrics.rejected("draining" if reason == "draining" else "overload")
        return ApiError(503, message, code=reason, retry_after_s=wait_s)
