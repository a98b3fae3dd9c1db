"""Many rows at once, given by columns: by COPY in binary, or by INSERT of arrays.

Row-level security forbids COPY. It knows nothing of what the rows are.
"""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

from psycopg import Connection, Cursor, DataError, sql
from psycopg.adapt import Dumper
from psycopg.pq import Format

from ragkit.store.connection.roles import enforced

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from psycopg.abc import Buffer

    from ragkit.store.session import Session

    Field = bytes | Sequence[bytes] | NDArray[np.uint8]  # the same, one for each row, or a table

# Formats: https://www.postgresql.org/docs/16/sql-copy.html, and each type's own send function.
_HEAD: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TAIL: Final = b"\xff\xff"
_NULL: Final = b"\xff\xff\xff\xff"
_LENGTH: Final = struct.Struct(">i")
_INT4: Final = struct.Struct(">ii")
_TEXT: Final = 25  # the number of the type
_REALS: Final = 1021
_ROWS: Final = 2000  # in one INSERT, and in one piece of a COPY; arbitrary
_BYTES: Final = 8 << 20  # or so many bytes of vectors
_KEPT_PATHS: Final = 1024
_SHORT: Final = 512  # lengths that are packed once

_secured: WeakKeyDictionary[Connection[Any], bool] = WeakKeyDictionary()


class Column(ABC):
    """The values of one column. `kind` names its type."""

    kind: str

    @abstractmethod
    def field(self, rows: slice) -> Field:
        """Pack some rows' values, each after its length."""

    @abstractmethod
    def array(self, rows: slice) -> object:
        """Return some rows' values as INSERT takes them."""

    def source(self, name: str) -> str:
        """Write the value of a row in INSERT, whose array of values is unnested as `name`."""
        return name

    @property
    def array_kind(self) -> str:
        """Name the type of the array."""
        return f"{self.kind}[]"


@dataclass(frozen=True, slots=True)
class Same(Column):
    """A column that has the same value in all rows: a text, an integer, or NULL."""

    kind: Literal["text", "int4", "int8"]
    value: str | int | None

    def field(self, rows: slice) -> bytes:
        if self.value is None:
            return _NULL
        if isinstance(self.value, str):
            return _after_length(_encoded(self.value))
        return _after_length(self.value.to_bytes(int(self.kind[-1]), "big", signed=True))

    def array(self, rows: slice) -> object:
        return self.value


@dataclass(frozen=True, slots=True)
class Integers(Column):
    """Integers, none of them NULL."""

    kind: Literal["int4", "int8"]
    values: NDArray[np.integer[Any]]

    def field(self, rows: slice) -> NDArray[np.uint8]:
        import numpy as np

        values, size = self.values[rows], int(self.kind[-1])
        table = np.empty(len(values), [("length", ">i4"), ("value", f">i{size}")])
        table["length"], table["value"] = size, values
        return table.view(np.uint8).reshape(len(values), -1)

    def array(self, rows: slice) -> object:
        return self.values[rows].tolist()


@dataclass(frozen=True, slots=True)
class Optional(Column):
    """Integers of four bytes, or NULL."""

    values: Sequence[int | None]
    kind: Literal["int4"] = "int4"

    def field(self, rows: slice) -> Sequence[bytes]:
        pack = _INT4.pack
        return [_NULL if value is None else pack(4, value) for value in self.values[rows]]

    def array(self, rows: slice) -> object:
        return list(self.values[rows])


@dataclass(frozen=True, slots=True)
class Texts(Column):
    """Texts."""

    values: Sequence[str]
    kind: Literal["text"] = "text"

    def field(self, rows: slice) -> Sequence[bytes]:
        data = [text.encode() for text in self.values[rows]]
        if b"\0" in b"".join(data):
            raise _nul()
        return _after_lengths(data)

    def array(self, rows: slice) -> object:
        if any("\0" in text for text in self.values[rows]):
            raise _nul()
        return list(self.values[rows])


@dataclass(frozen=True, slots=True)
class Bytes(Column):
    """Bytes."""

    values: Sequence[bytes]
    kind: Literal["bytea"] = "bytea"

    def field(self, rows: slice) -> Sequence[bytes]:
        return _after_lengths(self.values[rows])

    def array(self, rows: slice) -> object:
        return list(self.values[rows])


