"""Embedding spaces and their vector tables: one table per space, halfvec, cosine.

Small collections are scanned exactly; above that an HNSW index, built after the load, is walked
iteratively. Knows nothing of texts or of how a vector came to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, LiteralString

from psycopg import Connection, Cursor, sql

from ragkit.errors import UsageError
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

EXACT_ROWS = 10_000  # an exact scan of 10k rows of 384 dimensions takes about 2 ms (decision 3)
HALFVEC_INDEX_DIMENSIONS = 4_000  # pgvector's limit for an HNSW index over halfvec
EF_SEARCH = 100  # recall@10 0.99 at 100k rows needs 40; the rest is room for k and for filters

_FIND_SPACE = """
    SELECT id FROM embedding_space
    WHERE (model, revision, dimension, query_prefix, passage_prefix) = (%s, %s, %s, %s, %s)
"""
_ADD_SPACE = """
    INSERT INTO embedding_space (model, revision, dimension, query_prefix, passage_prefix)
    VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
_CREATE_TABLE = """
    CREATE TABLE IF NOT EXISTS {table} (
        tenant        text         NOT NULL,
        chunk_id      bigint       NOT NULL,
        collection_id bigint       NOT NULL,
        embedding     halfvec({n}) NOT NULL,
        PRIMARY KEY (tenant, chunk_id),
        FOREIGN KEY (tenant, chunk_id) REFERENCES chunk ON DELETE CASCADE
    )
"""
_CREATE_COLLECTION_INDEX = """
    CREATE INDEX IF NOT EXISTS {index} ON {table} (tenant, collection_id)
"""
# OFFSET 0 keeps the planner from walking the HNSW index: every row of the collection is compared.
_EXACT = """
    SELECT chunk_id, 1 - distance FROM (
        SELECT chunk_id, embedding <=> %(vector)s::halfvec AS distance FROM {table}
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s OFFSET 0
    ) AS v ORDER BY distance, chunk_id LIMIT %(k)s
"""
_APPROXIMATE = """
    SELECT chunk_id, 1 - (embedding <=> %(vector)s::halfvec) FROM {table}
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
    ORDER BY embedding <=> %(vector)s::halfvec LIMIT %(k)s
"""
_SIMILARITIES = """
    SELECT chunk_id, 1 - (embedding <=> %(vector)s::halfvec) FROM {table}
    WHERE tenant = %(tenant)s AND chunk_id = ANY(%(chunks)s)
"""
_VECTORS = """
    SELECT chunk_id, embedding::vector::real[] FROM {table}
    WHERE tenant = %s AND chunk_id = ANY(%s)
"""
_COUNT = "SELECT count(*) FROM {table} WHERE tenant = %s AND collection_id = %s"
_INDEX_STATE = """
    SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relname = %s AND pg_table_is_visible(c.oid)
"""


def table_name(space_id: int) -> str:
    return f"vectors_{space_id}"


def index_name(space_id: int) -> str:
    return f"vectors_{space_id}_hnsw"


def find_space(cursor: Cursor[Any], space: EmbeddingSpace) -> int | None:
    """Return the space's number, or None when nothing was ever stored in it."""
    row = cursor.execute(_FIND_SPACE, _key(space)).fetchone()
    return None if row is None else int(row[0])


def ensure_space(conn: Connection[Any], space: EmbeddingSpace) -> int:
    """Return the space's number; make its row and table first when they are missing."""
    with conn.transaction(), conn.cursor() as cursor:
        known = find_space(cursor, space)
        if known is not None:
            return known
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('ragkit embedding space'))")
        cursor.execute(_ADD_SPACE, _key(space))
        space_id = find_space(cursor, space)
        assert space_id is not None
        cursor.execute(_statement(_CREATE_TABLE, space_id, n=sql.Literal(space.dimension)))
        cursor.execute(_statement(_CREATE_COLLECTION_INDEX, space_id))
        return space_id


def copy_vectors(
    cursor: Cursor[Any],
    space_id: int,
    tenant: str,
    collection: int,
    chunks: Sequence[int],
    vectors: Vectors,
) -> None:
    """Add one vector per chunk by binary COPY; `vectors` has shape (len(chunks), dimension)."""
    halves = vectors.astype(">f2")  # halfvec travels as big-endian: dimension, 0, float16 values
    head = halves.shape[1].to_bytes(2, "big") + b"\0\0"
    statement = _statement(
        "COPY {table} (tenant, chunk_id, collection_id, embedding) FROM STDIN (FORMAT BINARY)",
        space_id,
    )
    with cursor.copy(statement) as copy:
        copy.set_types(["text", "int8", "int8", "bytea"])
        for chunk, half in zip(chunks, halves, strict=True):
            copy.write_row((tenant, chunk, collection, head + half.tobytes()))


def nearest(
    cursor: Cursor[Any],
    space: EmbeddingSpace,
    tenant: str,
    collection: int,
    vector: Vectors,
    k: int,
) -> list[tuple[int, float]]:
    """Find the k chunks of highest cosine, best first; see `Reader.nearest`."""
    literal = _literal(space, vector)
    space_id = find_space(cursor, space)
    if space_id is None:
        return []
    values = {"vector": literal, "tenant": tenant, "collection": collection, "k": k}
    if not walks_index(cursor, space_id, tenant, collection):
        return _search(cursor, _EXACT, space_id, values)
    prepare_walk(cursor, k)
    found = _search(cursor, _APPROXIMATE, space_id, values)
    # An iterative scan gives up after hnsw.max_scan_tuples; k rows are promised when k exist.
    return found if len(found) == k else _search(cursor, _EXACT, space_id, values)


