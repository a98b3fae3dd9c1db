"""Rows into a table as they come: by COPY, or by INSERT where row-level security forbids COPY.

Knows nothing of what the rows are. Rows that are there at once go by `columns`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from psycopg import Connection, Cursor, sql

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
    """Open a table for many rows; `columns` gives each one's type.

    They are there when the context ends.
    """
    name = sql.Identifier(table) if isinstance(table, str) else table
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    if is_secured(cursor):
        inserting = _Inserting(cursor, sql.SQL("INSERT INTO {} ({})").format(name, names), columns)
        yield inserting
        inserting.flush()
        return
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(name, names)
    with cursor.copy(statement) as copy:
        copy.set_types(list(columns.values()))
        yield copy


class _Inserting:
    """Gathers rows and inserts many by one statement, the values of a column as one array."""

    def __init__(
        self, cursor: Cursor[Any], insert: sql.Composable, columns: Mapping[str, str]
    ) -> None:
        self._cursor = cursor
        self._insert = insert
        self._kinds = list(columns.values())
        self._rows: list[Sequence[Any]] = []
        self._bytes = 0

    def write_row(self, row: Sequence[Any]) -> None:
        self._rows.append(row)
        self._bytes += sum(len(value) for value in row if isinstance(value, bytes | bytearray))
        if len(self._rows) >= _ROWS or self._bytes >= _BYTES:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            arrays = sql.SQL(", ").join(sql.SQL(f"%b::{kind}[]") for kind in self._kinds)
            source = sql.SQL(" SELECT * FROM unnest({})").format(arrays)
            values = [list(column) for column in zip(*self._rows, strict=True)]
            self._cursor.execute(self._insert + source, values)
            self._rows = []
            self._bytes = 0


def is_secured(cursor: Cursor[Any]) -> bool:
    """Tell whether row-level security binds a connection's role; asked once of each connection."""
    from ragkit.store.connection.roles import enforced

    conn = cursor.connection
    if conn not in _secured:
        _secured[conn] = enforced(cursor)
    return _secured[conn]
