"""Check the values of a document's metadata, and keep their types."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit.text.normalise import clean
from ragkit_ingest.sources.item import Value

MAX_KEYS: Final = 100  # arbitrary, as the next; of one document
MAX_KEY_CHARS: Final = 100  # as much as a key may have that an index is declared for
MAX_VALUE_CHARS: Final = 10_000


def metadata_of(values: Mapping[str, Any]) -> dict[str, Value]:
    """Check a document's metadata; keys without a value are left out.

    A list becomes its values with commas between them, a date its ISO form. Raises ValueError,
    whose text says what is wrong.

    >>> metadata_of({"year": 2020, "tags": ["a", "b"], "draft": None})
    {'year': 2020, 'tags': 'a, b'}
    """
    if len(values) > MAX_KEYS:
        raise ValueError(f"it has {len(values)} keys, and {MAX_KEYS} at most are kept")
    metadata: dict[str, Value] = {}
    for key, value in values.items():
        name = clean(str(key)).strip()
        if not name or len(name) > MAX_KEY_CHARS:
            raise ValueError(f"a key has {len(name)} characters: give it 1 to {MAX_KEY_CHARS}")
        if (accepted := _value(name, value)) is not None:
            metadata[name] = accepted
    return metadata


def pairs(arguments: Iterable[str]) -> dict[str, Value]:
    """Read KEY=VALUE as the command line has it. Values stay texts, as 007 and 1.10 are.

    Filters compare texts that are numbers as numbers. Raises UsageError.

    >>> pairs(["year=2020", "project=blue = green"])
    {'year': '2020', 'project': 'blue = green'}
    """
    metadata: dict[str, Value] = {}
    for pair in arguments:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise UsageError(f"{pair!r} is no metadata: write KEY=VALUE, as in project=blue.")
        if key.strip() in metadata:
            raise UsageError(f"The metadata key {key.strip()!r} is given twice: give it once.")
        metadata[key.strip()] = value
    try:
        return metadata_of(metadata)
    except ValueError as error:
        raise UsageError(f"The metadata cannot be kept: {error}.") from error


def _value(key: str, value: object) -> Value | None:
    """Make a value of what a sidecar or a record has; None for nothing."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        parts = [_scalar(key, part) for part in value if part is not None]
        return _text(key, ", ".join(map(_written, parts))) if parts else None
    return _scalar(key, value)


def _scalar(key: str, value: object) -> Value:
    if isinstance(value, bool | int):
        return value
    if isinstance(value, decimal.Decimal):
        value = str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{key!r} is {value}, which is no number to compare with")
        return value
    if isinstance(value, datetime.date | datetime.time):  # a datetime is a date too
        value = value.isoformat()
    if isinstance(value, str):
        return _text(key, value)
    kind = {"dict": "a table of its own", "list": "a list in a list"}.get(type(value).__name__)
    raise ValueError(f"{key!r} is {kind or type(value).__name__}: give it a text, number or list")


def _text(key: str, value: str) -> str:
    if len(value) > MAX_VALUE_CHARS:
        raise ValueError(f"{key!r} has {len(value):,} characters: {MAX_VALUE_CHARS:,} at most")
    return clean(value)


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
