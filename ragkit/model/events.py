"""The events of a model server's stream, cut out of its bytes (server-sent events, WHATWG HTML)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Final

MAX_EVENT_BYTES: Final = 4 << 20  # arbitrary; an event is a few hundred bytes
DONE: Final = b"[DONE]"  # the data of the last one


class EventCutter:
    """Cuts a stream of bytes into events, wherever its pieces were cut.

    An event is without the empty line after it; one that has none is left out.
    """

    def __init__(self) -> None:
        self._buffer = b""

    def take(self, piece: bytes) -> list[bytes]:
        """Return the events that end in this piece. Raises ValueError for one that is too long."""
        *events, self._buffer = (self._buffer + piece.replace(b"\r", b"")).split(b"\n\n")
        if len(self._buffer) > MAX_EVENT_BYTES:
            raise ValueError("an event without an end")
        return [event for event in events if event.strip()]


async def read_events(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the events of a stream of bytes, as `EventCutter` cuts them. Raises ValueError."""
    cutter = EventCutter()
    async for piece in pieces:
        for event in cutter.take(piece):
            yield event


def data_of(event: bytes) -> bytes:
    r"""Return the data of an event, b"" where it has none: comments and other fields.

    >>> data_of(b"event: delta\ndata: {}"), data_of(b": still here")
    (b'{}', b'')
    """
    lines = (
        line.removeprefix(b"data:").strip() for line in event.split(b"\n") if line[:5] == b"data:"
    )
    return b"\n".join(lines)
