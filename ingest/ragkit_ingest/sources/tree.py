"""The contract of folders: local and remote ones are walked alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from ragkit_ingest.sources.item import Stamp


@dataclass(frozen=True, slots=True)
class Names:
    """The names in a folder, in order; `special` maps names that are neither to their kind."""

    folders: list[str]
    files: list[str]
    special: Mapping[str, str] = field(default_factory=dict)


class Tree(Protocol):
    """A folder and what lies below it; paths are relative to it, "/" stands between names.

    The folder itself is "". Each method raises IngestError("read", reason).
    """

    @property
    def root(self) -> str:
        """Name the folder so that it is found again: an absolute path, or an address."""

    def names(self, folder: str) -> Names:
        """List the names of the folders and of the files in a folder."""

    def uri(self, path: str) -> str:
        """Name a file or folder in the store."""

    def read(self, path: str, max_bytes: int) -> bytes:
        """Read a file of at most so many bytes."""

    def open(self, path: str) -> BinaryIO:
        """Open a file to be read bit by bit."""

    def stamp(self, path: str) -> Stamp | None:
        """Look at a file from outside; None where that tells nothing, or there is no such file."""

    def has(self, path: str) -> bool:
        """Say whether there is such a file."""
