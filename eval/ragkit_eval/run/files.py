"""Write files atomically, readable by their owner only, and check their paths beforehand."""

import os
from collections.abc import Mapping
from pathlib import Path

from ragkit.errors import UsageError
from ragkit.system.private_files import private


def write_whole(path: Path, text: str) -> None:
    """Write a text to a temporary file and rename it to `path`. Raises UsageError on failure."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)  # left by a killed process
        # A text from JSON may hold half a surrogate pair, which UTF-8 cannot encode.
        with open(
            temporary, "x", encoding="utf-8", errors="replace", newline="\n", opener=private
        ) as file:
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}: name another") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_ending(path: Path, kinds: Mapping[str, str]) -> str:
    """Return what a file's ending stands for; call it before the work.

    Raises UsageError that lists the endings, and where the folder does not exist.
    """
    if path.suffix.lower() not in kinds:
        raise UsageError(f"{path}: the ending decides the format: use one of {', '.join(kinds)}")
    check_folder(path)
    return kinds[path.suffix.lower()]


def check_folder(path: Path) -> None:
    """Raise UsageError unless a file can be created at `path`."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        reason = "it is a folder" if path.is_dir() else "its folder does not exist"
        raise UsageError(f"{path} cannot be written: {reason}: name a file in an existing folder")
