"""Embedding spaces: the catalogue's row, its layout, and its table of vectors.

Knows nothing of what is stored in a table, nor of how it is searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from psycopg import Connection, Cursor
from psycopg.sql import SQL, Identifier

from ragkit.errors import UsageError
from ragkit.store.tenancy import secure_table
from ragkit.store.vectors.layout import STORED, Layout, Table
from ragkit.types import EmbeddingSpace

_FIND_SPACE: Final = """
    SELECT id FROM embedding_space
    WHERE (model, revision, dimension, query_prefix, passage_prefix) = (%s, %s, %s, %s, %s)
"""
_TABLE: Final = """
    SELECT s.id, s.dimension, l.type, l.metric, l.index, l.effort, l.indexed, l.written, l.rows
    FROM embedding_space s JOIN vector_layout l ON l.space_id = s.id
"""
_BY_ID: Final = _TABLE + " WHERE s.id = %s"
_BY_SPACE: Final = (
    _TABLE
    + """ WHERE (s.model, s.revision, s.dimension, s.query_prefix,
    s.passage_prefix) = (%s, %s, %s, %s, %s)"""
)
_LOCATE_BY: Final = """
    SELECT s.id, s.dimension, l.type, l.metric, l.index, l.effort, l.indexed, l.written, l.rows,
        n.rows, c.space_id IS NOT DISTINCT FROM s.id
    FROM embedding_space s JOIN vector_layout l ON l.space_id = s.id
    LEFT JOIN collection c ON c.tenant = %(tenant)s
        AND {}
    LEFT JOIN vector_count n
        ON n.tenant = %(tenant)s AND n.collection_id = c.id AND n.space_id = s.id
    WHERE (s.model, s.revision, s.dimension, s.query_prefix, s.passage_prefix)
        = (%(model)s, %(revision)s, %(dimension)s, %(query_prefix)s, %(passage_prefix)s)
"""
_LOCATE: Final[Mapping[type, str]] = {
    int: _LOCATE_BY.format("c.id = %(collection)s"),
    str: _LOCATE_BY.format("c.name = %(collection)s"),
}
_ADD_SPACE: Final = """
    INSERT INTO embedding_space (model, revision, dimension, query_prefix, passage_prefix)
    VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
_ADD_LAYOUT: Final = """
    INSERT INTO vector_layout (space_id, type, metric, index, effort) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT DO NOTHING
"""
_CREATE_TABLE: Final = SQL("""
    CREATE TABLE IF NOT EXISTS {table} (
        tenant        text     NOT NULL,
        chunk_id      bigint   NOT NULL,
        collection_id bigint   NOT NULL,
        document_id   bigint   NOT NULL,
        generation    integer  NOT NULL DEFAULT 1,
        embedding     {column} NOT NULL,
        PRIMARY KEY (tenant, chunk_id),
        FOREIGN KEY (tenant, chunk_id) REFERENCES chunk ON DELETE CASCADE
    )
""")
_CREATE_INDEX: Final = SQL("CREATE INDEX IF NOT EXISTS {} ON {} (tenant, collection_id, {})")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a collection's vectors of a space are: the table, and how many of its rows they are.

    `rows` is what was last counted, None where nothing was; `active` tells whether the collection
    is searched in that space.
    """

    table: Table
    model: str
    rows: int | None
    active: bool


def find_space(cursor: Cursor[Any], space: EmbeddingSpace) -> int | None:
    """Return the space's number, or None when nothing was ever stored in it."""
    row = cursor.execute(_FIND_SPACE, key(space)).fetchone()
    return None if row is None else int(row[0])


def find_table(cursor: Cursor[Any], space: EmbeddingSpace | int) -> Table | None:
    """Return a space's table, looked up by the space or its number; None when there is none."""
    if isinstance(space, int):
        row = cursor.execute(_BY_ID, (space,)).fetchone()
    else:
        row = cursor.execute(_BY_SPACE, key(space)).fetchone()
    return None if row is None else _table(row)


def locate(
    cursor: Cursor[Any], space: EmbeddingSpace, tenant: str, collection: int | str
) -> Place | None:
    """Look up, in one statement, what a search of a collection goes by, by its number or name.

    None when the space was never used.
    """
    ask(cursor, space, tenant, collection)
    return located(cursor, space)


def ask(cursor: Cursor[Any], space: EmbeddingSpace, tenant: str, collection: int | str) -> None:
    """Send what `located` reads the answer to, for a pipeline."""
    values = {**asdict(space), "tenant": tenant, "collection": collection}
    cursor.execute(_LOCATE[type(collection)], values)


def located(cursor: Cursor[Any], space: EmbeddingSpace) -> Place | None:
    row = cursor.fetchone()
    return None if row is None else Place(_table(row[:9]), space.model, row[9], row[10])


def _table(row: tuple[Any, ...]) -> Table:
    """Make a table of a row of the statements above."""
    space_id, dimension, kind, metric, index, effort, indexed, written, rows = row
    layout = Layout(kind, metric, index, effort)
    return Table(space_id, dimension, layout, indexed, written, rows)


def ensure_space(conn: Connection[Any], space: EmbeddingSpace, layout: Layout | None = None) -> int:
    """Return the space's number; make its row and table first, of that layout, when missing.

    Raises UsageError for a dimension that pgvector cannot store.
    """
    with conn.transaction(), conn.cursor() as cursor:
        known = find_space(cursor, space)
        if known is not None:
            return known
        if space.dimension > STORED:
            raise UsageError(
                f"{space.model} makes vectors of {space.dimension:,} dimensions, and pgvector"
                f" stores at most {STORED:,}: set RAGKIT_EMBED_DIMENSION if the model allows fewer."
            )
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('ragkit embedding space'))")
        cursor.execute(_ADD_SPACE, key(space))
        space_id = find_space(cursor, space)
        assert space_id is not None
        chosen = layout or Layout()
        values = (space_id, chosen.type, chosen.metric, chosen.index, chosen.effort)
        cursor.execute(_ADD_LAYOUT, values)
        table = Table(space_id, space.dimension, chosen)
        _create(cursor, table)
        secure_table(cursor, table.name)
        return space_id


def set_effort(cursor: Cursor[Any], space_id: int, effort: int | None) -> None:
    """Keep how hard a space's index is searched from now on; None leaves it to ragkit."""
    cursor.execute("UPDATE vector_layout SET effort = %s WHERE space_id = %s", (effort, space_id))


def _create(cursor: Cursor[Any], table: Table) -> None:
    cursor.execute(_CREATE_TABLE.format(table=table.identifier, column=table.column))
    for column in ("document", "generation"):
        name = Identifier(f"{table.name}_{column}")
        of = Identifier(column if column == "generation" else f"{column}_id")
        cursor.execute(_CREATE_INDEX.format(name, table.identifier, of))


def key(space: EmbeddingSpace) -> tuple[str, str, int, str, str]:
    return (
        space.model,
        space.revision,
        space.dimension,
        space.query_prefix,
        space.passage_prefix,
    )
