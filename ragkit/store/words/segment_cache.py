"""Decoded parts of the word index kept in this process, within a number of bytes.

A segment never changes and its number is random, never used again, so what is kept is right for
as long as anyone asks for that number. So is what somebody may read of several, under all their
numbers: whatever changes that adds one. Which there are is asked in each transaction, elsewhere.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from threading import Lock
from typing import Final

_OVERHEAD: Final = 300  # bytes: about what the objects around an array take
MAX_BYTES: Final = 256 << 20  # arbitrary: the frequent terms of some million chunks


class SegmentCache:
    """The values used last, as long as they fit; safe to use from several threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, keys: Sequence[Hashable]) -> dict[Hashable, object]:
        """Return what is kept of these keys; a value may be None."""
        found: dict[Hashable, object] = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[key] = self._kept[key][0]
        return found

    def put(self, values: Mapping[Hashable, tuple[object, int]]) -> None:
        """Keep values with their sizes in bytes; the ones used longest ago make room."""
        with self._lock:
            for key, (value, size) in values.items():
                self._drop(key)
                self._kept[key] = (value, size + _OVERHEAD)
                self._bytes += size + _OVERHEAD
            while self._bytes > self._max:
                self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    @property
    def bytes(self) -> int:
        """Count the bytes kept."""
        return self._bytes

    def _drop(self, key: Hashable) -> None:
        if key in self._kept:
            self._bytes -= self._kept.pop(key)[1]


CACHE: Final = SegmentCache()
