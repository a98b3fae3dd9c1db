"""What one key may ask for: so many requests a minute, so many questions at once.

Counted in this process alone: with several, each counts for itself. The minute slides: what is left
of the one before counts in proportion, in the same room however many requests there were.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage  # the other starts a thread for nearly every hit
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from ragkit_serve.api.errors import ApiError

if TYPE_CHECKING:
    from starlette.types import Scope

    from ragkit.access.library import Caller
    from ragkit_serve.api.metrics import Metrics

GUESSES_A_MINUTE: Final = 60  # arbitrary: unknown keys from one address
SIGN_ONS_A_MINUTE: Final = 60  # arbitrary: single sign-ons begun from one address
LONGEST_TURN_WAIT_S: Final = 30.0  # arbitrary: as long as a question waits for a place


class Quota:
    """Limits of each key, and of each address that presents keys nobody knows."""

    def __init__(self, *, rate: int, concurrency: int, metrics: Metrics) -> None:
        self._requests = RateLimitItemPerMinute(rate)
        self._guesses = RateLimitItemPerMinute(GUESSES_A_MINUTE, namespace="guess")
        self._sign_ons = RateLimitItemPerMinute(SIGN_ONS_A_MINUTE, namespace="sign-on")
        self._lane = CapacityLimiter(1)
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

    async def lane(self, scope: Scope) -> CapacityLimiter | None:
        """Return what the lookup of a key must wait for: None for an address without many guesses.

        A valid key works whatever was guessed from its address, so each has to be looked up. The
        lookups for addresses that have used their guesses up go one at a time: however many come,
        they take one thread and one connection to the database.
        """
        allowed = await self._limiter.test(self._guesses, address_of(scope))
        return None if allowed else self._lane

    async def note_guess(self, scope: Scope) -> bool:
        """Count a key or log-in that nobody knows; tell whether the address had a guess left."""
        return await self._limiter.hit(self._guesses, address_of(scope))

    async def count_guess(self, scope: Scope) -> None:
        """Count a key that nobody knows. Raises ApiError 429 when the minute's are used up."""
        if not await self.note_guess(scope):
            raise await self._refused(self._guesses, address_of(scope), "unknown keys")

    async def count_sign_on(self, scope: Scope) -> None:
        """Count a single sign-on. Raises ApiError 429 when the address's are used up."""
        address = address_of(scope)
        if not await self._limiter.hit(self._sign_ons, address):
            raise await self._refused(self._sign_ons, address, "log-ins from your address")

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
            message = f"the key already has {self._concurrency} requests running: wait for one"
            raise ApiError(429, message, code="concurrency", retry_after_s=1) from None
        try:
            yield
        finally:
            turns.release()

    async def _refused(self, item: RateLimitItemPerMinute, who: str, unit: str) -> ApiError:
        self._metrics.rejected("quota")
        reset = (await self._limiter.get_window_stats(item, who)).reset_time - time.time()
        return ApiError(
            429,
            f"too many requests: {unit} are used up",
            code="rate_limit_exceeded",
            retry_after_s=max(1, math.ceil(reset)),
        )


def _who(caller: Caller) -> str:
    key = "" if caller.key is None else str(caller.key)
    return f"{caller.tenant}\0{caller.principal}\0{key}"


def address_of(scope: Scope) -> str:
    """Return what stands for a client: its IPv4 address, or the /64 that IPv6 gives a site."""
    client = scope.get("client")
    if not client:
        return "local"
    try:
        address = ipaddress.ip_address(client[0])
    except ValueError:
        return str(client[0])
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))
