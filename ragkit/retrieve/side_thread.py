"""Run work in a second thread beside the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def run_beside(work: Callable[[], T]) -> Iterator[Future[T]]:
    """Run work in a thread and in this context; leave the block only when the work has ended."""
    with ThreadPoolExecutor(1, "ragkit-beside") as thread:
        yield thread.submit(copy_context().run, work)
