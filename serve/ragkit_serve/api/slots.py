"""A place: the right of one request to be worked on, held as long as its work lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

from ragkit.system.cancellation import Cancellation, check_cancelled

T = TypeVar("T")


class Place:
    """Held by a request's handler and by every thread that works for it.

    `free` is called on the event loop once the handler has left and all threads have ended. A
    handler that leaves cancels the work.
    """

    def __init__(self, threads: Executor, free: Callable[[], None]) -> None:
        self.cancellation = Cancellation()
        self._threads = threads
        self._free = free
        self._holders = 1

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Start work in a thread, in a copy of this context, cancelled with this place.

        The work raises WorkCancelledError where it checks for it.
        """
        loop = asyncio.get_running_loop()
        future = self._threads.submit(copy_context().run, self._cancellable, work)
        self._holders += 1
        future.add_done_callback(lambda _: self._release_on(loop))
        return future

    def leave(self) -> None:
        """Cancel the work and give the handler's hold back."""
        self.cancellation.cancel()
        self._release()

    def _cancellable(self, work: Callable[[], T]) -> T:
        with self.cancellation:
            check_cancelled()
            return work()

    def _release_on(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it whoever counted
            loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        self._holders -= 1
        if not self._holders:
            self._free()
