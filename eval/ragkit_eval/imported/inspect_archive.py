"""Read the members of an .eval archive within limits; nothing is written or executed."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.imported.json_text import MIB, parse_object

# No source: far above what Inspect writes. A sample with its events has less than a MiB as a rule.
MAX_MEMBER_BYTES = 256 * MIB
MAX_TOTAL_BYTES = 16 * 1024 * MIB
_MAX_DIRECTORY_BYTES = 32 * MIB  # of the list of members: some 300 000

_DAMAGE = (zipfile.BadZipFile, NotImplementedError, struct.error, zlib.error)


class _DirectoryLimit(io.FileIO):
    """A file that refuses to read a list of members that would fill the memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile("its list of members is too long")
        return super().read(-1 if size is None else size)


def read_archive(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the header, then the samples in order of name, each with its place.

    Raises NotFoundError, and UsageError for a damaged archive, a missing header, a member that is
    too large, or a compression that this Python does not read.
    """
    try:
        with _DirectoryLimit(path) as file, zipfile.ZipFile(file) as archive:
            yield from _read_members(archive, path)
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read: {error.strerror or error}: check the path"
        ) from error
    except (*_DAMAGE, ValueError, EOFError) as error:
        raise UsageError(f"{path}: not a whole .eval archive: {error}: copy it again") from error


def _read_members(archive: zipfile.ZipFile, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    names = archive.namelist()
    if "header.json" not in names:
        raise UsageError(
            f"{path}: it has no header.json, because its evaluation did not end or because it is"
            " not a log of Inspect: give a log of an evaluation that has ended"
        )
    samples = sorted(
        name for name in names if name.startswith("samples/") and name.endswith(".json")
    )
    for earlier, later in pairwise(samples):
        if earlier == later:
            raise UsageError(f"{path}: {later} is twice in it: give the log as Inspect wrote it")
    remaining = MAX_TOTAL_BYTES
    for name in ("header.json", *samples):
        data = _read_member(archive, name, path)
        remaining -= len(data)
        if remaining < 0:
            raise UsageError(
                f"{path}: its samples are larger than {MAX_TOTAL_BYTES // MIB} MiB: evaluate fewer"
                " samples in one log"
            )
        yield f"{path}: {name}", parse_object(data, f"{path}: {name}")


def _read_member(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    try:
        with archive.open(name) as member:
            data = member.read(MAX_MEMBER_BYTES + 1)
    except NotImplementedError as error:
        raise UsageError(
            f"{path}: its files are compressed in a way that this Python does not read (newer"
            " versions of Inspect use zstd): run 'inspect log convert --to json --output-dir json"
            f" {path}' and import the .json file that it writes"
        ) from error
    except RuntimeError as error:
        raise UsageError(f"{path}: {name} is encrypted: give a log that is not") from error
    if len(data) > MAX_MEMBER_BYTES:
        raise UsageError(
            f"{path}: {name} is larger than {MAX_MEMBER_BYTES // MIB} MiB: leave the sample out"
        )
    return data