@dataclass(frozen=True, slots=True)
class Paths(Column):
    """Arrays of texts, of which many rows have the same."""

    values: Sequence[tuple[str, ...]]
    kind: Literal["text[]"] = "text[]"

    def field(self, rows: slice) -> Sequence[bytes]:
        return list(map(lru_cache(_KEPT_PATHS)(_packed_path), self.values[rows]))

    def array(self, rows: slice) -> object:
        if any("\0" in text for path in self.values[rows] for text in path):
            raise _nul()
        return [json.dumps(path, ensure_ascii=False) for path in self.values[rows]]

    @property
    def array_kind(self) -> str:
        return "text[]"

    def source(self, name: str) -> str:
        parts = f"json_array_elements_text({name}::json) WITH ORDINALITY AS e (part, n)"
        return f"ARRAY(SELECT e.part FROM {parts} ORDER BY e.n)"  # noqa: S608  a name of our own


@dataclass(frozen=True, slots=True)
class Vectors(Column):
    """Vectors of pgvector as they are stored, shape (rows, dimension): float16 or float32."""

    kind: Literal["halfvec", "vector"]
    values: NDArray[np.floating[Any]]

    def field(self, rows: slice) -> NDArray[np.uint8]:
        """Pack vectors: dimension, two zero bytes, values (halfvec_send and vector_send)."""
        import numpy as np

        values = self.values[rows]
        count, dimension = values.shape
        size = values.dtype.itemsize
        form = np.dtype([("head", ">i4, >i2, >i2"), ("values", f">f{size}", (dimension,))])
        table = np.zeros(count, form)
        table["head"]["f0"], table["head"]["f1"] = 4 + size * dimension, dimension
        table["values"] = values
        return table.view(np.uint8).reshape(count, -1)

    def array(self, rows: slice) -> object:
        """Pack all numbers of vectors as one array of reals."""
        import numpy as np

        flat = self.values[rows].ravel()
        head = struct.pack(">iiiii", 1, 0, 700, len(flat), 1)
        table = np.empty(len(flat), [("length", ">i4"), ("value", ">f4")])
        table["length"], table["value"] = 4, flat
        return _Reals(head + table.tobytes())


class _Reals(bytes):
    """An array of reals as the server reads it in binary."""


class _RealsDumper(Dumper):
    format = Format.BINARY
    oid = _REALS

    def dump(self, obj: _Reals) -> Buffer | None:
        return bytes(obj)


def add_rows(
    session: Session,
    collection: int,
    table: str | sql.Identifier,
    columns: Mapping[str, Column],
    count: int,
) -> None:
    """Add so many rows of one collection to a table.

    `columns` has the values by the columns' names, but for `tenant` and `collection_id`.
    """
    if not count:
        return
    cursor = session.cursor
    owned = {
        "tenant": Same("text", session.tenant),
        "collection_id": Same("int8", collection),
        **columns,
    }
    name = sql.Identifier(table) if isinstance(table, str) else table
    names = sql.SQL(", ").join(map(sql.Identifier, owned))
    pieces = _pieces(count, columns)
    if _is_secured(cursor):
        cursor.adapters.register_dumper(_Reals, _RealsDumper)
        insert = sql.SQL("INSERT INTO {} ({}) ").format(name, names)
        for rows in pieces:
            source, values = _selected(columns, rows)
            session.execute(insert + source, {**values, "collection": collection})
        return
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(name, names)
    with cursor.copy(statement) as copy:
        copy.write(_HEAD)
        for rows in pieces:
            copy.write(_packed([column.field(rows) for column in owned.values()], rows))
        copy.write(_TAIL)


