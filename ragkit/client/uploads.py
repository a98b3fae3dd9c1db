"""Files that the client uploads and downloads; a download is written completely or not at all."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ragkit.errors import NotFoundError, UsageError

Upload = str | os.PathLike[str] | tuple[str, bytes]


def multipart(files: Upload | Sequence[Upload]) -> list[tuple[str, tuple[str, BinaryIO]]]:
    """Open files as parts of a form. Raises UsageError without files, NotFoundError for a path."""
    files = _listed(files)
    if not files:
        raise UsageError("there is no file to upload: name at least one")
    parts: list[tuple[str, tuple[str, BinaryIO]]] = []
    try:
        for file in files:
            parts.append(("file", _open(file)))
    except BaseException:
        for _, (_, stream) in parts:
            stream.close()
        raise
    return parts


def write_file(path: Path, chunks: Iterable[bytes]) -> Path:
    """Write a new file, which appears when it is complete.

    Raises UsageError for a file that exists already or cannot be written.
    """
    part: str | None = None
    try:
        if path.exists():
            raise UsageError(f"{path} is there already: choose another name")
        handle, part = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.writelines(chunks)
        os.link(part, path)  # unlike a renaming, a link never replaces a file
    except FileExistsError as error:
        raise UsageError(f"{path} is there already: choose another name") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no file's name"
        raise UsageError(f"{path} cannot be written: {reason}: choose another") from error
    finally:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)
    return path


def _listed(files: Upload | Sequence[Upload]) -> list[Upload]:
    """List files; a single path, or a pair of a name and bytes, is a list of one."""
    if isinstance(files, str | os.PathLike):
        return [files]
    match files:
        case (str() as name, bytes() as content):
            return [(name, content)]
    return list(files)


def _open(file: Upload) -> tuple[str, BinaryIO]:
    if isinstance(file, tuple):
        name, content = file
        return name, io.BytesIO(content)
    path = Path(file)
    try:
        return path.name, path.open("rb")
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no file's name"
        raise UsageError(f"{path} cannot be read: {reason}") from error
