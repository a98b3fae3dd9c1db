"""What a folder has to offer to be walked: the contract that local and remote folders share."""

from __future__ import annotations

from typing import BinaryIO, Protocol


class Tree(Protocol):
    """A folder and what lies below it; paths are relative to it, "/" stands between names.

    The folder itself is "". Each method raises IngestError("read", reason).
    """

    def names(self, folder: str) -> tuple[list[str], list[str]]:
        """List the names of the folders and of the files in a folder, each in order."""

    def uri(self, path: str) -> str:
        """Name a file or folder in the store."""

    def read(self, path: str, max_bytes: int) -> bytes:
        """Read a file of at most so many bytes."""

    def open(self, path: str) -> BinaryIO:
        """Open a file to be read bit by bit."""
