"""A filter as SQL over a document's row: keys and values are always parameters.

It says the same as `ragkit.filters.matches`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Cursor
from psycopg.sql import SQL, Composable, Placeholder

from ragkit.filters import METADATA, NUMBER, OWN_FIELDS, Comparison, Every, Filter, Not, Some, Value

_NUMBERS: Final = {"document": SQL("d.id"), "version": SQL("d.version")}
_TEXTS: Final = {name: SQL("d." + name) for name in ("uri", "title", "language", "media_type")}
_SIGNS: Final[Mapping[str, SQL]] = {
    "eq": SQL("="),
    "lt": SQL("<"),
    "lte": SQL("<="),
    "gt": SQL(">"),
    "gte": SQL(">="),
}
_MATCHING: Final = SQL("""
    SELECT c.id FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND c.collection_id = %(collection)s AND {} ORDER BY c.id
""")

_ALLOWED: Final = SQL("""
    SELECT c.id FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND c.collection_id = %(collection)s AND c.id = ANY(%(chunks)s)
        AND {}
""")


def matching(cursor: Cursor[Any], tenant: str, collection: int, where: Filter) -> list[int]:
    """List the chunks of a collection whose documents a filter is true of, in their order."""
    among = restriction(where)
    assert among is not None
    values = {"tenant": tenant, "collection": collection, **among.values}
    return [int(row[0]) for row in cursor.execute(_MATCHING.format(among.condition), values)]


def allowed(
    cursor: Cursor[Any], tenant: str, collection: int, chunks: Sequence[int], where: Filter
) -> list[int]:
    """Return those of these chunks whose documents a filter is true of, in the given order."""
    among = restriction(where)
    assert among is not None
    values = {
        "tenant": tenant,
        "collection": collection,
        "chunks": list(chunks),
        **among.values,
    }
    rows = cursor.execute(_ALLOWED.format(among.condition), values)
    left = {int(row[0]) for row in rows}
    return [chunk for chunk in chunks if chunk in left]


@dataclass(frozen=True, slots=True)
class Restriction:
    """A condition on the row `d` of a document, never NULL, and the parameters that it names."""

    condition: Composable
    values: Mapping[str, Any]


def restriction(where: Filter | None) -> Restriction | None:
    """Write what may be found as SQL; None when everything may."""
    if where is None:
        return None
    condition = _Condition()
    return Restriction(condition.of(where), condition.values)


class _Condition:
    """Writes a filter as a condition on the row `d` of a document, which is never NULL."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def of(self, where: Filter) -> Composable:
        if isinstance(where, Every | Some):
            parts = [self.of(part) for part in where.of]
            return _all(parts) if isinstance(where, Every) else _any(parts)
        if isinstance(where, Not):
            return SQL("(NOT {})").format(self.of(where.of))
        return self._comparison(where)

    def _comparison(self, where: Comparison) -> Composable:
        if where.op == "exists":
            return self._exists(where)
        if where.op in {"in", "ne"}:
            parts = [self._compared("eq", where.field, value) for value in where.values]
            return _any(parts) if where.op == "in" else SQL("(NOT {})").format(_any(parts))
        if where.op == "contains":
            found, wanted = self._text(where.field), self._value(where.values[0])
            return SQL("coalesce(strpos({}, {}) > 0, false)").format(found, wanted)
        return self._compared(where.op, where.field, where.values[0])

    def _compared(self, op: str, field: str, value: Value) -> Composable:
        sign = _SIGNS[op]
        if field in _NUMBERS:
            if isinstance(value, str):
                return SQL("false")
            return SQL("({} {} {}::numeric)").format(_NUMBERS[field], sign, self._value(value))
        found = self._text(field)
        if isinstance(value, str):
            return SQL('coalesce({} COLLATE "C" {} {}, false)').format(
                found, sign, self._value(value)
            )
        return SQL(
            "coalesce(CASE WHEN {0} ~ {1} THEN {0}::numeric {2} {3}::numeric END, false)"
        ).format(found, self._value(NUMBER), sign, self._value(value))

    def _exists(self, where: Comparison) -> Composable:
        if where.field in OWN_FIELDS:
            return SQL("true") if where.wanted else SQL("false")
        there = SQL("({} IS NOT NULL)").format(self._text(where.field))
        return there if where.wanted else SQL("(NOT {})").format(there)

    def _text(self, field: str) -> Composable:
        if field in _NUMBERS:
            return SQL("{}::text").format(_NUMBERS[field])
        if field in _TEXTS:
            return _TEXTS[field]
        return SQL("(d.metadata ->> {})").format(self._value(field.removeprefix(METADATA)))

    def _value(self, value: Value) -> Composable:
        name = f"v{len(self.values)}"
        self.values[name] = str(value)
        return SQL("{}::text").format(Placeholder(name))


def _all(parts: Sequence[Composable]) -> Composable:
    return SQL("({})").format(SQL(" AND ").join(parts)) if parts else SQL("true")


def _any(parts: Sequence[Composable]) -> Composable:
    return SQL("({})").format(SQL(" OR ").join(parts)) if parts else SQL("false")
