"""Bounds between the stages of an ingestion, so that none runs far ahead of the next.

They know nothing of what passes through them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Broken(Exception):
    """The stages are being ended; whoever waits for one another is to stop as well."""


class Channel(Generic[T]):
    """Things on their way from the threads that put them in to the one that takes them.

    `room` bounds the sum of their sizes; one that is larger passes alone.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._used = 0
        self._things: deque[tuple[T, int]] = deque()
        self._closed = self._broken = False
        self._changed = threading.Condition()

    def put(self, thing: T, size: int = 1) -> None:
        """Add a thing, waiting until there is room for it. Raises Broken."""
        with self._changed:
            self._changed.wait_for(lambda: self._broken or self._fits(size))
            if self._broken:
                raise Broken
            self._things.append((thing, size))
            self._used += size
            self._changed.notify_all()

    def take(
        self,
        most: int = 1,
        *,
        more: Callable[[int], bool] = lambda waiting: False,
        patience_s: float = 0.0,
    ) -> list[T]:
        """Take what there is, up to a sum of sizes but one thing at least; wait for the first.

        While `more` says, told how many wait, that others are on their way, these are waited for
        as well, but no longer than `patience_s`. Nothing comes after the end. Raises Broken.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._broken or self._things or self._closed)
            self._changed.wait_for(
                lambda: (
                    self._broken
                    or self._closed
                    or self._used >= most
                    or not more(len(self._things))
                ),
                patience_s,
            )
            if self._broken:
                raise Broken
            taken: list[T] = []
            total = 0
            while self._things and (not taken or total + self._things[0][1] <= most):
                thing, size = self._things.popleft()
                taken.append(thing)
                total += size
            self._used -= total
            self._changed.notify_all()
            return taken

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

    def _fits(self, size: int) -> bool:
        return not self._things or self._used + size <= self._room


class Room:
    """A bound on what is under way at once, by size; one thing that is larger goes alone."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._broken = False
        self._changed = threading.Condition()

    def enter(self, size: int) -> None:
        """Wait until there is room, and take it. Raises Broken."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._broken or not self._used or self._used + size <= self._size
            )
            if self._broken:
                raise Broken
            self._used += max(size, 1)

    @property
    def used(self) -> int:
        """What is under way."""
        return self._used

    def leave(self, size: int) -> None:
        """Give back what was taken."""
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
