"""Many rows into a table at once: by COPY, or by INSERT where row-level security forbids COPY.

Knows nothing of what the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakKeyDictionary

from psycopg import Connection, Cursor, sql
from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from psycopg.abc import Buffer

RAW: Final = "raw"  # the column's own binary format, in bytes
_ROWS: Final = 2000  # in one INSERT, arbitrary; the protocol allows 65,535 parameters
_BYTES: Final = 8 << 20  # or so many bytes of them

_secured: WeakKeyDictionary[Connection[Any], bool] = WeakKeyDictionary()


class Load(Protocol):
    """Takes rows of the columns it was opened with."""

    def write_row(self, row: Sequence[Any]) -> None: ...


@contextmanager
def loading(
    cursor: Cursor[Any], table: str | sql.Identifier, columns: Mapping[str, str]
) -> Iterator[Load]:
    """Open a table for many rows; `columns` gives each one's type, or RAW.

    They are there when the context ends.
    """
    name = sql.Identifier(table) if isinstance(table, str) else table
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    if _is_secured(cursor):
        inserting = _Inserting(cursor, sql.SQL("INSERT INTO {} ({})").format(name, names), columns)
        yield inserting
        inserting.flush()
        return
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(name, names)
    with cursor.copy(statement) as copy:
        copy.set_types(["bytea" if kind == RAW else kind for kind in columns.values()])
        yield copy


class _Inserting:
    """Gathers rows and inserts many by one statement.

    A column's values go as one array, which is quick; arrays and raw values cannot, and then each
    value is a parameter.
    """

    def __init__(
        self, cursor: Cursor[Any], insert: sql.Composable, columns: Mapping[str, str]
    ) -> None:
        self._cursor = cursor
        self._insert = insert
        self._kinds = list(columns.values())
        self._by_column = not any(kind == RAW or kind.endswith("[]") for kind in self._kinds)
        self._rows: list[Sequence[Any]] = []
        self._bytes = 0
        cursor.adapters.register_dumper(_Raw, _RawDumper)

    def write_row(self, row: Sequence[Any]) -> None:
        self._rows.append(row)
        self._bytes += sum(len(value) for value in row if isinstance(value, bytes | bytearray))
        if len(self._rows) >= _ROWS or self._bytes >= _BYTES:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            source, values = self._columns() if self._by_column else self._values()
            self._cursor.execute(self._insert + source, values)
            self._rows = []
            self._bytes = 0

    def _columns(self) -> tuple[sql.Composable, list[Any]]:
        arrays = sql.SQL(", ").join(sql.SQL(f"%b::{kind}[]") for kind in self._kinds)
        values = [list(column) for column in zip(*self._rows, strict=True)]
        return sql.SQL(" SELECT * FROM unnest({})").format(arrays), values

    def _values(self) -> tuple[sql.Composable, list[Any]]:
        raw = [kind == RAW for kind in self._kinds]
        places = (sql.SQL("%b" if kind == RAW else f"%b::{kind}") for kind in self._kinds)
        row = sql.SQL("({})").format(sql.SQL(", ").join(places))
        values = [
            _Raw(value) if is_raw else value
            for one in self._rows
            for value, is_raw in zip(one, raw, strict=True)
        ]
        return sql.SQL(" VALUES ") + sql.SQL(", ").join([row] * len(self._rows)), values


class _Raw(bytes):
    """A value as the server reads it in binary; its column says of which type."""


class _RawDumper(Dumper):
    format = Format.BINARY
    oid = 0

    def dump(self, obj: _Raw) -> Buffer | None:
        return obj


def _is_secured(cursor: Cursor[Any]) -> bool:
    """Tell whether row-level security binds a connection's role; asked once of each connection."""
    from ragkit.store.connection.roles import enforced

    conn = cursor.connection
    if conn not in _secured:
        _secured[conn] = enforced(cursor)
    return _secured[conn]
