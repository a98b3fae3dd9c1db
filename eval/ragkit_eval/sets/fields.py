"""Read JSON lines and their fields; errors name file and line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.run import strict_json

T = TypeVar("T")

_TYPE_NAMES: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each line's place, as FILE:LINE, and its object; blank lines are skipped."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            where = f"{path}:{number}"
            yield where, an_object(parsed(line, where), where)


def read_text(path: Path) -> str:
    """Read UTF-8, with a byte order mark or without. Raises NotFoundError, UsageError."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}: check the path") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{line}: not UTF-8: save the file as UTF-8") from error


def parsed(text: str, where: str) -> Any:
    """Parse JSON from the place `where`."""
    try:
        return strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)  # of a file that is one JSON value
        where = where if line == 1 else f"{where}:{line}"
        raise UsageError(f"{where}: not JSON: {error}: correct it") from error


def an_object(value: object, where: str) -> dict[str, Any]:
    """Return a value that must be a JSON object."""
    if not isinstance(value, dict):
        raise UsageError(f"{where}: not a JSON object but {_shorten(value)}: write {{...}}")
    return value


def field(values: Mapping[str, Any], name: str, kind: type[T], where: str) -> T:
    """Return a required field."""
    if name not in values:
        close = get_close_matches(name, list(values), n=1)
        hint = f": is {close[0]!r} meant for it?" if close else ""
        raise UsageError(f"{where}: there is no {name!r}{hint}")
    return typed(values[name], kind, f"{name!r}", where)


def optional(values: Mapping[str, Any], name: str, default: T, where: str) -> T:
    """Return a field of the default's type, or the default where it is absent or null."""
    value = values.get(name)
    return default if value is None else typed(value, type(default), f"{name!r}", where)


def typed(value: object, kind: type[T], subject: str, where: str) -> T:
    """Return a value that must have a type; true is not a number."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UsageError(f"{where}: {subject} must be {_TYPE_NAMES[kind]}, not {_shorten(value)}")
    return value


def texts(values: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    """Return a list of texts without repetitions, empty where the field is absent."""
    members: list[Any] = optional(values, name, [], where)
    return tuple(dict.fromkeys(typed(text, str, f"each of {name!r}", where) for text in members))


def only(values: Mapping[str, Any], names: Iterable[str], where: str) -> None:
    """Refuse a field that is not among these names, suggesting close ones."""
    allowed = list(names)
    for name in values:
        if name not in allowed:
            close = get_close_matches(name, allowed, n=1)
            hint = f"is {close[0]!r} meant?" if close else f"use one of {', '.join(allowed)}"
            raise UsageError(f"{where}: unknown field {name!r}: {hint}")


def _shorten(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
