"""Read rows from CSV, JSON lines (also gzipped), JSON, and Hugging Face datasets by name."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.run import strict_json

HUB = "hf:"


class Row(NamedTuple):
    """A row's values by column, and its place as "FILE:LINE"."""

    values: Mapping[str, Any]
    where: str


def read_rows(
    path: Path, format: str, *, columns: Sequence[str] = (), key: str = ""
) -> Iterator[Row]:
    """Yield the rows of a file in order.

    `columns` names the columns of a CSV file without a header, or of JSON rows that are lists; a
    first row that repeats them is a header. `key` is the key of a JSON file's list.
    Raises NotFoundError, and UsageError with the place.
    """
    try:
        with _open(path) as file:
            if format == "csv":
                yield from _csv(file, path, columns)
            elif format == "json":
                yield from _json(file, path, key, columns)
            else:
                yield from _jsonl(file, path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}:{_undecodable(path)}: not UTF-8: save it as UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise NotFoundError(f"cannot read {path}: {reason}") from error


def read_table(path: Path, on: Sequence[str]) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """Read a CSV file as a table of rows by their texts in the columns `on`.

    Raises UsageError for a file without these columns, and for two rows that have the same texts.
    """
    table: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in read_rows(path, "csv"):
        lacking = [name for name in on if name not in row.values]
        if lacking:
            raise UsageError(
                f"{path}:1: there is no column {lacking[0]!r}, by which rows are joined: the file"
                f" has {', '.join(row.values)}"
            )
        key = tuple(str(row.values[name]) for name in on)
        if key in table:
            raise UsageError(f"{row.where}: {', '.join(key)} is there twice: leave one row out")
        table[key] = row.values
    return table


def read_hub(name: str) -> Iterator[Row]:
    """Yield the rows of "hf:DATASET:CONFIG:SPLIT"; an empty CONFIG is the dataset's default.

    Raises UsageError without the package `datasets`, and for a dataset that cannot be loaded.
    """
    dataset, _, suffix = name.removeprefix(HUB).partition(":")
    config, _, split = suffix.partition(":")
    try:
        import datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise UsageError(
            f"{name} needs the package 'datasets': pip install datasets, or use local files"
        ) from error
    try:
        rows = datasets.load_dataset(dataset, config or None, split=split or "test")
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"cannot load {name}: {reason}; use local files when offline") from error
    for number, values in enumerate(rows, 1):
        yield Row(values, f"{name}:{number}")


def _open(path: Path) -> TextIO:
    # newline="": quoted cells and JSON texts are part of a prompt, byte for byte.
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _csv(file: TextIO, path: Path, columns: Sequence[str]) -> Iterator[Row]:
    reader = csv.reader(file, strict=True)
    header, line = tuple(columns), 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise UsageError(
                f"{path}:{line}: not CSV: {error}: correct it, or use jsonl"
            ) from error
        if cells is None:
            return
        where, line = f"{path}:{line}", reader.line_num + 1
        if not header:
            header = tuple(cells)
            if len(set(header)) < len(header):
                raise UsageError(f"{where}: two columns have the same name: give each its own")
        elif not cells or (tuple(cells) == header and where.endswith(":1")):
            continue
        elif len(cells) != len(header):
            raise UsageError(
                f"{where}: {len(cells)} cells where {len(header)} are expected "
                f"({', '.join(header)}): correct the row"
            )
        else:
            yield Row(dict(zip(header, cells, strict=True)), where)


def _jsonl(file: TextIO, path: Path) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        if line.strip():
            yield _row(_parsed(line.rstrip(), f"{path}:{number}"), f"{path}:{number}")


def _json(file: TextIO, path: Path, key: str, columns: Sequence[str]) -> Iterator[Row]:
    values = _parsed(file.read(), str(path))
    rows = values.get(key) if key and isinstance(values, dict) else values
    if not isinstance(rows, list):
        raise UsageError(f"{path}: no list {f'under {key!r}' if key else 'of rows'}: correct it")
    for number, row in enumerate(rows, 1):
        where = f"{path}: row {number}"
        yield _row(_named_values(row, columns, where) if columns else row, where)


def _named_values(row: Any, columns: Sequence[str], where: str) -> dict[str, Any]:
    """Give the values of a row that is a list their names."""
    if not isinstance(row, list) or len(row) != len(columns):
        kind = f"list of {len(row)}" if isinstance(row, list) else type(row).__name__
        raise UsageError(
            f"{where}: a {kind} where a list of {len(columns)} is expected ({', '.join(columns)}):"
            " correct the row"
        )
    return dict(zip(columns, row, strict=True))


def _parsed(text: str, where: str) -> Any:
    try:
        return strict_json.loads(text)
    except json.JSONDecodeError as error:
        place = where if error.lineno == 1 else f"{where}:{error.lineno}"
        raise UsageError(f"{place}: not JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON: {error}") from error


def _undecodable(path: Path) -> int:
    """Return the number of the first line that is not UTF-8; the decoder reads ahead of it."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def _row(values: Any, where: str) -> Row:
    if not isinstance(values, dict):
        raise UsageError(f"{where}: a {type(values).__name__} where an object is expected")
    return Row(values, where)
