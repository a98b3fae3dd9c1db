"""Vectors and lists of numbers as parameters in PostgreSQL's binary format.

A vector: dimension, two zero bytes, big-endian values. A parameter in binary is a quarter of its
text, and is not parsed. Source: halfvec_send and vector_send of
https://github.com/pgvector/pgvector; array_send of PostgreSQL's src/backend/utils/adt/arrayfuncs.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from psycopg import Cursor
from psycopg.adapt import Dumper
from psycopg.pq import Format

from ragkit.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from psycopg.abc import Buffer

    from ragkit.contracts import Vectors
    from ragkit.store.vectors.layout import Table


_BIGINT: Final = 20  # PostgreSQL's numbers of its types
_BIGINTS: Final = 1016


class Packed(bytes):
    """A query vector; in a statement it stands beside a cast, which tells its type."""


class PackedNumbers(bytes):
    """A bigint[] in a statement."""


class _PackedDumper(Dumper):
    format = Format.BINARY
    oid = 0

    def dump(self, obj: Packed) -> Buffer | None:
        return bytes(obj)


class _NumbersDumper(Dumper):
    format = Format.BINARY
    oid = _BIGINTS

    def dump(self, obj: PackedNumbers) -> Buffer | None:
        return bytes(obj)


def register(cursor: Cursor[object]) -> None:
    """Let a cursor's statements take packed vectors and numbers."""
    cursor.adapters.register_dumper(Packed, _PackedDumper)
    cursor.adapters.register_dumper(PackedNumbers, _NumbersDumper)


def pack_numbers(numbers: Sequence[int]) -> PackedNumbers:
    """Pack numbers as an array; a list of a hundred takes psycopg ten times as long.

    >>> len(pack_numbers([7, 9])), len(pack_numbers([]))
    (44, 20)
    """
    import numpy as np

    rows = np.empty(len(numbers), [("size", ">i4"), ("number", ">i8")])
    rows["size"], rows["number"] = 8, numbers
    # Dimensions, whether any is NULL, the element's type, the length, the first index.
    head = np.array([1, 0, _BIGINT, len(numbers), 1], ">i4")
    return PackedNumbers(head.tobytes() + rows.tobytes())


def packed_query(table: Table, model: str, vector: Vectors) -> Packed:
    """Pack a query vector; refuse one of another dimension, or that nothing can be near to."""
    import numpy as np

    if vector.shape != (table.dimension,):
        raise UsageError(
            f"The query vector has shape {vector.shape}, but {model} has {table.dimension}"
            " dimensions: embed the query with the collection's model."
        )
    if not np.isfinite(vector).all() or not vector.any():
        raise UsageError(
            f"The query vector of {model} is zero, or has NaN or infinite values: see what embeds"
            " the query."
        )
    values = _rounded(table, vector)
    _check(values, some=values.any())
    return Packed(_head(table) + _big_endian(values).tobytes())


def packed(table: Table, vectors: Vectors) -> Iterator[bytes]:
    """Pack vectors, shape (n, dimension), as the table stores them.

    Raises UsageError for values that half precision cannot hold, and for a zero vector.
    """
    values = _rounded(table, vectors)
    _check(values, some=values.any(axis=1).all())
    head = _head(table)
    return (head + row.tobytes() for row in _big_endian(values))


def _rounded(table: Table, vectors: Vectors) -> NDArray[np.floating[Any]]:
    import numpy as np

    with np.errstate(over="ignore"):
        return vectors.astype(np.float16 if table.stored == "halfvec" else np.float32)


def _big_endian(values: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    return values.astype(values.dtype.newbyteorder(">"))


def _head(table: Table) -> bytes:
    return table.dimension.to_bytes(2, "big") + b"\0\0"


def _check(values: NDArray[np.floating[Any]], *, some: bool | np.bool) -> None:
    """Refuse values as they would be stored, of which `some` tells whether each row has any."""
    import numpy as np

    if not np.isfinite(values).all():
        raise UsageError(
            "A vector has NaN, or values too large for half precision: embed again, or set"
            " RAGKIT_VECTOR_TYPE=vector for a new embedding space."
        )
    if not some:
        raise UsageError("A vector is zero: nothing is near to it. Embed again.")
