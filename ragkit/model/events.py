"""The events of a model server's stream, cut out of its bytes (server-sent events, WHATWG HTML)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Final

MAX_EVENT_BYTES: Final = 4 << 20  # arbitrary; an event is a few hundred bytes
DONE: Final = b"[DONE]"  # the data of the last one


async def read_events(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Cut a stream of bytes into events, wherever its pieces were cut.

    An event is without the empty line after it; one that has none is left out. Raises ValueError
    for one that is too long.
    """
    buffer = b""
    async for piece in pieces:
        buffer += piece.replace(b"\r", b"")
        *events, buffer = buffer.split(b"\n\n")
        for event in events:
            if event.strip():
                yield event
        if len(buffer) > MAX_EVENT_BYTES:
            raise ValueError("an event without an end")


def data_of(event: bytes) -> bytes:
    r"""Return the data of an event, b"" where it has none: comments and other fields.

    >>> data_of(b"event: delta\ndata: {}"), data_of(b": still here")
    (b'{}', b'')
    """
    lines = (
        line.removeprefix(b"data:").strip() for line in event.split(b"\n") if line[:5] == b"data:"
    )
    return b"\n".join(lines)
