"""Parse .csv and .tsv as one table, whatever separates the columns."""

from __future__ import annotations

import csv
import io
from collections import Counter

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.sheet_table import write_rows

_DELIMITERS = ",\t;|"
_MAX_COLUMNS = 100_000  # arbitrary; spreadsheets have 16,384, tables of genes 60,000
_SAMPLE_LINES = 100
_SAMPLE_CHARS = 1 << 18
_MAX_FIELD_CHARS = 1 << 20  # a field beyond that is a quotation mark that was never closed


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a table of separated values. Raises IngestError for binary data."""
    text = clean(decode(data))
    first, _, body = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.strip()) == len("sep=") + 1:
        delimiter, text = first[4], body
    else:
        delimiter = _delimiter(text)
    rows = _rows(text, delimiter)
    widest = max(map(len, rows), default=0)
    if widest > _MAX_COLUMNS:
        reason = f"a table of {widest:,} columns, of which at most {_MAX_COLUMNS:,} are read"
        raise IngestError("parse", f"{reason}: make columns of its rows")
    builder = Builder()
    write_rows(rows, builder)
    return builder.result()


def _rows(text: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(_MAX_FIELD_CHARS)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        # Then quotation marks are not what they seem: let each line be a row.
        return [line.split(delimiter) for line in text.split("\n")]


def _delimiter(text: str) -> str:
    """Choose what gives most lines the same number of columns, more than one."""
    lines = [line for line in text[:_SAMPLE_CHARS].split("\n")[:_SAMPLE_LINES] if line.strip()]
    best, best_score = ",", 0.0
    for candidate in _DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=candidate))
        except csv.Error:
            continue
        width, count = widths.most_common(1)[0] if widths else (1, 0)
        score = count / sum(widths.values()) * min(width, 10) if width > 1 else 0.0
        if score > best_score:
            best, best_score = candidate, score
    return best
