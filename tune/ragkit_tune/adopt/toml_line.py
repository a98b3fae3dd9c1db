"""Set one value in a ragkit.toml without touching anything else of it, and take it back exactly."""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ragkit.errors import SettingsError, UsageError
from ragkit.system.private_files import private

_BOM: Final = "\ufeff"
_TABLE: Final = re.compile(r"\[([^\[\]]*)\]\s*(?:#.*)?")


@dataclass(frozen=True, slots=True)
class Edit:
    """What was replaced in a file: `former` is "" for a line that was added.

    `is_new` tells that the file was not there.
    """

    file: str
    former: str
    written: str
    is_new: bool

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {name: getattr(self, name) for name in ("file", "former", "written", "is_new")}


def set_value(file: Path, table: str, key: str, value: str) -> Edit:
    """Set a text in a table of a file; a file that is not there is made.

    Raises SettingsError for a file that cannot be read, or in which the value stands in a way that
    only a person can change.
    """
    file = file.resolve()
    text = _read(file)
    former, written, edited = _edit(text or "", table, key, json.dumps(value, ensure_ascii=False))
    expected = _parsed(file, text or "")
    expected.setdefault(table, {})[key] = value
    try:
        matches = tomllib.loads(edited.removeprefix(_BOM)) == expected
    except tomllib.TOMLDecodeError:
        matches = False
    if not matches:
        raise SettingsError(
            f"{file}: [{table}] {key} cannot be set by a program: write {key} ="
            f" {json.dumps(value, ensure_ascii=False)} into [{table}] yourself"
        )
    _write(file, edited)
    return Edit(str(file), former, written, text is None)


def take_back(edit: Edit) -> None:
    """Put back what an edit replaced. Raises SettingsError where the value was changed since."""
    file = Path(edit.file)
    text = _read(file) or ""
    if text.count(edit.written) != 1:
        raise SettingsError(
            f"{file} was changed since the adoption and no longer has {edit.written.strip()!r}:"
            f" nothing is put back; correct it yourself (it had {edit.former.strip()!r})"
        )
    restored = text.replace(edit.written, edit.former)
    if edit.is_new and not restored:
        file.unlink()
    else:
        _write(file, restored)


def _edit(text: str, table: str, key: str, written: str) -> tuple[str, str, str]:
    """Return what is replaced, by what, and the whole text."""
    lines = text.splitlines(keepends=True)
    end = "\r\n" if "\r\n" in text else "\n"
    line = f"{key} = {written}{end}"
    headers = (_TABLE.fullmatch(row.removeprefix(_BOM).strip()) for row in lines)
    header = next((n for n, m in enumerate(headers) if m and m[1].strip() == table), None)
    if header is None:
        gap = "" if not text else end if text.endswith("\n") else end * 2
        added = f"{gap}[{table}]{end}{line}"
        return "", added, text + added
    assigned = re.compile(rf"\s*{re.escape(key)}\s*=")
    for number in range(header + 1, len(lines)):
        if lines[number].lstrip().startswith("["):
            break
        if assigned.match(lines[number]):
            edited = "".join([*lines[:number], line, *lines[number + 1 :]])
            return lines[number], line, edited
    added = line if lines[header].endswith("\n") else end + line
    return "", added, "".join([*lines[: header + 1], added, *lines[header + 1 :]])


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}: correct that") from error


def _parsed(file: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is not TOML: {error}: correct that line") from error


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all; one that was there keeps its mode."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(temporary, "wb", opener=private) as stream:
            if file.exists():
                os.fchmod(stream.fileno(), file.stat().st_mode & 0o777)
            stream.write(text.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}: correct that") from error
    finally:
        temporary.unlink(missing_ok=True)
