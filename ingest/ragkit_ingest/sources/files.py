"""Files and folders of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from ragkit.errors import IngestError
from ragkit.system.regular_file import open_regular
from ragkit_ingest.run.skipped import FOLDER_LINK, SPECIAL_FILE
from ragkit_ingest.sources.item import Stamp
from ragkit_ingest.sources.sizes import TooLargeError, read_bounded
from ragkit_ingest.sources.tree import Names


class LocalTree:
    """A folder of this machine. Links to folders are not followed, so no walk comes in a circle."""

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)

    @property
    def root(self) -> str:
        """Name the folder by its absolute path."""
        return self._root

    def names(self, folder: str) -> Names:
        """List folders and files; a link that leads nowhere is a file that cannot be read."""
        folders: list[str] = []
        files: list[str] = []
        refused: dict[str, str] = {}
        try:
            with os.scandir(self._path(folder)) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif entry.is_symlink():
                        if _leads_to_folder(entry):
                            refused[entry.name] = FOLDER_LINK
                        else:
                            files.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        files.append(entry.name)
                    else:
                        refused[entry.name] = SPECIAL_FILE
        except OSError as error:
            raise IngestError("read", f"cannot be listed: {error.strerror or error}") from error
        return Names(sorted(folders), sorted(files), dict(sorted(refused.items())))

    def uri(self, path: str) -> str:
        """Name a file by its absolute path."""
        return uri_of(self._path(path))

    def read(self, path: str, max_bytes: int) -> bytes:
        """Read a regular file of at most so many bytes."""
        return read_file(self._path(path), max_bytes)

    def open(self, path: str) -> BinaryIO:
        """Open a regular file."""
        return open_file(self._path(path))

    def stamp(self, path: str) -> Stamp | None:
        """Look at a file's inode: where a link leads, as that is what is read.

        The time of the inode's own change is in it, which no program can set back, as rsync and
        touch do with that of the content.
        """
        try:
            status = os.stat(self._path(path))
        except (OSError, ValueError):
            return None
        changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
        mark = (
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_ino,
            status.st_dev,
        )
        return Stamp(mark, changed_at=changed_ns / 1e9)

    def has(self, path: str) -> bool:
        """Say whether there is such a file, or a link that leads nowhere."""
        return os.path.lexists(self._path(path))

    def _path(self, path: str) -> str:
        return os.path.join(self._root, path) if path else self._root


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    """Say whether a link leads to a folder; one that leads round in a circle does not."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def open_file(path: str) -> BinaryIO:
    """Open a regular file. Raises IngestError, also for a device or a pipe."""
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, FileNotFoundError) and os.path.islink(path):
            reason = "it is a link that leads nowhere"
        raise IngestError("read", reason) from error


def read_file(path: str, max_bytes: int) -> bytes:
    """Read a regular file. Raises IngestError for one that is too large or cannot be read."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise TooLargeError(size, max_bytes)
        try:
            return read_bounded(file, max_bytes, expected=size)
        except OSError as error:
            raise IngestError("read", error.strerror or str(error)) from error


def uri_of(path: Path | str) -> str:
    """Name a file in the store: its absolute path, bytes that are not UTF-8 written as \\xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
