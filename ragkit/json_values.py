"""Frozen values as JSON and back, field by field.

A field that is added to a value's dataclass is written, read and copied without another line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

T = TypeVar("T")


def to_json(value: object, *, digits: int | None = None, without: Collection[str] = ()) -> Any:
    """Return a value as JSON has it; a dataclass becomes an object of its fields.

    Numbers are rounded to so many `digits`, moments to seconds. `without` names fields of the value
    itself that are left out.

    >>> from ragkit.types import Span
    >>> to_json((Span(3, 7), 0.123456), digits=2), to_json(Span(3, 7), without=["end"])
    ([{'start': 3, 'end': 7}, 0.12], {'start': 3})
    """
    if is_dataclass(value):
        return {
            field.name: to_json(getattr(value, field.name), digits=digits)
            for field in fields(value)
            if field.name not in without
        }
    if isinstance(value, Mapping):
        return {name: to_json(member, digits=digits) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [to_json(member, digits=digits) for member in value]
    match value:
        case datetime():
            return value.isoformat(timespec="seconds")
        case UUID():
            return str(value)
    return round(value, digits) if isinstance(value, float) and digits is not None else value


def from_json(kind: type[T], data: object) -> T:
    """Return the dataclass that an object of JSON describes; members that it lacks are ignored.

    Raises AttributeError, KeyError, TypeError or ValueError for a missing or malformed field.

    >>> from ragkit.types import Span
    >>> from_json(Span, {"start": 3, "end": 7, "page": 1})
    Span(start=3, end=7)
    """
    if not isinstance(data, Mapping):
        raise TypeError("it is no object")
    hints = get_type_hints(kind)
    members = {
        field.name: read_member(hints[field.name], data[field.name])
        for field in fields(kind)  # type: ignore[arg-type]
        if field.name in data or _is_required(field)
    }
    return kind(**members)


def read_member(hint: Any, data: Any) -> Any:
    """Return the value of a field of this type. Raises as `from_json` does."""
    if get_origin(hint) is tuple:
        kind = get_args(hint)[0]
        return tuple(read_member(kind, member) for member in _array(data))
    if isinstance(hint, type) and is_dataclass(hint):
        return from_json(hint, data)
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return None if data is None and NoneType in kinds else _read_plain(hint, kinds, data)


def copy_as(kind: type[T], value: object, **members: object) -> T:
    """Return a dataclass of this kind with the fields that it has in common with a value.

    `members` are fields that the value lacks, or has otherwise.

    >>> from ragkit.types import Block, Span
    >>> copy_as(Span, Block(0, 4, "heading", level=1), end=3)
    Span(start=0, end=3)
    """
    shared = {
        field.name: getattr(value, field.name)
        for field in fields(kind)  # type: ignore[arg-type]
        if field.name not in members and hasattr(value, field.name)
    }
    return kind(**shared, **members)


def _is_required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _array(data: object) -> Sequence[Any]:
    if not isinstance(data, list):
        raise TypeError("it is no array")
    return data


def _read_plain(hint: Any, kinds: Collection[Any], data: Any) -> Any:
    if UUID in kinds:
        return UUID(data)
    if datetime in kinds:
        return datetime.fromisoformat(data)
    if float in kinds and type(data) in {int, float}:
        return float(data)
    if hint in {int, float, str, bool} and type(data) is not hint:
        raise TypeError(f"{str(data)[:40]!r} is no {hint.__name__}")
    return data
