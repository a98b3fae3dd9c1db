"""Whether a computation takes time in proportion to its input, by two sizes within one run.

Processor time on a busy machine is uncertain, so the two sizes are far apart, the limit lies far
from both answers, and a disturbed measurement is repeated.
"""

import time
from collections.abc import Callable
from typing import Final

FACTOR: Final = 16
# Linear time gives 16, and up to 40 where the smaller input fits into the processor's caches and
# the larger one does not; quadratic time gives 256.
LIMIT: Final = 100
ATTEMPTS: Final = 5
FLOOR_S: Final = 0.002  # a shorter time than this is counted as this: it is mostly noise
# For `first_slow`: what ordinary work on a text takes at most, and more than which is looked into.
_ORDINARY_S: Final = 0.001
_ORDINARY_S_PER_UNIT: Final = 2.5e-7
_EXPONENTIAL: Final = 64  # up to here, such time is found out in small steps
_TELLING: Final = 1000  # below, growth shows only where it is steep
_SHORT_S: Final = 0.02
_AFFORDABLE_S: Final = 0.1
_DRAW: Final = 4  # as often as the same in pieces; linear time gives 1, quadratic time 16


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Tell whether work of one size takes less than 100 times as long as a sixteenth of it."""
    small = size // FACTOR
    work(small)  # what is loaded or compiled only once is no part of it
    for _ in range(ATTEMPTS):
        shortest = min(_seconds(work, small) for _ in range(3))
        if _seconds(work, size) < LIMIT * max(shortest, FLOOR_S):
            return True
    return False


def first_slow(work: Callable[[int], object], most: int) -> int:
    """Return the size up to `most` at which work grows faster than its input, 0 for none.

    Sizes grow by a half, so that exponential time is noticed while it is short. Only what takes
    long for its size is compared with as much work in small pieces: linear time makes that a draw,
    quadratic time takes 16 times as long. The largest size decides, unless what comes before takes
    too long: within a window of some hundred characters, all work looks quadratic.
    """
    size = FACTOR
    while True:
        taken = _seconds(work, size)
        if taken > _SHORT_S:  # once more, as it may have been disturbed
            taken = min(taken, _seconds(work, size))
        too_long = taken > (_AFFORDABLE_S if size >= _TELLING else _SHORT_S)
        is_slow = taken > _ORDINARY_S + size * _ORDINARY_S_PER_UNIT
        decides = too_long or (size == most and most >= _TELLING)
        if is_slow and decides and not _is_draw(work, size, taken):
            return size
        if size == most:
            return 0
        size = min(size * 3 // 2 if size < _EXPONENTIAL else size * 8, most)


def _is_draw(work: Callable[[int], object], size: int, taken: float) -> bool:
    """Compare the work, which took `taken` seconds once, with as much of it in pieces."""
    small = size // FACTOR
    for _ in range(ATTEMPTS):
        if taken < _DRAW * sum(_seconds(work, small) for _ in range(FACTOR)):
            return True
        taken = min(taken, _seconds(work, size))
    return False


def _seconds(work: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    work(size)
    return time.process_time() - start
