"""Open a zip archive that may be hostile: whatever its headers claim, nothing inflates beyond a
budget, no two members share their bytes, none is encrypted."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence

from ragkit.errors import IngestError

_MAX_MEMBERS = 20_000  # arbitrary; a workbook of a thousand sheets has some five thousand
_PIECE_BYTES = 1 << 20
# All that OPC, EPUB and OpenDocument allow. Python inflates the others without a bound: a megabyte
# of bzip2 can become gigabytes in one call.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_LOCAL = struct.Struct("<26xHH")  # of a member's own header: the lengths of its name and extras


class Zip:
    """A zip archive whose members are inflated one at a time, all of them on one budget.

    A member counts once, however often it is read.
    """

    def __init__(
        self, data: bytes, budget: int, *, unusual: str = "so pack it anew with the usual one"
    ) -> None:
        """Check what the archive says of itself. Raises IngestError for what cannot be true.

        `unusual` ends the sentence about a compression method that no ordinary archive has.
        """
        self._budget = self._left = budget
        self._counted: dict[int, int] = {}  # bytes taken off the budget, by a member's place
        try:
            self._file = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            torn = data.startswith(b"PK\x03\x04")
            reason = "truncated or damaged zip archive" if torn else "not really a zip archive"
            raise IngestError("parse", f"{reason}, which its format is made of") from error
        self.infos: Sequence[zipfile.ZipInfo] = self._file.infolist()
        if len(self.infos) > _MAX_MEMBERS:
            raise IngestError("parse", f"more than {_MAX_MEMBERS} members in its zip archive")
        for info in self.infos:
            if info.flag_bits & 0x1:
                raise IngestError("parse", "encrypted: its zip members need a password")
            if info.compress_type not in _METHODS:
                raise IngestError("parse", f"zip method {info.compress_type}, {unusual}")
        _refuse_overlaps(data, self.infos)

    def read(self, info: zipfile.ZipInfo) -> bytes:
        """Inflate one member. Raises IngestError when it is damaged or the budget is used up."""
        content = io.BytesIO()  # which gives out what it holds without a copy
        for piece in self.pieces(info):
            content.write(piece)
        return content.getvalue()

    def pieces(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """Inflate one member piece by piece, as `read` does."""
        self._count(info.header_offset, info.file_size)  # it may say itself that it is too large
        size = 0
        try:
            with self._file.open(info) as member:
                while piece := member.read(_PIECE_BYTES):
                    size += len(piece)
                    self._count(info.header_offset, size)
                    yield piece
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            OSError,
            struct.error,
            ValueError,
        ) as error:
            raise IngestError("parse", f"damaged zip member {info.filename!r}") from error
        if size != info.file_size:
            reason = f"zip member {info.filename!r} claims {info.file_size} bytes and has {size}"
            raise IngestError("parse", reason)

    def _count(self, place: int, size: int) -> None:
        """Take what of a member is new off the budget."""
        self._left -= max(0, size - self._counted.get(place, 0))
        self._counted[place] = max(size, self._counted.get(place, 0))
        if self._left < 0:
            reason = f"unpacks to more than the budget of {self._budget >> 20} MB"
            raise IngestError("parse", f"{reason} (RAGKIT_PARSE_UNZIPPED_MB)")


def _refuse_overlaps(data: bytes, infos: Sequence[zipfile.ZipInfo]) -> None:
    """Raise IngestError where one stretch of the file serves as several members."""
    ordered = sorted(infos, key=lambda info: info.header_offset)
    end = 0
    for info in ordered:
        start = info.header_offset
        if start < end:
            reason = f"zip member {info.filename!r} shares its bytes with another one"
            raise IngestError("parse", f"{reason}, as only a zip bomb's do")
        if start + _LOCAL.size > len(data):
            raise IngestError("parse", f"damaged zip member {info.filename!r}")
        name, extra = _LOCAL.unpack_from(data, start)
        end = start + _LOCAL.size + name + extra + info.compress_size
