"""Embedding spaces: the catalogue's row, its layout, and its table of vectors.

Knows nothing of what is stored in a table, nor of how it is searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection, Cursor
from psycopg.sql import SQL, Identifier

from ragkit.errors import UsageError
from ragkit.store.tenancy import secure_table
from ragkit.store.vectors.layout import STORED, Layout, Table
from ragkit.store.where import Readers
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
_LOCATE: Final = """
    SELECT s.id, s.dimension, l.type, l.metric, l.index, l.effort, l.indexed, l.written, l.rows,
        n.rows, c.space_id IS NOT DISTINCT FROM s.id
    FROM embedding_space s JOIN vector_layout l ON l.space_id = s.id
    LEFT JOIN collection c ON c.tenant = %(tenant)s AND c.id = %(collection)s
    LEFT JOIN vector_count n
        ON n.tenant = %(tenant)s AND n.collection_id = c.id AND n.space_id = s.id
    WHERE (s.model, s.revision, s.dimension, s.query_prefix, s.passage_prefix)
        = (%(model)s, %(revision)s, %(dimension)s, %(query_prefix)s, %(passage_prefix)s)
"""
# All that a search begins with: the collection, if who asks may know of it, whether anything in it
# is hidden from somebody, and its place.
_LOOK_UP: Final = """
    SELECT c.id, c.settings, %(readers)s::text[] IS NOT NULL AND EXISTS (
            SELECT FROM document d WHERE d.tenant = c.tenant AND d.collection_id = c.id
                AND d.readers IS NOT NULL),
        s.id, s.dimension, l.type, l.metric, l.index, l.effort, l.indexed, l.written, l.rows,
        n.rows, c.space_id IS NOT DISTINCT FROM s.id,
        CASE current_setting('hnsw.iterative_scan', true) WHEN 'relaxed_order'
            THEN current_setting('hnsw.ef_search', true)::integer END
    FROM collection c
    LEFT JOIN (embedding_space s JOIN vector_layout l ON l.space_id = s.id)
        ON (s.model, s.revision, s.dimension, s.query_prefix, s.passage_prefix)
            = (%(model)s, %(revision)s, %(dimension)s, %(query_prefix)s, %(passage_prefix)s)
    LEFT JOIN vector_count n
        ON n.tenant = c.tenant AND n.collection_id = c.id AND n.space_id = s.id
    WHERE c.tenant = %(tenant)s AND c.name = %(name)s AND c.versions_of IS NULL
        AND may_read(c.owner, c.readers, %(readers)s::text[])
"""
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
    is searched in that space. `ef_search` is the connection's own, where it walks on until enough
    was found; None where that is not known.
    """

    table: Table
    model: str
    rows: int | None
    active: bool
    ef_search: int | None = None

    @property
    def analysed(self) -> bool:
        """Tell whether the planner has statistics: they are made when rows are counted."""
        return self.rows is not None


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


@dataclass(frozen=True, slots=True)
class Known:
    """A collection as a search meets it: its number and what it keeps of settings.

    `limited` tells whether anything in it is for some readers only, where readers ask. `place` is
    None when the space was never used.
    """

    id: int
    settings: Mapping[str, Any]
    limited: bool
    place: Place | None


def locate(
    cursor: Cursor[Any], space: EmbeddingSpace, tenant: str, collection: int
) -> Place | None:
    """Look up a collection's place in a space; None when the space was never used."""
    values = {**_named(space), "tenant": tenant, "collection": collection}
    row = cursor.execute(_LOCATE, values).fetchone()
    return None if row is None else _place(row, space)


def look_up(
    cursor: Cursor[Any], space: EmbeddingSpace, tenant: str, name: str, readers: Readers
) -> Known | None:
    """Look up, in one statement, what a search of a collection goes by; None if it is not there.

    One that the readers may not read is not there. The statement is prepared: planning it takes as
    long as searching an index.
    """
    asking = None if readers is None else list(readers)
    values = {**_named(space), "tenant": tenant, "name": name, "readers": asking}
    row = cursor.execute(_LOOK_UP, values, prepare=True).fetchone()
    if row is None:
        return None
    place = None if row[3] is None else _place(row[3:], space)
    return Known(row[0], row[1], row[2], place)


def _place(row: tuple[Any, ...], space: EmbeddingSpace) -> Place:
    return Place(_table(row[:9]), space.model, *row[9:])


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


def _named(space: EmbeddingSpace) -> dict[str, Any]:
    return {
        "model": space.model,
        "revision": space.revision,
        "dimension": space.dimension,
        "query_prefix": space.query_prefix,
        "passage_prefix": space.passage_prefix,
    }


def key(space: EmbeddingSpace) -> tuple[str, str, int, str, str]:
    return (
        space.model,
        space.revision,
        space.dimension,
        space.query_prefix,
        space.passage_prefix,
    )
