"""Read within a limit on size, and report files beyond it."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final

from ragkit.errors import IngestError

_PIECE_BYTES: Final = 1 << 20  # asked for together: a buffer of as much as may be read costs more
Read = Callable[[int], bytes]


class TooLargeError(IngestError):
    """More than may be read; `size` may be that of the part that was read."""

    def __init__(self, size: int, max_bytes: int) -> None:
        limit = f"RAGKIT_MAX_FILE_MB, {max_bytes >> 20} MB"
        super().__init__("read", f"{size / 2**20:.1f} MB are over {limit}")


def bounded(data: bytes, max_bytes: int) -> bytes:
    """Return what may be that large. Raises TooLargeError."""
    if len(data) > max_bytes:
        raise TooLargeError(len(data), max_bytes)
    return data


def read_bounded(stream: BinaryIO, max_bytes: int, *, expected: int = 0) -> bytes:
    """Read a stream to its end, which comes after `expected` bytes as far as one knows.

    Raises TooLargeError, having read little more than may be.
    """
    parts = [stream.read(expected + 1)]
    size = len(parts[0])
    while size > expected and size <= max_bytes:
        part = stream.read(min(_PIECE_BYTES, max_bytes + 1 - size))
        if not part:
            break
        parts.append(part)
        size += len(part)
    return bounded(b"".join(parts), max_bytes)


def in_hand(data: bytes) -> Read:
    """Return a way to read what is in memory already."""

    def read(max_bytes: int) -> bytes:
        return bounded(data, max_bytes)

    return read
