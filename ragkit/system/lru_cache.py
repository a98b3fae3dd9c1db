"""A cache that keeps the values used last, up to a total size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Values with their sizes, in any unit; the ones used longest ago make room for new ones.

    `overhead` is added to the size of each value. Threads may share a cache.
    """

    def __init__(self, max_size: int, *, overhead: int = 0) -> None:
        self._max = max_size
        self._overhead = overhead
        self._size = 0
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, keys: Sequence[Key]) -> dict[Key, Value]:
        """Return what is kept of these keys; a value may be None."""
        values: dict[Key, Value] = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    values[key] = self._kept[key][0]
        return values

    def put(self, values: Mapping[Key, tuple[Value, int]]) -> None:
        """Keep values with their sizes."""
        with self._lock:
            for key, (value, size) in values.items():
                self._drop(key)
                self._kept[key] = (value, size + self._overhead)
                self._size += size + self._overhead
            while self._size > self._max:
                self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._size = 0

    @property
    def size(self) -> int:
        """Return the size of all values kept, with their overhead."""
        return self._size

    def _drop(self, key: Key) -> None:
        if key in self._kept:
            self._size -= self._kept.pop(key)[1]
