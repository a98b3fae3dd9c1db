"""What one key may ask for: so many requests a minute, so many questions at once.

Counted in this process alone: with several, each counts for itself. The minute slides: what is left
of the one before counts in proportion, in the same room however many requests there were.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage  # the other starts a thread for nearly every hit
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from ragkit_serve.api.errors import ApiError

if TYPE_CHECKING:
    from starlette.types import Scope

    from ragkit.library import Caller
    from ragkit_serve.api.metrics import Metrics

GUESSES_A_MINUTE: Final = 60  # arbitrary: unknown keys from one address
LONGEST_TURN_WAIT_S: Final = 30.0  # arbitrary: as long as a question waits for a place


class Quota:
    """Limits of each key, and of each address that presents keys nobody knows."""

    def __init__(self, *, rate: int, concurrency: int, metrics: Metrics) -> None:
        self._requests = RateLimitItemPerMinute(rate)
        self._guesses = RateLimitItemPerMinute(GUESSES_A_MINUTE)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._concurrency = concurrency
        self._running: Counter[str] = Counter()
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._metrics = metrics

    async def count(self, caller: Caller) -> None:
        """Count a request. Raises ApiError 429 when the minute's are used up."""
        who = _who(caller)
        if not await self._limiter.hit(self._requests, who):
            raise await self._refused(
                self._requests, who, f"{self._requests.amount} requests a minute"
            )

    async def check_guesses(self, scope: Scope) -> None:
        """Raise ApiError 429 for an address that has presented too many unknown keys."""
        address = _address(scope)
        if not await self._limiter.test(self._guesses, address):
            raise await self._refused(self._guesses, address, "unknown keys")

    async def count_guess(self, scope: Scope) -> None:
        """Count a key that nobody knows."""
        await self._limiter.hit(self._guesses, _address(scope))

    @contextmanager
    def question(self, caller: Caller) -> Iterator[None]:
        """Hold one of the key's questions at once. Raises ApiError 429 when all are taken."""
        who = _who(caller)
        if self._running[who] >= self._concurrency:
            self._metrics.rejected("quota")
            raise ApiError(
                429,
                f"the key already has {self._concurrency} questions running: wait for one",
                code="concurrency",
                retry_after_s=1,
            )
        self._running[who] += 1
        try:
            yield
        finally:
            self._running[who] -= 1
            if not self._running[who]:
                del self._running[who]

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Hold one of the key's threads for what is no question, waiting for it if need be.

        All keys share one pool of threads: without this, one key could take them all. Raises
        ApiError 429 after `LONGEST_TURN_WAIT_S`.
        """
        turns = self._turns.setdefault(_who(caller), asyncio.Semaphore(self._concurrency))
        try:
            async with asyncio.timeout(LONGEST_TURN_WAIT_S):
                await turns.acquire()
        except TimeoutError:
            self._metrics.rejected("quota")
            said = f"the key already has {self._concurrency} requests running: wait for one"
            raise ApiError(429, said, code="concurrency", retry_after_s=1) from None
        try:
            yield
        finally:
            turns.release()

    async def _refused(self, item: RateLimitItemPerMinute, who: str, what: str) -> ApiError:
        self._metrics.rejected("quota")
        reset = (await self._limiter.get_window_stats(item, who)).reset_time - time.time()
        return ApiError(
            429,
            f"too many requests: {what} are used up",
            code="rate_limit_exceeded",
            retry_after_s=max(1, math.ceil(reset)),
        )


def _who(caller: Caller) -> str:
    key = "" if caller.key is None else str(caller.key)
    return f"{caller.tenant}\0{caller.principal}\0{key}"


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "local"
