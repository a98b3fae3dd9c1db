"""Unpack a zip archive into the files in it, under names that are safe to show and to store.

A zip within a zip is a file like any other here: who asks decides how deep to go.
"""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Iterator, Sequence

from ragkit.text.normalise import clean
from ragkit_ingest.parse.membernames import encoding_of, is_noise, path_parts, unused
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.zipped import Zip

_UTF8_FLAG = 0x800
_UNICODE_PATH = 0x7075  # an extra field: the name in UTF-8 (APPNOTE 4.6.9)


def members(data: bytes, options: ParseOptions) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive, each with its name: relative, without "..", used once.

    Folders, links, hidden files and what systems leave beside files are passed over. Raises
    IngestError for an archive that is damaged, encrypted or hostile.
    """
    archive = Zip(data, options.unzipped_bytes)
    used: set[str] = set()
    for info, name in zip(archive.infos, _names(archive.infos), strict=True):
        parts = path_parts(name)
        if parts and not name.endswith(("/", "\\")) and not _is_passed_over(info, parts):
            yield unused("/".join(parts), used), archive.read(info)


def _is_passed_over(info: zipfile.ZipInfo, parts: Sequence[str]) -> bool:
    is_link = stat.S_ISLNK(info.external_attr >> 16)  # what is in it is only a path
    return is_link or is_noise(parts)


def _names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Read the members' names; those without a mark of their encoding are read as one text."""
    raw = [_raw(info) for info in infos]
    encoding = encoding_of(b"\n".join(name for name in raw if isinstance(name, bytes)))
    return [
        clean(name if isinstance(name, str) else name.decode(encoding, "replace")) for name in raw
    ]


def _raw(info: zipfile.ZipInfo) -> str | bytes:
    """Give a name as text where the archive says how to read it, else as the bytes it is."""
    if info.flag_bits & _UTF8_FLAG:
        return info.orig_filename
    unicode_path = _unicode_path(info.extra)
    if unicode_path:
        return unicode_path
    try:
        return info.orig_filename.encode("cp437")  # which Python took it for
    except UnicodeEncodeError:
        return info.orig_filename


def _unicode_path(extra: bytes) -> str:
    place = 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, place)
        field = extra[place + 4 : place + 4 + size]
        if kind == _UNICODE_PATH and field[:1] == b"\x01":
            return field[5:].decode("utf-8", "replace")  # after a version and a checksum
        place += 4 + size
    return ""
