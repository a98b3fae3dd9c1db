"""Read records from a file one at a time: JSON lines, separated values, Parquet."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from ragkit.errors import IngestError
from ragkit_ingest.parse.decode import detect

if TYPE_CHECKING:
    from ragkit_ingest.sources.options import RecordFields

# Of one record. A book of a thousand pages has some 3 million; JSON made of nothing but brackets
# takes twenty times its length when it is read.
MAX_RECORD_CHARS: Final = 8 << 20
_SAMPLE_BYTES: Final = 1 << 16  # an encoding shows early
_DELIMITERS: Final = ",;\t|"
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Record:
    """A record and the line that it begins on, or its number; or why it is none."""

    line: int
    values: Mapping[str, Any] | IngestError


def read_records(stream: BinaryIO, suffix: str, fields: RecordFields) -> Iterator[Record]:
    """Yield a file's records. Raises IngestError where the file cannot be read on."""
    if suffix == ".parquet":
        from ragkit_ingest.sources.parquet import parquet_records

        return parquet_records(stream, fields)
    text = _decoded(stream)
    if suffix in {".csv", ".tsv", ".tab"}:
        return _separated(text, fields)
    return _json_lines(text)


def check_columns(columns: Sequence[str], fields: RecordFields) -> None:
    """Raise IngestError where a table lacks a column that is asked for."""
    requested = [*fields.text, fields.title, fields.id, *fields.metadata]
    for name in filter(None, requested):
        if name not in columns and name.partition(".")[0] not in columns:
            listed = ", ".join(map(repr, columns[:20])) or "none"
            raise IngestError("read", f"there is no column {name!r}; there are {listed}"[:500])


def _decoded(stream: BinaryIO) -> io.TextIOWrapper:
    """Open a stream as text, in the encoding that its beginning has."""
    buffered = io.BufferedReader(cast("io.RawIOBase", stream), _SAMPLE_BYTES)
    sample = buffered.peek(_SAMPLE_BYTES)[:_SAMPLE_BYTES]
    return io.TextIOWrapper(buffered, _encoding(sample), errors="replace", newline="")


def _encoding(sample: bytes) -> str:
    for bom, encoding in _BOMS:
        if sample.startswith(bom):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=False)
    except UnicodeDecodeError:
        return detect(sample)
    return "utf-8"


def _json_lines(text: io.TextIOWrapper) -> Iterator[Record]:
    line = 0
    while piece := text.readline(MAX_RECORD_CHARS + 1):
        line += 1
        if len(piece) > MAX_RECORD_CHARS and not piece.endswith("\n"):
            while piece and not piece.endswith("\n"):
                piece = text.readline(MAX_RECORD_CHARS)
            yield Record(line, _too_long())
        elif piece.strip():
            yield Record(line, _object(piece))


def _object(line: str) -> Mapping[str, Any] | IngestError:
    try:
        record = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as error:
        return IngestError("read", f"not JSON: {error.msg} (column {error.colno})")
    except (ValueError, RecursionError):
        return IngestError("read", "not JSON that can be read: too deep, or a number too long")
    if not isinstance(record, dict):
        return IngestError("read", f"not a JSON object, but a {type(record).__name__}")
    return record


def _separated(text: io.TextIOWrapper, fields: RecordFields) -> Iterator[Record]:
    lines = _lines(text)
    header = next(lines, "")
    if header.lower().startswith("sep=") and len(header.strip()) == len("sep=") + 1:
        delimiter, header = header[4], next(lines, "")
        columns = _row(header, delimiter)
    else:
        # The one that the named columns come apart by.
        tried = {char: _row(header, char) for char in _DELIMITERS}
        delimiter = max(tried, key=lambda char: _count_known(tried[char], fields))
        columns = tried[delimiter]
    check_columns(columns, fields)
    # This is for the whole program; nothing here wants it smaller.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD_CHARS))
    rows = csv.reader(lines, delimiter=delimiter)
    lines_read = 1
    try:
        for row in rows:
            line, lines_read = lines_read + 1, rows.line_num + 1
            if any(row):
                yield Record(line, dict(zip(columns, row, strict=False)))
    except csv.Error as error:
        raise IngestError(
            "read", f"cannot be read on from line {lines_read + 1}: {error}"
        ) from error


def _count_known(columns: Sequence[str], fields: RecordFields) -> tuple[int, int]:
    return len({*fields.text, fields.title, fields.id, *fields.metadata} & {*columns}), len(columns)


def _row(line: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(MAX_RECORD_CHARS + 1):
        if len(line) > MAX_RECORD_CHARS:
            raise _too_long()
        yield line.replace("\0", "\ufffd")


def _too_long() -> IngestError:
    return IngestError("read", f"longer than {MAX_RECORD_CHARS >> 20} million characters")
