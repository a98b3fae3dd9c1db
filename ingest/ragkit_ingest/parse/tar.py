"""Unpack a tar archive, packed by gzip, bzip2 or xz or not at all, into the files in it.

Members are read as a stream: nothing unpacks beyond the budget, whatever headers claim.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from typing import Protocol

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit_ingest.parse.membernames import encoding_of, is_noise, path_parts, unused
from ragkit_ingest.parse.options import ParseOptions

_MAX_MEMBERS = 20_000  # arbitrary, as for zip
_DAMAGED = (tarfile.TarError, EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)


def members(data: bytes, options: ParseOptions) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive, each with its name: relative, without "..", used once.

    Folders, links, hidden files and what systems leave beside files are passed over. Raises
    IngestError for an archive that is damaged or hostile.
    """
    return members_of(_unpacked(data), options)


class DamagedError(IngestError):
    """An archive that ends early, or is none."""


def members_of(archive: _Readable, options: ParseOptions) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an unpacked archive, as `members` does.

    Raises DamagedError, and IngestError for an archive that is hostile.
    """
    files: list[tuple[bytes, bytes]] = []
    stream = _Budgeted(archive, options.unzipped_bytes)
    try:
        # Bytes that are no UTF-8 come back as they are, see below.
        with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8") as tars:  # type: ignore[call-overload]
            for count, info in enumerate(tars, 1):
                if count > _MAX_MEMBERS:
                    raise IngestError("parse", f"more than {_MAX_MEMBERS} members in its archive")
                if info.isreg() and not info.issparse():
                    stream.check(info.size)
                    content = tars.extractfile(info)
                    files.append((_raw(info), content.read() if content is not None else b""))
                tars.members.clear()  # which would keep them all
    except _DAMAGED as error:
        raise DamagedError("parse", "truncated or damaged archive, or not really one") from error
    encoding = encoding_of(b"\n".join(name for name, _ in files))
    used: set[str] = set()
    for raw, content in files:
        parts = path_parts(clean(raw.decode(encoding, "replace")))
        if parts and not is_noise(parts):
            yield unused("/".join(parts), used), content


def _raw(info: tarfile.TarInfo) -> bytes:
    return info.name.encode("utf-8", "surrogateescape")


class _Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Read up to so many bytes."""


def _unpacked(data: bytes) -> _Readable:
    """Open what compresses the archive, by its first bytes."""
    file = io.BytesIO(data)
    if data.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if data.startswith(b"BZh"):
        return bz2.BZ2File(file)
    return lzma.LZMAFile(file) if data.startswith(b"\xfd7zXZ\x00") else file


class _Budgeted:
    """A stream that raises IngestError once more was read than there may be."""

    def __init__(self, stream: _Readable, budget: int) -> None:
        self._stream = stream
        self._budget = self._spare = budget

    def read(self, size: int) -> bytes:
        """Read up to so many bytes."""
        piece = self._stream.read(size)
        self._spare -= len(piece)
        self.check(0)
        return piece

    def check(self, size: int) -> None:
        """Raise IngestError unless so many bytes more may be read."""
        if size > self._spare:
            reason = f"unpacks to more than the budget of {self._budget >> 20} MB"
            raise IngestError("parse", f"{reason} (RAGKIT_PARSE_UNZIPPED_MB)")
