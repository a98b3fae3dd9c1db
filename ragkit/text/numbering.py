"""Number items in the order of their first occurrence, and list ranges of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T", bound=Hashable)


class Numbers(dict[T, int]):
    """Things and their numbers; what is asked for first is given the next one, and is in `new`."""

    def __init__(self) -> None:
        self.new: list[T] = []

    def __missing__(self, item: T) -> int:
        number = self[item] = len(self)
        self.new.append(item)
        return number

    def of(self, items: Iterable[T], count: int) -> NDArray[np.int32]:
        """Return the numbers of so many things."""
        import numpy as np

        return np.fromiter(map(self.__getitem__, items), np.int32, count)


def ranges(firsts: NDArray[np.int32], counts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Join the ranges that begin at `firsts`, of so many numbers each.

    >>> import numpy as np
    >>> ranges(np.array([7, 3], np.int32), np.array([2, 3], np.int32)).tolist()
    [7, 8, 3, 4, 5]
    """
    import numpy as np

    ends: NDArray[np.int32] = counts.cumsum(dtype=np.int32)
    total = int(ends[-1]) if len(ends) else 0
    offsets: NDArray[np.int32] = firsts - (ends - counts)
    joined: NDArray[np.int32] = np.add(offsets.repeat(counts), np.arange(total, dtype=np.int32))
    return joined
