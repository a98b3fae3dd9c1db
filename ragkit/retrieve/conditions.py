"""The filter that a language model makes of a question: what it may say, and reading what it said.

It bounds a model to the fields and values that a collection's documents have. It knows nothing of
prompts and of how a model is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import QueryError
from ragkit.filters import METADATA
from ragkit.retrieve.infer import Tree, is_dated, when

if TYPE_CHECKING:
    from ragkit.types import Fields

MAX_CONDITIONS: Final = 4
MAX_VALUES: Final = 20  # shown of a field, and allowed by name
MAX_VALUE_CHARS: Final = 80


def shown(fields: Fields) -> list[dict[str, str]]:
    """Describe to a model each field that it may compare; what stands in it is from documents."""
    return [
        {
            "name": name,
            "known": ", ".join(value[:MAX_VALUE_CHARS] for value in values or ()),
            "operators": ", ".join(_operators(name, fields)) + _years(name, fields),
        }
        for name, values in _allowed(fields).items()
    ]


def schema(fields: Fields) -> dict[str, Any]:
    """Bind a model to the fields that there are and, where they are few, to their values."""
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


def read(said: str, fields: Fields) -> Tree | None:
    """Read a model's conditions, whether or not a schema bound it. Raises QueryError."""
    try:
        conditions = json.loads(said[said.find("{") : said.rfind("}") + 1])["conditions"]
    except (ValueError, KeyError, TypeError):
        conditions = None
    if not isinstance(conditions, list):
        raise QueryError(f"the model's filter is none: {said[:60]!r}")
    parts = [part for one in conditions[:MAX_CONDITIONS] for part in _part(one, fields)]
    return {"and": parts} if len(parts) > 1 else parts[0] if parts else None


def _part(condition: object, fields: Fields) -> list[Tree]:
    among, keys = _allowed(fields), fields.keys
    if not isinstance(condition, dict):
        raise QueryError(f"the model's condition is none: {str(condition)[:60]!r}")
    name, op, value = str(condition.get("field")), condition.get("op"), condition.get("value")
    if name not in among or not isinstance(value, str | int) or not str(value).strip():
        raise QueryError(f"the model's condition compares what is not there: {name[:60]!r}")
    value, key = str(value).strip(), name.removeprefix(METADATA)
    if name in {"title", "uri"}:
        return [{"contains": {name: value}}]
    if _is_dated(name, fields):
        year = re.match(r"(?:19|20)\d\d", value)
        if year is None or op not in {"eq", "gte", "lte"}:
            raise QueryError(f"the model's condition has no year: {value!r}")
        first = int(year[0]) if op in {"eq", "gte"} else None
        last = int(year[0]) if op in {"eq", "lte"} else None
        return when(key, keys.get(key), first, last)
    values = among[name]
    if values is not None and value not in values:
        raise QueryError(f"the model's condition names a value that is not there: {value[:60]!r}")
    return [{"eq": {name: value}}]


def _allowed(fields: Fields) -> dict[str, Sequence[str] | None]:
    """Map each field that a model may compare to the values there are; None: any text."""
    found: dict[str, Sequence[str] | None] = {"title": None, "uri": None}
    for name, there in (("language", fields.languages), ("media_type", fields.media_types)):
        if len(there) > 1:  # one that all documents have says nothing
            found[name] = there[:MAX_VALUES]
    for key, declared in fields.keys.items():
        values = fields.values.get(key, ())
        if is_dated(key, declared):
            found[METADATA + key] = None
        elif values:
            found[METADATA + key] = values[:MAX_VALUES] if len(values) <= MAX_VALUES else None
    return found


def _operators(name: str, fields: Fields) -> list[str]:
    if name in {"title", "uri"}:
        return ["contains"]
    return ["eq", "gte", "lte"] if _is_dated(name, fields) else ["eq"]


def _years(name: str, fields: Fields) -> str:
    return ": YYYY" if _is_dated(name, fields) else ""


def _is_dated(name: str, fields: Fields) -> bool:
    key = name.removeprefix(METADATA)
    return key != name and is_dated(key, fields.keys.get(key))
