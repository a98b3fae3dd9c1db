"""Store bytes in memory while they are few, then in a file without a name."""

from __future__ import annotations

from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO, Final
from weakref import finalize

from ragkit.errors import IngestError

_IN_MEMORY_BYTES: Final = 8 << 20  # arbitrary: an ordinary mail with what is attached to it
_PIECE_BYTES: Final = 1 << 20  # arbitrary: copied at once


class Spool:
    """Takes parts one after the other, and is gone with the last of them that somebody holds."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115  closed below
        finalize(self, self._file.close)
        self._size = 0
        self._lock = Lock()

    def take(self, stream: IO[bytes], size: int) -> Part:
        """Take so many bytes. Raises EOFError where there are fewer; IngestError for a full disk.

        To be used by one thread; parts may be read by others meanwhile.
        """
        part = Part(self, self._size, size)
        while size:
            piece = stream.read(min(_PIECE_BYTES, size))
            if not piece:
                raise EOFError
            self._append(piece)
            size -= len(piece)
        return part

    def read(self, start: int, size: int) -> bytes:
        with self._lock:
            self._file.seek(start)
            return self._file.read(size)

    def _append(self, piece: bytes) -> None:
        with self._lock:
            self._file.seek(self._size)
            try:
                self._file.write(piece)
            except OSError as error:
                raise IngestError(
                    "read",
                    f"what it holds cannot be put aside: {error.strerror}: TMPDIR names the folder"
                    " where that is done",
                ) from error
            self._size += len(piece)


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a spool."""

    spool: Spool
    start: int
    size: int

    def read(self) -> bytes:
        return self.spool.read(self.start, self.size)