def _pieces(count: int, columns: Mapping[str, Column]) -> list[slice]:
    """Divide rows into pieces that are held in memory twice."""
    vectors = [column.values for column in columns.values() if isinstance(column, Vectors)]
    of_row = sum(8 * values.shape[1] for values in vectors) or 1
    rows = max(1, min(_ROWS, _BYTES // of_row))
    return [slice(first, min(first + rows, count)) for first in range(0, count, rows)]


def _packed(fields: Sequence[Field], rows: slice) -> bytes:
    """Put the fields of rows together, row by row."""
    import numpy as np

    count = rows.stop - rows.start
    tables: list[list[NDArray[np.uint8]]] = [[]]  # what stands between fields of any length
    others: list[Sequence[bytes]] = []
    for field in (len(fields).to_bytes(2, "big"), *fields):
        if isinstance(field, bytes):
            row = np.frombuffer(field, np.uint8)
            tables[-1].append(np.broadcast_to(row, (count, len(row))))
        elif isinstance(field, np.ndarray):
            tables[-1].append(field)
        else:
            others.append(field)
            tables.append([])
    if not others:
        return np.concatenate(tables[0], axis=1).tobytes()
    parts: list[Sequence[bytes] | Iterator[bytes]] = [_rows_of(tables[0])]
    for other, between in zip(others, tables[1:], strict=True):
        parts += [other, _rows_of(between)]
    return b"".join(chain.from_iterable(zip(*parts, strict=False)))


def _rows_of(tables: Sequence[NDArray[np.uint8]]) -> Sequence[bytes] | Iterator[bytes]:
    """Cut tables of bytes that stand beside one another into rows."""
    import numpy as np

    if not tables:
        return repeat(b"")
    if all(table.strides[0] == 0 for table in tables):  # all rows are the same
        return repeat(b"".join(table[0].tobytes() for table in tables))
    joined = np.concatenate(tables, axis=1)
    width, data = joined.shape[1], joined.tobytes()
    return [data[first : first + width] for first in range(0, len(data), width)]


def _is_secured(cursor: Cursor[Any]) -> bool:
    """Tell whether row-level security binds a connection's role; asked once of each connection."""
    conn = cursor.connection
    if conn not in _secured:
        _secured[conn] = enforced(cursor)
    return _secured[conn]


def _selected(
    columns: Mapping[str, Column], rows: slice
) -> tuple[sql.Composable, dict[str, object]]:
    """Write the query that INSERT takes rows from, and its parameters.

    It reads the collection's row, so that a cluster has the tenant's node execute it.
    """
    chosen = ["c.tenant", "c.id"]
    arrays: list[str] = []
    values: dict[str, object] = {}
    for place, column in enumerate(columns.values()):
        parameter = f"v{place}"
        values[parameter] = column.array(rows)
        if isinstance(column, Same):
            chosen.append(f"%({parameter})s::{column.kind}")
        elif isinstance(column, Vectors):
            size = column.values.shape[1]
            numbers = f"((u.n - 1) * {size} + 1)::int : (u.n * {size})::int"
            chosen.append(f"(%({parameter})b::real[])[{numbers}]::{column.kind}")
        else:
            chosen.append(column.source(f"u.c{len(arrays)}"))
            arrays.append(f"%({parameter})b::{column.array_kind}")
    names = ", ".join([*(f"c{n}" for n in range(len(arrays))), "n"])
    query = (
        f"SELECT {', '.join(chosen)} FROM collection c,"  # noqa: S608
        f" unnest({', '.join(arrays)}) WITH ORDINALITY AS u ({names})"
        " WHERE c.tenant = %(tenant)s AND c.id = %(collection)s"
    )
    return sql.SQL(query), values


def _after_length(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


def _after_lengths(values: Sequence[bytes]) -> list[bytes]:
    """Write the length before each value; most are short."""
    short, most = _lengths(), _SHORT
    return [
        (short[len(data)] if len(data) < most else _LENGTH.pack(len(data))) + data
        for data in values
    ]


@cache
def _lengths() -> list[bytes]:
    return list(map(_LENGTH.pack, range(_SHORT)))


def _encoded(text: str) -> bytes:
    data = text.encode()
    if b"\0" in data:
        raise _nul()
    return data


def _packed_path(path: tuple[str, ...]) -> bytes:
    """Pack an array of texts after its length: dimensions, no NULL, type, size, first place."""
    if not path:
        return _after_length(struct.pack(">iii", 0, 0, _TEXT))
    head = struct.pack(">iiiii", 1, 0, _TEXT, len(path), 1)
    return _after_length(head + b"".join(_after_length(_encoded(text)) for text in path))


def _nul() -> DataError:
    return DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
