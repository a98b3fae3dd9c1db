"""Filters: conditions on documents, as a small tree that users write in JSON.

{"and": [{"eq": {"language": "en"}}, {"gte": {"year": 2020}}]}: operators eq, ne, in, lt, lte, gt,
gte, exists, contains, and, or, not. A field is one of a document's own or else a key of its
metadata, whose values are texts. `ragkit.filters.text` writes a filter as text.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeGuard

from ragkit.errors import QueryError

Value = str | int | float
KeyType = Literal["text", "number", "date"]  # what a collection declares of a metadata key
OWN_NUMBERS: Final = frozenset({"document", "version"})
OWN_TIMES: Final = frozenset({"created_at", "updated_at"})  # in UTC, as 2026-01-31T09:30:00Z
OWN_CODES: Final = frozenset({"language", "media_type"})  # never a number, as a title may be
OWN_FIELDS: Final = OWN_NUMBERS | OWN_TIMES | OWN_CODES | {"uri", "title"}
METADATA: Final = "metadata."  # before a key that is named like one of a document's own fields
NUMBER: Final = r"^-?[0-9]{1,100}(\.[0-9]{1,100})?$"  # a text that is compared with numbers
MAX_NODES: Final = 200  # arbitrary, and so are the others: a filter is written by people
MAX_DEPTH: Final = 10
MAX_VALUES: Final = 1000
MAX_CHARS: Final = 1000
MAX_SHOWN: Final = 20  # fields in a message

_TYPES: Final[Mapping[KeyType, str]] = {
    "text": "a text",
    "number": "a number",
    "date": "a date, written 2026-01-31",
}

# In UTC and without parts of a second: then texts are in the order of time.
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\dZ?)?)?", re.ASCII)
_COMPARE: Final = ("eq", "ne", "lt", "lte", "gt", "gte", "contains", "in", "exists")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One field against a value; of "in" against several, of "exists" against true or false."""

    op: str
    field: str
    values: tuple[Value, ...] = ()
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Every:
    """All of these; of none, everything."""

    of: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of these; of none, nothing."""

    of: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Whatever this is not true of."""

    of: Filter


Filter = Comparison | Every | Some | Not


def parse(tree: Mapping[str, Any] | str) -> Filter:
    """Read a filter, as a tree or as text. Raises QueryError, which names what cannot be read.

    >>> parse({"eq": {"language": "en"}})
    Comparison(op='eq', field='language', values=('en',), wanted=True)
    """
    if isinstance(tree, str):
        from ragkit.filters.text import read

        tree = read(tree)
    nodes = iter(range(MAX_NODES))
    return _parse(tree, MAX_DEPTH, nodes)


def matches(where: Filter, fields: Mapping[str, str | int]) -> bool:
    """Tell whether a filter is true of a document: `fields` are its own by their names, and those
    of its metadata by "metadata." and their key.

    A text is compared with a number as a number, where it is one; texts by code points. What is
    not there equals nothing, and is neither less nor more.
    """
    if isinstance(where, Every):
        return all(matches(part, fields) for part in where.of)
    if isinstance(where, Some):
        return any(matches(part, fields) for part in where.of)
    if isinstance(where, Not):
        return not matches(where.of, fields)
    return _holds(where, fields.get(full_name(where.field)))


def texts_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Name a document's metadata as `matches` takes it, each value as the text that it counts as.

    >>> texts_of({"year": 2020, "draft": True, "author": None})
    {'metadata.year': '2020', 'metadata.draft': 'true'}
    """
    return {
        METADATA + key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in metadata.items()
        if value is not None
    }


def comparisons(where: Filter) -> Iterator[Comparison]:
    """Yield the comparisons of a filter, from left to right."""
    if isinstance(where, Comparison):
        yield where
    elif isinstance(where, Not):
        yield from comparisons(where.of)
    else:
        for part in where.of:
            yield from comparisons(part)


def key_of(field: str) -> str | None:
    """Return the metadata key that a field is; None for one of a document's own."""
    return None if field in OWN_FIELDS else field.removeprefix(METADATA)


def unknown(field: str, keys: Collection[str]) -> QueryError:
    """Say that no document has a field, with the ones that may be meant: `keys` are there."""
    names = sorted(OWN_FIELDS | set(keys))
    close = get_close_matches(field, names, n=2, cutoff=0.6)
    suggestions = close or names[:MAX_SHOWN]
    ellipsis = ", ..." if len(suggestions) < len(names) and not close else ""
    remedy = (
        f"use {' or '.join(suggestions)}"
        if close
        else f"there are {', '.join(suggestions)}{ellipsis}"
    )
    return QueryError(f"no document of the collection has the field {_short(field)}: {remedy}")


def check_type(where: Comparison, declared: KeyType) -> None:
    """Raise QueryError where a declared key is compared with what it cannot be."""
    for value in where.values:
        fits = _is_number(value) if declared == "number" else isinstance(value, str)
        if declared == "date" and where.op != "contains":
            fits = isinstance(value, str) and is_date(value)
        if not fits:
            raise _wrong_type(where.field, _TYPES[declared], value)


