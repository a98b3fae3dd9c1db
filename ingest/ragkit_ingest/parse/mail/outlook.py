"""Read the properties of an Outlook item (MS-OXMSG) out of the compound file that it is stored
in."""

from __future__ import annotations

import datetime as dt
import io
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit_ingest.parse.mail.message import text_of

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PROPERTIES = "__properties_version1.0"
_UNICODE, _CODED, _BINARY, _OBJECT = 0x001F, 0x001E, 0x0102, 0x000D
_ENTRY = struct.Struct("<HHI8s")
_EPOCH = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)  # from which a FILETIME counts, in 100 ns
_MAX_STORAGES = 10_000  # arbitrary; recipients and attachments
_DEFECTS = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error)


def open_outlook(data: bytes) -> Properties:
    """Open a .msg file. Raises IngestError for what is none, or is damaged."""
    import olefile

    if not data.startswith(_OLE):
        raise IngestError("parse", "not an Outlook message: it is no compound file")
    try:
        file = olefile.OleFileIO(io.BytesIO(data))
        paths = [tuple(path) for path in file.listdir(streams=True, storages=True)]
    except (*_DEFECTS, RecursionError) as error:
        raise IngestError("parse", "truncated or damaged Outlook message") from error
    paths_by_name = {tuple(part.lower() for part in path): path for path in paths}
    if (_PROPERTIES,) not in paths_by_name:
        raise IngestError("parse", "not an Outlook message: it has no properties")
    return Properties(file, paths_by_name, ())


class Properties:
    """The properties of a message, recipient or attachment: one storage of the file."""

    def __init__(
        self, file: Any, paths: Mapping[tuple[str, ...], tuple[str, ...]], place: tuple[str, ...]
    ) -> None:
        self._file = file
        self._known = paths
        self._place = place
        self._fixed = self._read_fixed()

    def text(self, key: int, *codepages: int) -> str:
        """Read a text; `codepages` are the properties that say how it is encoded, if they do."""
        data = self._stream(key, _UNICODE)
        if data:
            return clean(data.decode("utf-16-le", "replace")).rstrip("\ufffd")
        data = self._stream(key, _CODED)
        page = next((number for name in codepages if (number := self.number(name))), 0)
        return text_of(data, f"cp{page}" if page else None).rstrip("\ufffd") if data else ""

    def data(self, key: int) -> bytes:
        """Read bytes; none when the property is not there."""
        return self._stream(key, _BINARY)

    def number(self, key: int) -> int:
        """Read a whole number or a yes; 0 when it is not there."""
        return int.from_bytes(self._fixed.get(key, b"")[:4], "little")

    def moment(self, key: int) -> dt.datetime | None:
        """Read a moment."""
        ticks = int.from_bytes(self._fixed.get(key, b""), "little")
        try:
            return _EPOCH + dt.timedelta(microseconds=ticks // 10) if ticks else None
        except OverflowError:
            return None

    def parts(self, kind: str) -> Iterator[Properties]:
        """Give the recipients or attachments, in their order."""
        depth = len(self._place)
        names = sorted(
            path
            for path in self._known
            if len(path) == depth + 1
            and path[:depth] == self._place
            and re.fullmatch(rf"{kind}_version1\.0_#[0-9a-f]{{8}}", path[-1])
        )
        for path in names[:_MAX_STORAGES]:
            yield Properties(self._file, self._known, path)

    def inner(self, key: int) -> Properties | None:
        """Open a message that is kept as a property."""
        place = (*self._place, f"__substg1.0_{key:04x}{_OBJECT:04x}")
        is_message = (*place, _PROPERTIES) in self._known
        return Properties(self._file, self._known, place) if is_message else None

    def _read_fixed(self) -> dict[int, bytes]:
        data = self._open((*self._place, _PROPERTIES))
        head = 8
        if not self._place:
            head = 32
        elif self._place[-1].startswith("__substg1.0_3701"):
            head = 24
        entries = data[head : len(data) - (len(data) - head) % _ENTRY.size]
        return {key: value for _, key, _, value in _ENTRY.iter_unpack(entries)}

    def _stream(self, key: int, kind: int) -> bytes:
        return self._open((*self._place, f"__substg1.0_{key:04x}{kind:04x}"))

    def _open(self, path: tuple[str, ...]) -> bytes:
        real = self._known.get(path)
        if real is None:
            return b""
        try:
            data: bytes = self._file.openstream(list(real)).read()
        except _DEFECTS as error:
            raise IngestError("parse", "truncated or damaged Outlook message") from error
        return data
