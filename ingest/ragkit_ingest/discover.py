"""Find the files to ingest under given paths. Knows suffixes, not contents."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragkit.errors import NotFoundError
from ragkit_ingest.parse import MEDIA_TYPES


@dataclass(frozen=True, slots=True)
class Found:
    """The files to ingest, in order and each once, and those of other formats."""

    files: tuple[Path, ...]
    skipped: tuple[Path, ...]


def discover(paths: Sequence[Path]) -> Found:
    """List files below folders and files named directly, as absolute paths.

    Hidden files and folders (.git and the like) inside a folder are passed over, links to folders
    are not followed, and only regular files count. Raises NotFoundError for a missing path.
    """
    for path in paths:
        if not path.exists():
            raise NotFoundError(f"There is no file or folder {str(path)!r}: check the path.")
    files: dict[Path, None] = {}
    skipped: dict[Path, None] = {}
    for file in _walk(paths):
        known = file.suffix.lower() in MEDIA_TYPES
        (files if known else skipped)[Path(os.path.abspath(file))] = None
    return Found(tuple(files), tuple(skipped))


def _walk(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                file = Path(folder, name)
                # A dangling link or an unreadable file is a failure to report, not a thing to skip.
                if not name.startswith(".") and (file.is_file() or file.is_symlink()):
                    yield file


def uri_of(path: Path) -> str:
    """Name a file in the store: its absolute path, bytes that are not UTF-8 written as \\xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