def is_date(text: str) -> bool:
    """Tell whether a text is a date, or a date and a time in UTC, as 2026-01-31T09:30:00Z."""
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _holds(where: Comparison, stored: str | int | None) -> bool:
    if where.op == "exists":
        return (stored is not None) == where.wanted
    if where.op in {"in", "ne"}:
        equal = any(_compare(operator.eq, stored, value) for value in where.values)
        return equal == (where.op == "in")
    if where.op == "contains":
        return stored is not None and str(where.values[0]) in str(stored)
    return _compare(getattr(operator, _NAMES[where.op]), stored, where.values[0])


_NAMES: Final = {"eq": "eq", "lt": "lt", "lte": "le", "gt": "gt", "gte": "ge"}


def full_name(field: str) -> str:
    """Name a field so that it cannot be taken for another: keys of the metadata have a prefix."""
    return field if field in OWN_FIELDS or field.startswith(METADATA) else METADATA + field


def _compare(holds: Callable[[Any, Any], bool], stored: str | int | None, value: Value) -> bool:
    if stored is None:
        return False
    if isinstance(value, str) and isinstance(stored, str):
        return holds(stored, value)
    if isinstance(value, str):
        return False
    if isinstance(stored, str) and not re.fullmatch(NUMBER, stored, re.ASCII):
        return False
    return holds(Decimal(str(stored)), Decimal(str(value)))


def _parse(tree: object, depth: int, nodes: Iterator[int]) -> Filter:
    if next(nodes, None) is None or not depth:
        raise QueryError("the filter is too large: ask with a smaller one")
    if not isinstance(tree, Mapping) or len(tree) != 1:
        raise QueryError(
            "a filter is one operator with what it compares, as in"
            f' {{"eq": {{"language": "en"}}}}, not {_short(tree)}'
        )
    op, inside = next(iter(tree.items()))
    if op in {"and", "or"}:
        if not isinstance(inside, Sequence) or isinstance(inside, str):
            raise QueryError(f"{op!r} of a filter takes a list of filters, not {_short(inside)}")
        parts = tuple(_parse(part, depth - 1, nodes) for part in inside)
        return Every(parts) if op == "and" else Some(parts)
    if op == "not":
        return Not(_parse(inside, depth - 1, nodes))
    if op not in _COMPARE:
        raise QueryError(
            f"a filter knows no operator {_short(op)}: use {', '.join(_COMPARE)}, and, or, not"
        )
    if not isinstance(inside, Mapping) or len(inside) != 1:
        raise QueryError(f"{op!r} of a filter takes one field with its value, not {_short(inside)}")
    return _comparison(op, *next(iter(inside.items())))


def _comparison(op: str, field: object, value: object) -> Comparison:
    name = _field(field)
    if op == "exists":
        if not isinstance(value, bool):
            raise QueryError(f"'exists' of a filter takes true or false, not {_short(value)}")
        return Comparison(op, name, wanted=value)
    if op == "in":
        if not isinstance(value, list | tuple) or len(value) > MAX_VALUES:
            raise QueryError(f"'in' of a filter takes a list of at most {MAX_VALUES} values")
        return _own_checked(Comparison(op, name, tuple(_value(item) for item in value)))
    if op == "contains" and not isinstance(value, str):
        raise QueryError(f"'contains' of a filter takes a text, not {_short(value)}")
    return _own_checked(Comparison(op, name, (_value(value),)))


def _own_checked(where: Comparison) -> Comparison:
    """Refuse to compare a document's own fields with what they cannot be."""
    if where.field in OWN_NUMBERS:
        if where.op == "contains":
            raise QueryError(f"{where.field!r} is a number: 'contains' looks into texts")
        check_type(where, "number")
    if where.field in OWN_TIMES:
        if where.op not in {"lt", "lte", "gt", "gte"}:
            raise QueryError(f"{where.field!r} is a time: compare it by lt, lte, gt or gte")
        check_type(where, "date")
    if where.field in OWN_CODES:
        check_type(where, "text")
    return where


def _field(name: object) -> str:
    if not isinstance(name, str) or not name or not _storable(name):
        raise QueryError(f"a filter's field cannot be {_short(name)}")
    return name


def _value(value: object) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"  # as metadata has it
    if _is_number(value) or (isinstance(value, str) and _storable(value)):
        return value
    raise QueryError(f"a filter compares with texts and numbers, not with {_short(value)}")


def _wrong_type(field: str, expected: str, value: Value) -> QueryError:
    return QueryError(f"the field {_short(field)} is {expected}: {_short(value)} is none")


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e100  # false for NaN too


def _storable(text: str) -> bool:
    """Tell whether PostgreSQL could have it in a text at all."""
    return len(text) <= MAX_CHARS and "\0" not in text and not re.search("[\ud800-\udfff]", text)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
