"""Files on their way to a server and back: opened for each try, written whole or not at all."""

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
    """Open files as parts of a form. Raises UsageError for none, NotFoundError for one missing."""
    files = _several(files)
    if not files:
        raise UsageError("nothing was sent: name at least one file")
    parts: list[tuple[str, tuple[str, BinaryIO]]] = []
    try:
        for file in files:
            parts.append(("file", _opened(file)))
    except BaseException:
        for _, (_, opened) in parts:
            opened.close()
        raise
    return parts


def write_file(path: Path, chunks: Iterable[bytes]) -> Path:
    """Write a new file, which appears when it is complete.

    Raises UsageError for one that is there already or cannot be written.
    """
    part: str | None = None
    try:
        if path.exists():
            raise UsageError(f"{path} is there already: choose another name")
        handle, part = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.writelines(chunks)
        os.link(part, path)  # unlike a renaming, it never takes a file's place
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


def _several(files: Upload | Sequence[Upload]) -> list[Upload]:
    """List files; a path, or a pair of a name and its bytes, is one of them."""
    if isinstance(files, str | os.PathLike):
        return [files]
    match files:
        case (str() as name, bytes() as content):
            return [(name, content)]
    return list(files)


def _opened(file: Upload) -> tuple[str, BinaryIO]:
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
