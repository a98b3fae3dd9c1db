"""Two pieces of work side by side, one in a thread of its own. It knows nothing of searching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[Event], T]) -> Iterator[tuple[Event, Future[T]]]:
    """Run a piece of work in a thread of its own, in this context, until it has ended.

    It is given an event to set once it holds all that it waits for, and that is set when it ends:
    whoever waits for that before taking a connection himself keeps none back from it, so that no
    two searches wait for each other's. The thread is gone when the block is left, however it is.
    """
    held = Event()

    def run() -> T:
        try:
            return work(held)
        finally:
            held.set()

    with ThreadPoolExecutor(1, "ragkit-beside") as thread:
        yield held, thread.submit(copy_context().run, run)
