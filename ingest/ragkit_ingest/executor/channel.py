"""Bounds between the stages of an ingestion, so that none runs far ahead of the next."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_LOOK_S: Final = 0.2  # between looks at whether the stages are being ended; arbitrary


class Broken(Exception):
    """The stages are being ended: every thread that waits for another stops as well."""


def result_of(future: Future[T], stop: threading.Event) -> T:
    """Wait for a future's result. Raises Broken once `stop` is set, or the future is cancelled."""
    while True:
        try:
            return future.result(_LOOK_S)
        except CancelledError:
            raise Broken from None
        except TimeoutError:
            if future.done():
                raise
            if stop.is_set():
                raise Broken from None


class FairLock:
    """A lock that threads get in the order in which they asked for it."""

    def __init__(self) -> None:
        self._is_held = False
        self._turns: deque[threading.Event] = deque()
        self._guard = threading.Lock()

    def __enter__(self) -> None:
        with self._guard:
            if not self._is_held:
                self._is_held = True
                return
            turn = threading.Event()
            self._turns.append(turn)
        turn.wait()

    def __exit__(self, *_: object) -> None:
        with self._guard:
            if self._turns:
                self._turns.popleft().set()
            else:
                self._is_held = False


class Channel(Generic[T]):
    """Documents or files on their way from the threads that put them in to the one that takes them.

    `room` bounds the sum of their sizes; one that is larger passes alone.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._used = 0
        self._entries: deque[tuple[T, int]] = deque()
        self._closed = self._broken = False
        self._changed = threading.Condition()

    def put(self, entry: T, size: int = 1) -> None:
        """Add an entry, waiting until there is room for it. Raises Broken."""
        with self._changed:
            self._changed.wait_for(lambda: self._broken or self._fits(size))
            if self._broken:
                raise Broken
            self._entries.append((entry, size))
            self._used += size
            self._changed.notify_all()

    def take(
        self,
        limit: int = 1,
        *,
        expects: Callable[[int], bool] = lambda waiting: False,
        patience_s: float = 0.0,
    ) -> list[T]:
        """Take entries up to a sum of sizes, one at least; wait for the first.

        While `expects`, which gets how many wait, tells that further ones are on their way, these
        are waited for as well, but no longer than `patience_s`. Nothing comes after the end. Raises
        Broken.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._broken or self._entries or self._closed)
            self._changed.wait_for(
                lambda: (
                    self._broken
                    or self._closed
                    or self._used >= limit
                    or not expects(len(self._entries))
                ),
                patience_s,
            )
            return self._taken(limit)

    def take_waiting(self, limit: int) -> list[T]:
        """Take the entries that wait, up to a sum of sizes. Raises Broken."""
        with self._changed:
            return self._taken(limit)

    def close(self) -> None:
        """Say that nothing more will be put in."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abort(self) -> None:
        """End all waiting with Broken, now and from now on."""
        with self._changed:
            self._broken = True
            self._changed.notify_all()

    def _taken(self, limit: int) -> list[T]:
        if self._broken:
            raise Broken
        entries: list[T] = []
        total = 0
        while self._entries and (not entries or total + self._entries[0][1] <= limit):
            entry, size = self._entries.popleft()
            entries.append(entry)
            total += size
        self._used -= total
        self._changed.notify_all()
        return entries

    def _fits(self, size: int) -> bool:
        return not self._entries or self._used + size <= self._room


class Room:
    """A bound on the sum of sizes under way at once; one that is larger goes alone."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._broken = False
        self._changed = threading.Condition()

    def enter(self, size: int) -> None:
        """Take room, waiting until there is some. Raises Broken."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._broken or not self._used or self._used + size <= self._size
            )
            if self._broken:
                raise Broken
            self._used += max(size, 1)

    @property
    def used(self) -> int:
        """The sum of sizes under way."""
        return self._used

    def leave(self, size: int) -> None:
        """Give back room."""
        with self._changed:
            self._used -= max(size, 1)
            self._changed.notify_all()

    def empty(self) -> None:
        """Wait until nothing is under way. Raises Broken."""
        with self._changed:
            self._changed.wait_for(lambda: self._broken or not self._used)
            if self._broken:
                raise Broken

    def abort(self) -> None:
        """End all waiting with Broken, now and from now on."""
        with self._changed:
            self._broken = True
            self._changed.notify_all()
