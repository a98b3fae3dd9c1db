"""Filters as SQL conditions on a document's row.

Keys and values are always parameters. A filter means the same as in `ragkit.filters.tree.matches`.
Who may read a document is not part of it: statements read `visible_document`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from psycopg.sql import SQL, Composable, Placeholder

from ragkit.filters.tree import (
    METADATA,
    NUMBER,
    OWN_NUMBERS,
    OWN_TIMES,
    Comparison,
    Every,
    Filter,
    Not,
    Some,
    Value,
)

if TYPE_CHECKING:
    from ragkit.store.session import Session

Readers = tuple[str, ...] | None  # a caller's principals; None: an operator, no limit

_NUMBERS: Final = {"document": SQL("d.id"), "version": SQL("d.version")}
_TEXTS: Final[Mapping[str, Composable]] = {
    **{name: SQL("d." + name) for name in ("uri", "title", "language", "media_type")},
    **{
        name: SQL("to_char(d." + name + " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")
        for name in ("created_at", "updated_at")
    },
}
_SIGNS: Final[Mapping[str, SQL]] = {
    "eq": SQL("="),
    "lt": SQL("<"),
    "lte": SQL("<="),
    "gt": SQL(">"),
    "gte": SQL(">="),
}
# How two beginnings, or two numbers rounded, compare where the values themselves compare so.
_LOOSE: Final[Mapping[str, SQL]] = {**_SIGNS, "lt": SQL("<="), "gt": SQL(">=")}
_DECLARED: Final = SQL("""EXISTS (SELECT 1 FROM metadata_value v
    WHERE v.tenant = d.tenant AND v.collection_id = d.collection_id AND v.document_id = d.id
        AND v.key = {} AND {})""")
# Documents first, then their chunks: by itself the planner goes through every chunk.
MATCHING: Final = SQL("""
    SELECT c.id FROM (
        SELECT d.id FROM visible_document d
        WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s AND {} OFFSET 0
    ) AS d CROSS JOIN LATERAL (
        SELECT id FROM chunk WHERE tenant = %(tenant)s AND document_id = d.id OFFSET 0
    ) AS c ORDER BY c.id
""")
_ALLOWED: Final = SQL("""
    SELECT c.id FROM chunk c
    JOIN visible_document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND c.collection_id = %(collection)s AND c.id = ANY(%(chunks)s)
        AND {}
""")


@dataclass(frozen=True, slots=True)
class Restriction:
    """A condition on the row `d` of a document, never NULL, and the parameters that it names."""

    condition: Composable
    values: Mapping[str, Any]


def restriction(
    where: Filter | None, *, limited: bool = False, declared: Mapping[str, str] | None = None
) -> Restriction | None:
    """Write which documents of a collection a search may find; None when it may find all.

    With `limited` some may be hidden from the session, so that documents have to be looked at even
    without a filter. `declared` are the collection's keys that have an index.
    """
    if where is None:
        return Restriction(SQL("true"), {}) if limited else None
    condition = _Condition(declared or {})
    return Restriction(condition.of(where), condition.values)


def matching(session: Session, collection: int, where: Filter | Restriction) -> list[int]:
    """List the chunks of a collection whose documents a filter is true of, in their order."""
    among = _restriction(where)
    values = {"collection": collection, **among.values}
    return [int(row[0]) for row in session.execute(MATCHING.format(among.condition), values)]


def allowed(
    session: Session, collection: int, chunks: Sequence[int], where: Filter | Restriction
) -> list[int]:
    """Return those of these chunks whose documents a filter is true of, in the given order."""
    among = _restriction(where)
    values = {"collection": collection, "chunks": list(chunks), **among.values}
    rows = session.execute(_ALLOWED.format(among.condition), values)
    matches = {int(row[0]) for row in rows}
    return [chunk for chunk in chunks if chunk in matches]


def _restriction(where: Filter | Restriction) -> Restriction:
    among = where if isinstance(where, Restriction) else restriction(where)
    assert among is not None, "there is a filter"
    return among


class _Condition:
    """Writes a filter as a condition on the row `d` of a document, which is never NULL."""

    def __init__(self, declared: Mapping[str, str]) -> None:
        self.values: dict[str, Any] = {}
        self._declared = declared

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
            text, part = self._text(where.field), self._value(where.values[0])
            return SQL("coalesce(strpos({}, {}) > 0, false)").format(text, part)
        return self._compared(where.op, where.field, where.values[0])

    def _compared(self, op: str, field: str, value: Value) -> Composable:
        sign = _SIGNS[op]
        if field in _NUMBERS:
            if isinstance(value, str):
                return SQL("false")
            return SQL("({} {} {}::numeric)").format(_NUMBERS[field], sign, self._value(value))
        if field not in _TEXTS and field.removeprefix(METADATA) in self._declared:
            return self._indexed(op, field, value)
        text = self._text(field)
        if isinstance(value, str):
            return SQL('coalesce({} COLLATE "C" {} {}, false)').format(
                text, sign, self._value(value)
            )
        return SQL(
            "coalesce(CASE WHEN {0} ~ {1} THEN {0}::numeric {2} {3}::numeric END, false)"
        ).format(text, self._value(NUMBER), sign, self._value(value))

    def _indexed(self, op: str, field: str, value: Value) -> Composable:
        """Compare a declared key by its index, then exactly."""
        key, parameter, sign = self._key(field), self._value(value), _SIGNS[op]
        if not isinstance(value, str):
            inside = "v.about {0} {2}::numeric::double precision AND v.number {1} {2}::numeric"
        else:
            inside = "v.beginning {0} left({2}, 250) AND v.value {1} {2}"
        return _DECLARED.format(key, SQL(inside).format(_LOOSE[op], sign, parameter))

    def _exists(self, where: Comparison) -> Composable:
        if where.field in _TEXTS or where.field in _NUMBERS:
            return SQL("true") if where.wanted else SQL("false")
        exists = SQL("({} IS NOT NULL)").format(self._text(where.field))
        return exists if where.wanted else SQL("(NOT {})").format(exists)

    def _text(self, field: str) -> Composable:
        if field in _NUMBERS:
            return SQL("{}::text").format(_NUMBERS[field])
        if field in _TEXTS:
            return _TEXTS[field]
        return SQL("(d.metadata ->> {})").format(self._key(field))

    def _key(self, field: str) -> Composable:
        return self._value(field.removeprefix(METADATA))

    def _value(self, value: Value) -> Composable:
        name = f"v{len(self.values)}"
        self.values[name] = str(value)
        return SQL("{}::text").format(Placeholder(name))


def _all(parts: Sequence[Composable]) -> Composable:
    return SQL("({})").format(SQL(" AND ").join(parts)) if parts else SQL("true")


def _any(parts: Sequence[Composable]) -> Composable:
    return SQL("({})").format(SQL(" OR ").join(parts)) if parts else SQL("false")


assert _NUMBERS.keys() == OWN_NUMBERS
assert _TEXTS.keys() > OWN_TIMES
