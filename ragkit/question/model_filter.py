"""Filters that a language model makes of a question: the schema that bounds it, and its reading.

A model may compare only fields and values that the collection's documents have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import QueryError
from ragkit.filters.tree import METADATA
from ragkit.question.inferred_filter import Tree, compare_years, is_dated

if TYPE_CHECKING:
    from ragkit.types import Fields

MAX_CONDITIONS: Final = 4
MAX_VALUES: Final = 20  # of a field in the prompt and the schema
MAX_VALUE_CHARS: Final = 80


def describe_fields(fields: Fields) -> list[dict[str, str]]:
    """Describe each field that a model may compare; names and values come from documents."""
    return [
        {
            "name": name,
            "known": ", ".join(value[:MAX_VALUE_CHARS] for value in values or ()),
            "operators": ", ".join(_operators(name, fields)) + _years(name, fields),
        }
        for name, values in _allowed(fields).items()
    ]


def conditions_schema(fields: Fields) -> dict[str, Any]:
    """Return the JSON schema of the fields and, where they are few, of their values."""
    kinds = [
        {
            "type": "object",
            "properties": {
                "field": {"const": name},
                "op": {"enum": _operators(name, fields)},
                "value": {"enum": list(values)} if values else {"type": "string"},
            },
            "required": ["field", "op", "value"],
            "additionalProperties": False,
        }
        for name, values in _allowed(fields).items()
    ]
    conditions = {"type": "array", "maxItems": MAX_CONDITIONS, "items": {"anyOf": kinds}}
    return {
        "type": "object",
        "properties": {"conditions": conditions},
        "required": ["conditions"],
        "additionalProperties": False,
    }


def read_conditions(reply: str, fields: Fields) -> Tree | None:
    """Read a model's conditions from its reply, with or without a schema. Raises QueryError."""
    try:
        conditions = json.loads(reply[reply.find("{") : reply.rfind("}") + 1])["conditions"]
    except (ValueError, KeyError, TypeError):
        conditions = None
    if not isinstance(conditions, list):
        raise QueryError(f"the model's filter has no list of conditions: {reply[:60]!r}")
    parts = [part for condition in conditions[:MAX_CONDITIONS] for part in _part(condition, fields)]
    return {"and": parts} if len(parts) > 1 else parts[0] if parts else None


def _part(condition: object, fields: Fields) -> list[Tree]:
    allowed, keys = _allowed(fields), fields.keys
    if not isinstance(condition, dict):
        raise QueryError(f"the model's condition is no object: {str(condition)[:60]!r}")
    name, op, value = str(condition.get("field")), condition.get("op"), condition.get("value")
    if name not in allowed or not isinstance(value, str | int) or not str(value).strip():
        raise QueryError(f"the model's condition names no field of the documents: {name[:60]!r}")
    value, key = str(value).strip(), name.removeprefix(METADATA)
    if name in {"title", "uri"}:
        return [{"contains": {name: value}}]
    if _is_dated(name, fields):
        year = re.match(r"(?:19|20)\d\d", value)
        if year is None or op not in {"eq", "gte", "lte"}:
            raise QueryError(f"the model's condition has no year: {value!r}")
        first = int(year[0]) if op in {"eq", "gte"} else None
        last = int(year[0]) if op in {"eq", "lte"} else None
        return compare_years(key, keys.get(key), first, last)
    values = allowed[name]
    if values is not None and value not in values:
        raise QueryError(f"the model's condition names no value of the documents: {value[:60]!r}")
    return [{"eq": {name: value}}]


def _allowed(fields: Fields) -> dict[str, Sequence[str] | None]:
    """Map each field that a model may compare to its values; None stands for any text."""
    allowed: dict[str, Sequence[str] | None] = {"title": None, "uri": None}
    for name, present in (("language", fields.languages), ("media_type", fields.media_types)):
        if len(present) > 1:  # a value that all documents share selects nothing
            allowed[name] = present[:MAX_VALUES]
    for key, declared in fields.keys.items():
        values = fields.values.get(key, ())
        if is_dated(key, declared):
            allowed[METADATA + key] = None
        elif values:
            allowed[METADATA + key] = values[:MAX_VALUES] if len(values) <= MAX_VALUES else None
    return allowed


def _operators(name: str, fields: Fields) -> list[str]:
    if name in {"title", "uri"}:
        return ["contains"]
    return ["eq", "gte", "lte"] if _is_dated(name, fields) else ["eq"]


def _years(name: str, fields: Fields) -> str:
    return ": YYYY" if _is_dated(name, fields) else ""


def _is_dated(name: str, fields: Fields) -> bool:
    key = name.removeprefix(METADATA)
    return key != name and is_dated(key, fields.keys.get(key))