def similarities(
    cursor: Cursor[Any], space: EmbeddingSpace, tenant: str, vector: Vectors, chunks: Sequence[int]
) -> dict[int, float]:
    """Compute the cosine of each of these chunks; one without a vector there is absent."""
    literal = _literal(space, vector)
    space_id = find_space(cursor, space)
    if space_id is None:
        return {}
    values = {"vector": literal, "tenant": tenant, "chunks": list(chunks)}
    return dict(_search(cursor, _SIMILARITIES, space_id, values))


def vectors(
    cursor: Cursor[Any], space: EmbeddingSpace, tenant: str, chunks: Sequence[int]
) -> dict[int, Vectors]:
    """Fetch the vectors of these chunks, each of shape (dimension,), float32."""
    import numpy as np

    space_id = find_space(cursor, space)
    if space_id is None:
        return {}
    rows = cursor.execute(_statement(_VECTORS, space_id), (tenant, list(chunks))).fetchall()
    return {int(chunk): np.array(values, np.float32) for chunk, values in rows}


def count(cursor: Cursor[Any], space_id: int, tenant: str, collection: int) -> int:
    """Count a collection's vectors in a space."""
    row = cursor.execute(_statement(_COUNT, space_id), (tenant, collection)).fetchone()
    assert row is not None
    return int(row[0])


def build_index(conn: Connection[Any], space: EmbeddingSpace) -> bool:
    """Build the space's HNSW index if it has rows enough and none yet; tell whether it was built.

    Needs a connection in autocommit mode: readers and writers go on while it builds.
    """
    with conn.cursor() as cursor:
        space_id = find_space(cursor, space)
        if space_id is None or space.dimension > HALFVEC_INDEX_DIMENSIONS:
            return False
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", (index_name(space_id),))
        try:
            return _build_index(cursor, space_id)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", (index_name(space_id),))


def has_index(cursor: Cursor[Any], space_id: int) -> bool:
    """Tell whether the space has a complete HNSW index."""
    return cursor.execute(_INDEX_STATE, (index_name(space_id),)).fetchone() == (True,)


def walks_index(cursor: Cursor[Any], space_id: int, tenant: str, collection: int) -> bool:
    """Decide whether walking the HNSW index is cheaper than comparing the whole collection.

    With a share s of N rows matching, an exact scan wins below s = sqrt(93 / N), measured at
    10k to 100k rows of 384 dimensions.
    """
    if not has_index(cursor, space_id):
        return False
    row = cursor.execute(
        "SELECT greatest(reltuples, 0) FROM pg_class"
        " WHERE relname = %s AND pg_table_is_visible(oid)",
        (table_name(space_id),),
    ).fetchone()
    assert row is not None
    limit = max(EXACT_ROWS, int(sqrt(93 * float(row[0]))))
    matching = cursor.execute(
        _statement(
            "SELECT count(*) FROM (SELECT 1 FROM {table}"
            " WHERE tenant = %s AND collection_id = %s LIMIT %s) AS t",
            space_id,
        ),
        (tenant, collection, limit + 1),
    ).fetchone()
    assert matching is not None
    return bool(matching[0] > limit)


def prepare_walk(cursor: Cursor[Any], k: int) -> None:
    """Set the transaction up for walking the HNSW index.

    The planner underrates the index beside a filter; without sorting there is no other plan.
    """
    cursor.execute(
        "SELECT set_config('hnsw.iterative_scan', 'strict_order', true),"
        " set_config('hnsw.ef_search', %s, true), set_config('enable_sort', 'off', true)",
        (str(min(1000, max(EF_SEARCH, 2 * k))),),
    )


def approximate(space_id: int) -> sql.Composed:
    """Return the statement that walks the HNSW index, for looking at its plan."""
    return _statement(_APPROXIMATE, space_id)


def _build_index(cursor: Cursor[Any], space_id: int) -> bool:
    if has_index(cursor, space_id):
        return False
    row = cursor.execute(
        _statement("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT %s) AS t", space_id),
        (EXACT_ROWS + 1,),
    ).fetchone()
    assert row is not None
    if row[0] <= EXACT_ROWS:
        return False
    # An interrupted concurrent build leaves an invalid index behind.
    cursor.execute(_statement("DROP INDEX IF EXISTS {hnsw}", space_id))
    cursor.execute(
        _statement(
            "CREATE INDEX CONCURRENTLY {hnsw} ON {table} USING hnsw (embedding halfvec_cosine_ops)",
            space_id,
        )
    )
    return True


def _search(
    cursor: Cursor[Any], query: LiteralString, space_id: int, values: Mapping[str, object]
) -> list[tuple[int, float]]:
    rows = cursor.execute(_statement(query, space_id), values).fetchall()
    return [(int(chunk), float(score)) for chunk, score in rows]


def _literal(space: EmbeddingSpace, vector: Vectors) -> str:
    """Write a query vector as pgvector reads it; refuse one of another dimension."""
    if vector.shape != (space.dimension,):
        raise UsageError(
            f"The query vector has shape {vector.shape}, but {space.model} has "
            f"{space.dimension} dimensions: embed the query with the collection's model."
        )
    return "[" + ",".join(map(str, vector.tolist())) + "]"


def _statement(query: LiteralString, space_id: int, **extra: sql.Composable) -> sql.Composed:
    return sql.SQL(query).format(
        table=sql.Identifier(table_name(space_id)),
        index=sql.Identifier(f"{table_name(space_id)}_collection"),
        hnsw=sql.Identifier(index_name(space_id)),
        **extra,
    )


def _key(space: EmbeddingSpace) -> tuple[str, str, int, str, str]:
    return (
        space.model,
        space.revision,
        space.dimension,
        space.query_prefix,
        space.passage_prefix,
    )
