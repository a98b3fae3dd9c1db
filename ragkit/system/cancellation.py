"""Cancellation of work in threads: set by whoever no longer wants it, checked by the work.

A thread cannot be stopped from outside. Work that takes long calls `check_cancelled` between its
steps, and what waits registers to be woken.
"""

from __future__ import annotations

import threading
import weakref
from contextvars import ContextVar, Token
from typing import Protocol, Self


class Stoppable(Protocol):
    """Something that a thread waits for."""

    def stop(self) -> None:
        """End the wait, from any thread and without waiting."""
        ...


class WorkCancelledError(Exception):
    """The work was cancelled: nobody waits for its result any more."""


class Cancellation:
    """Cancels what runs inside its `with` block, and in threads started there with its context.

    There `check_cancelled` raises, and so does an iteration over `ragkit.model.bridge.Pieces`. One
    thread enters it.
    """

    def __init__(self) -> None:
        self.cancelled = False
        self._guard = threading.Lock()
        self._waiting: weakref.WeakSet[Stoppable] = weakref.WeakSet()
        self._token: Token[Cancellation | None] | None = None

    def __enter__(self) -> Self:
        self._token = _current.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._token is not None, "it was entered"
        _current.reset(self._token)

    def cancel(self) -> None:
        """Cancel the work, from any thread; it does not wait until the work has ended."""
        with self._guard:
            self.cancelled = True
            waiting = list(self._waiting)
        for wait in waiting:
            wait.stop()

    def add(self, wait: Stoppable) -> None:
        """Stop a wait when this is cancelled; at once if it has been."""
        with self._guard:
            self._waiting.add(wait)
            late = self.cancelled
        if late:
            wait.stop()


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


def current_cancellation() -> Cancellation | None:
    """Return the cancellation of this context; None for work that nobody can cancel."""
    return _current.get()


def check_cancelled() -> None:
    """Raise WorkCancelledError if the work of this context was cancelled."""
    cancellation = _current.get()
    if cancellation is not None and cancellation.cancelled:
        raise WorkCancelledError
