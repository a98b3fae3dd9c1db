"""From an iterator that blocks, in a thread, to the event loop: in batches, bounded, cancellable.

Whatever came while the loop was busy is handed over together, so that a fast stream costs one
wake-up for many pieces.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from ragkit_serve.api.slots import Place

T = TypeVar("T")
MAX_PENDING: Final = 256  # arbitrary: pieces that a slow reader leaves waiting


async def pumped(
    make: Callable[[], Iterator[T]], place: Place
) -> AsyncGenerator[Sequence[T], None]:
    """Yield what an iterator yields in a place's thread, in batches; closing this cancels its work.

    Raises what the iterator raises, after everything that came before it. The place is of no use
    for other work afterwards.
    """
    pump = _Pump[T](make, asyncio.get_running_loop(), place)
    place.submit(pump.run)
    place.cancellation.add(pump)
    try:
        while True:
            await pump.ready.wait()
            pump.ready.clear()
            items, ended, error = pump.take()
            if items:
                yield items
            if ended:
                if error is not None:
                    raise error
                return
    finally:
        place.cancellation.cancel()


class _Pump(Generic[T]):
    def __init__(
        self, make: Callable[[], Iterator[T]], loop: asyncio.AbstractEventLoop, place: Place
    ) -> None:
        self.ready = asyncio.Event()
        self._make = make
        self._loop = loop
        self._cancellation = place.cancellation
        self._guard = threading.Lock()
        self._room = threading.Semaphore(MAX_PENDING)
        self._items: list[T] = []
        self._told = self._ended = False
        self._error: BaseException | None = None

    def run(self) -> None:
        """Iterate, in the thread."""
        error: BaseException | None = None
        try:
            self._iterate()
        except BaseException as caught:  # noqa: BLE001  handed over, to be raised there
            error = caught
        with self._guard:
            self._ended, self._error = True, error
        self._tell()

    def take(self) -> tuple[Sequence[T], bool, BaseException | None]:
        """Take what has come, and whether that is all."""
        with self._guard:
            items, self._items, self._told = self._items, [], False
            ended, error = self._ended, self._error
        if items:
            self._room.release(len(items))
        return items, ended, error

    def stop(self) -> None:
        """Wake the thread, which may wait for a slow reader."""
        self._room.release(MAX_PENDING)

    def _iterate(self) -> None:
        pieces: Any = self._make()
        try:
            for piece in pieces:
                self._room.acquire()
                if self._cancellation.cancelled:
                    break
                self._put(piece)
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()

    def _put(self, piece: T) -> None:
        with self._guard:
            self._items.append(piece)
            was_told, self._told = self._told, True
        if not was_told:
            self._tell()

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self.ready.set)
        except RuntimeError:  # the loop has ended, and with it whoever would read
            self._cancellation.cancel()
