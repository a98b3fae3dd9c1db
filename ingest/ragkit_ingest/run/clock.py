"""Limit the time of a process, not counting the time that it waits for its parent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

_AGAIN_S = 0.05  # before the next look at a clock that is paused


class Clock:
    """Calls `end` once, from a thread of its own, when the limit has passed; `stop` prevents it."""

    def __init__(self, limit_s: float, end: Callable[[], None]) -> None:
        self._limit_s = limit_s
        self._end = end
        self._lock = threading.Lock()
        self._began = monotonic()
        self._paused_s = 0.0
        self._paused_at: float | None = None
        self._stopped = False
        self._timer = self._start(limit_s)

    def stop(self) -> None:
        """Let nothing be ended from now on."""
        with self._lock:
            self._stopped = True
            self._timer.cancel()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count none of the time within."""
        with self._lock:
            self._paused_at = monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._paused_s += monotonic() - self._paused_at
                self._paused_at = None

    def _look(self) -> None:
        with self._lock:
            if self._stopped:
                return
            time_s = monotonic()
            paused_s = self._paused_s + (
                0.0 if self._paused_at is None else time_s - self._paused_at
            )
            left_s = self._limit_s - (time_s - self._began - paused_s)
            if left_s > 0:
                self._timer = self._start(max(left_s, _AGAIN_S))
                return
        self._end()

    def _start(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self._look)
        timer.daemon = True
        timer.start()
        return timer
