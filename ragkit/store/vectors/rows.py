"""The rows of a space's table: written, counted, and looked up by chunk. Ranks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from psycopg import Cursor
from psycopg.adapt import PyFormat
from psycopg.sql import SQL, Placeholder

from ragkit.store.loading import RAW, loading
from ragkit.store.vectors.layout import Table
from ragkit.store.vectors.packed import packed, packed_query, register
from ragkit.store.vectors.spaces import find_table
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

_COLUMNS: Final = {
    "tenant": "text",
    "chunk_id": "int8",
    "collection_id": "int8",
    "document_id": "int8",
    "generation": "int4",
    "embedding": RAW,
}
_DOCUMENTS: Final = "SELECT id, document_id FROM chunk WHERE tenant = %s AND id = ANY(%s)"
_SIMILARITIES: Final = SQL("""
    SELECT chunk_id, {similarity} FROM (
        SELECT chunk_id, {distance} AS distance FROM {table}
        WHERE tenant = %(tenant)s AND chunk_id = ANY(%(chunks)s)) AS v
""")
_VECTORS: Final = SQL("""
    SELECT chunk_id, embedding::vector::real[] FROM {}
    WHERE tenant = %s AND chunk_id = ANY(%s)
""")
QUERY: Final = Placeholder("vector", PyFormat.BINARY)


def copy_vectors(
    cursor: Cursor[Any],
    space_id: int,
    tenant: str,
    collection: int,
    chunks: Sequence[int],
    vectors: Vectors,
    documents: Sequence[int] | None = None,
) -> None:
    """Add one vector per chunk, which is stored already; `vectors`: (len(chunks), dimension).

    `documents` tells each one's document, where it is known.
    """
    table = find_table(cursor, space_id)
    assert table is not None
    if documents is None:
        found = dict(cursor.execute(_DOCUMENTS, (tenant, list(chunks))).fetchall())
        documents = [found[chunk] for chunk in chunks]
    rows = packed(table, vectors)
    with loading(cursor, table.identifier, _COLUMNS) as load:
        for chunk, document, row in zip(chunks, documents, rows, strict=True):
            load.write_row((tenant, chunk, collection, document, table.written, row))


def similarities(
    cursor: Cursor[Any],
    table: Table,
    model: str,
    tenant: str,
    vector: Vectors,
    chunks: Sequence[int],
) -> dict[int, float]:
    """Compute each of these chunks' similarity; one without a vector there is absent."""
    register(cursor)
    values = {
        "vector": packed_query(table, model, vector),
        "tenant": tenant,
        "chunks": list(chunks),
    }
    rows = cursor.execute(_similarities(table), values, prepare=True).fetchall()
    return {int(chunk): float(score) for chunk, score in rows}


@lru_cache(maxsize=64)
def _similarities(table: Table) -> bytes:
    """Write the statement, once for each table: that takes as long as a short one takes to run."""
    statement = _SIMILARITIES.format(
        similarity=table.similarity(SQL("distance")),
        distance=table.distance(QUERY),
        table=table.identifier,
    )
    return statement.as_bytes(None)


def vectors(
    cursor: Cursor[Any], space: EmbeddingSpace, tenant: str, chunks: Sequence[int]
) -> dict[int, Vectors]:
    """Fetch the vectors of these chunks, each of shape (dimension,), float32."""
    import numpy as np

    table = find_table(cursor, space)
    if table is None:
        return {}
    rows = cursor.execute(_VECTORS.format(table.identifier), (tenant, list(chunks))).fetchall()
    return {int(chunk): np.array(values, np.float32) for chunk, values in rows}
