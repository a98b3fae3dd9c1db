"""Two pieces of work side by side, one in a thread of its own. It knows nothing of searching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[], T]) -> Iterator[Future[T]]:
    """Run a piece of work in a thread of its own, in this context, until it has ended.

    The thread is gone when the block is left, however it is.
    """
    with ThreadPoolExecutor(1, "ragkit-beside") as thread:
        yield thread.submit(copy_context().run, work)
