"""Limit the time of a process, not counting the time that it waits for its parent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

_AGAIN_S: Final = 0.05  # before the next look at a clock that is paused


class Clock:
    """Calls `end` once, from another thread, when the limit has passed; `stop` prevents it."""

    def __init__(self, limit_s: float, end: Callable[[], None]) -> None:
        self.end = end
        self._due = monotonic() + limit_s
        self._paused_at: float | None = None
        _WATCH.add(self)

    def stop(self) -> None:
        """Let nothing be ended from now on."""
        _WATCH.discard(self)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count none of the time within."""
        began = self._paused_at = monotonic()
        try:
            yield
        finally:
            self._due += monotonic() - began
            self._paused_at = None

    def left_s(self, time_s: float) -> float:
        """Return how much of the limit is left at a moment; some always is while it is paused."""
        paused_at = self._paused_at
        return self._due - time_s if paused_at is None else max(_AGAIN_S, self._due - paused_at)


class _Watch:
    """The thread that looks at all clocks of the program: to start one for each takes longer than
    to parse a small file. It starts with the first clock.
    """

    def __init__(self) -> None:
        self._clocks: set[Clock] = set()
        self._changed = threading.Condition()
        self._looks_at = 0.0  # when the thread looks next, unless it is told of a change
        self._thread: threading.Thread | None = None

    def add(self, clock: Clock) -> None:
        with self._changed:
            self._clocks.add(clock)
            if self._thread is None or not self._thread.is_alive():  # also after a fork
                self._thread = threading.Thread(target=self._look, name="ragkit-clock", daemon=True)
                self._thread.start()
            elif clock.left_s(0.0) < self._looks_at:
                self._changed.notify()

    def discard(self, clock: Clock) -> None:
        with self._changed:
            self._clocks.discard(clock)

    def _look(self) -> None:
        """End what is over its limit; the next look is when the first of the others may be."""
        while True:
            with self._changed:
                time_s = monotonic()
                remaining_s = {clock: clock.left_s(time_s) for clock in self._clocks}
                over = [clock for clock, left_s in remaining_s.items() if left_s <= 0]
                self._clocks.difference_update(over)
                wait_s = min(
                    (left_s for left_s in remaining_s.values() if left_s > 0), default=None
                )
                self._looks_at = float("inf") if wait_s is None else time_s + wait_s
                if not over:
                    self._changed.wait(wait_s)
            for clock in over:
                clock.end()


_WATCH: Final = _Watch()
