"""Read the JSON of logs within limits: sizes, depth, and numbers that JSON does not have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragkit.errors import NotFoundError, UsageError

MIB = 1 << 20
# No source: far above the longest samples that the programs write, images and tool calls included,
# and below what a computer with 8 GB of memory can parse.
MAX_LINE_BYTES = 64 * MIB
MAX_FILE_BYTES = 1024 * MIB
MAX_LINES_BYTES = 4096 * MIB  # of a file that is read line by line


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place of each line, as FILE:LINE, and its object; blank lines are skipped.

    Raises NotFoundError, and UsageError for a line that is too long or no JSON object.
    """
    try:
        with path.open("rb") as file:
            number, total = 0, 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number, total = number + 1, total + len(line)
                where = f"{path}:{number}"
                if len(line) > MAX_LINE_BYTES:
                    raise UsageError(
                        f"{where}: the line is longer than {MAX_LINE_BYTES // MIB} MiB: leave the"
                        " sample out"
                    )
                if total > MAX_LINES_BYTES:
                    raise UsageError(
                        f"{where}: the log is larger than {MAX_LINES_BYTES // MIB} MiB: split the"
                        " evaluation into several tasks"
                    )
                if line.strip():
                    yield where, parse_object(line.rstrip(), where)
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}: check the path") from error


def read_object(path: Path) -> dict[str, Any]:
    """Read a file that is one JSON object. Raises NotFoundError, UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}: check the path") from error
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(
            f"{path}: the file is larger than {MAX_FILE_BYTES // MIB} MiB: evaluate fewer samples"
            " in one log"
        )
    return parse_object(data, str(path))


def parse_object(data: bytes, where: str) -> dict[str, Any]:
    """Parse a JSON object; NaN and Infinity, which both programs write, become None.

    Raises UsageError that names the line.
    """
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=lambda name: None)
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: not UTF-8: give the log as its program wrote it") from error
    except RecursionError as error:
        raise UsageError(f"{where}: the JSON is nested too deeply: leave the sample out") from error
    except ValueError as error:
        line = getattr(error, "lineno", 1)  # of a file that is one JSON value
        where = where if line == 1 else f"{where}:{line}"
        raise UsageError(
            f"{where}: not JSON: {error}: the log may be incomplete; copy it again, or run the"
            " evaluation again"
        ) from error
    if not isinstance(value, dict):
        raise UsageError(f"{where}: not a JSON object: give a log of samples")
    return value


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value that is an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """Return a text as it is, a number as its digits, and everything else as JSON; "" for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
