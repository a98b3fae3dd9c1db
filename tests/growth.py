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


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Tell whether work of one size takes less than 100 times as long as a sixteenth of it."""
    small = size // FACTOR
    work(small)  # what is loaded or compiled only once is no part of it
    for _ in range(ATTEMPTS):
        shortest = min(_seconds(work, small) for _ in range(3))
        if _seconds(work, size) < LIMIT * max(shortest, FLOOR_S):
            return True
    return False


def _seconds(work: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    work(size)
    return time.process_time() - start
