"""Write files of a run's curves and exports: whole or not at all, for their owner alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ragkit.errors import UsageError
from ragkit.system.private_files import make_private, private


def write(path: Path, content: bytes) -> None:
    """Write a file, its folder with it where that is missing. Raises UsageError.

    A file that stands there is replaced.
    """
    temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    try:
        make_private(path.parent)
        temporary.unlink(missing_ok=True)  # left by a process that was killed
        with open(temporary, "xb", opener=private) as file:
            file.write(content)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): name another") from error
    finally:
        _remove(temporary)


def make_folder(path: Path) -> None:
    """Make a folder that may be there already. Raises UsageError."""
    try:
        make_private(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be made ({error.strerror}): name another") from error


def check_file(path: Path, kinds: Mapping[str, str]) -> str:
    """Return what a file's ending stands for; call it before the work.

    Raises UsageError for another ending, for a folder, and where the file's folder is missing.
    """
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"{path}: the ending decides the format: use one of {', '.join(kinds)}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file in it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path} cannot be written: its folder is not there: make it first")
    return kind


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # a part of its path is a file: nothing was written
        return
