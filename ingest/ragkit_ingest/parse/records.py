"""Parse .json and .jsonl as readable "key: value" lines, a paragraph per record.

Numbers stay as they are spelt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.options import ParseOptions

_MAX_DEPTH = 100  # arbitrary; deeper is an attack on recursive readers
_INLINE_CHARS = 200  # a list of short values is one line


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse JSON, or JSON lines. Raises IngestError for what is neither."""
    text = clean(decode(data))
    if not text.strip():
        return ParsedText("")
    try:
        document = _load(text)
    except json.JSONDecodeError as error:
        records = list(_lines(text, error))
    else:
        records = document if isinstance(document, list) else [document]
    builder = Builder()
    for record in records:
        builder.paragraph("\n".join(_write(record, 0)))
    return builder.result()


def _load(text: str) -> Any:
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError as error:
        raise IngestError("parse", "its JSON is nested too deeply") from error


def _lines(text: str, failure: json.JSONDecodeError) -> Iterator[Any]:
    """Read a record per line; a file whose first line is no record was meant to be one value."""
    for place, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield _load(line)
        except json.JSONDecodeError as error:
            bad = failure.lineno if place == 1 else place
            message = failure.msg if place == 1 else error.msg
            raise IngestError("parse", f"not JSON: line {bad}: {message}") from error


def _write(value: Any, depth: int) -> Iterator[str]:
    """Give a value's lines, indented below the key they belong to."""
    if depth > _MAX_DEPTH:
        raise IngestError("parse", f"its JSON is nested deeper than {_MAX_DEPTH} levels")
    indent = "  " * depth
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _pair(f"{indent}{_scalar(key)}:", item, depth)
    elif isinstance(value, list):
        for item in value:
            yield from _pair(f"{indent}-", item, depth)
    else:
        yield indent + _scalar(value)


def _pair(lead: str, value: Any, depth: int) -> Iterator[str]:
    inline = _inline(value)
    if inline is not None:
        yield f"{lead} {inline}".rstrip()
    else:
        yield lead
        yield from _write(value, depth + 1)


def _inline(value: Any) -> str | None:
    """Write a scalar or a short list of scalars on one line; None for anything larger."""
    if not isinstance(value, dict | list):
        return _scalar(value)
    if not value:
        return ""
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        line = ", ".join(_scalar(item) for item in value)
        return line if len(line) <= _INLINE_CHARS else None
    return None


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else " ".join(str(value).split("\n"))
