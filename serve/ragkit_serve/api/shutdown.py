"""The end of the grace time, which requests wait for beside their work.

asyncio.Event belongs to the first loop that waits for it; an app may answer on several in turn.
"""

from __future__ import annotations

import asyncio


class Ending:
    """Set once, by one loop; waited for by tasks of any."""

    def __init__(self) -> None:
        self._set = False
        self._waiting: set[asyncio.Future[None]] = set()

    def set(self) -> None:
        """Let all go that wait, now or later."""
        self._set = True
        for future in self._waiting:
            future.get_loop().call_soon_threadsafe(_release, future)

    async def wait(self) -> None:
        """Wait until it is set."""
        if self._set:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)


def _release(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
