"""Folders and files that only their owner may read, whatever the umask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600


def make_private(folder: Path, *, mode: int = FOLDER_MODE) -> None:
    """Make a folder and its missing parents for their owner alone; folders that exist stay as is.

    Raises OSError.
    """
    for path in (*reversed(folder.parents), folder):
        if path == folder or not path.is_dir():
            # `parents=True` would leave the mode of the parents to the umask.
            path.mkdir(mode=mode, exist_ok=True)


def private(path: str, flags: int) -> int:
    """Open a file, new ones for their owner alone: `open(path, "w", opener=private)`."""
    return os.open(path, flags, FILE_MODE)
