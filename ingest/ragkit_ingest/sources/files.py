"""Files and folders of this machine."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from ragkit.errors import IngestError
from ragkit_ingest.sources.sizes import TooLargeError, read_bounded


class LocalTree:
    """A folder of this machine. Links to folders are not followed, so no walk comes in a circle."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def names(self, folder: str) -> tuple[list[str], list[str]]:
        """List folders and files; pipes, sockets and devices are neither."""
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(self._path(folder)) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    # A dangling link or one to a device is a failure to report when it is read.
                    elif entry.is_file() or (entry.is_symlink() and not entry.is_dir()):
                        files.append(entry.name)
        except OSError as error:
            raise IngestError("read", f"cannot be listed: {error.strerror or error}") from error
        return sorted(folders), sorted(files)

    def uri(self, path: str) -> str:
        """Name a file by its absolute path."""
        return uri_of(self._path(path))

    def read(self, path: str, max_bytes: int) -> bytes:
        """Read a regular file of at most so many bytes."""
        return read_file(self._path(path), max_bytes)

    def open(self, path: str) -> BinaryIO:
        """Open a regular file."""
        return open_file(self._path(path))

    def _path(self, path: str) -> str:
        return os.path.join(self.root, path) if path else self.root


def open_file(path: str) -> BinaryIO:
    """Open a regular file. Raises IngestError, also for a device or a pipe."""
    try:
        # Without O_NONBLOCK opening a pipe would wait for somebody to write to it.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise IngestError("read", getattr(error, "strerror", None) or str(error)) from error
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    raise IngestError("read", "it is not a regular file")


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
