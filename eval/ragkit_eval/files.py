"""Files that are written whole or not at all, for their owner alone.

Knows nothing of what is in them.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from ragkit.errors import UsageError
from ragkit.private_files import private


def write_whole(path: Path, text: str) -> None:
    """Write a text beside its place and move it there. Raises UsageError when it cannot be."""
    written = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        written.unlink(missing_ok=True)  # a killed process's
        # A text out of JSON may hold half a surrogate pair, which UTF-8 has no bytes for.
        with open(
            written, "x", encoding="utf-8", errors="replace", newline="\n", opener=private
        ) as file:
            file.write(text)
        written.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}: name another") from error
    finally:
        written.unlink(missing_ok=True)


def check_ending(path: Path, kinds: Mapping[str, str]) -> str:
    """Return what a file's ending stands for, before any work is done for it.

    Raises UsageError naming the endings, and when the folder is not there.
    """
    if path.suffix.lower() not in kinds:
        raise UsageError(f"{path}: what to write is told by its ending: {', '.join(kinds)}")
    check_folder(path)
    return kinds[path.suffix.lower()]


def check_folder(path: Path) -> None:
    """Raise UsageError unless a file can be made where a path says."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        why = "is a folder" if path.is_dir() else "its folder is not there"
        raise UsageError(f"{path} cannot be written: {why}: name a file in a folder that is")
