"""Read a file of questions line by line, each with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ragkit.errors import NotFoundError, UsageError


def read_lines(path: Path) -> list[tuple[str, str]]:
    """Read a file's lines without the blank ones: where each stands, as FILE:LINE, and its text.

    Only a line feed ends a line: U+2028 and its like may stand within JSON. Raises NotFoundError
    for a file that cannot be read, UsageError for one that is not UTF-8.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}: name a file") from error
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{number}: not UTF-8: save it as UTF-8") from error
    lines = enumerate(text.split("\n"), 1)
    return [(f"{path}:{number}", line.strip()) for number, line in lines if line.strip()]


def read_row(where: str, line: str) -> Any:
    """Read a line of JSON. Raises UsageError that says where it stands."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON: {error}") from error
