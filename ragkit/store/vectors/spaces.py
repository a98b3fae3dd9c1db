"""Embedding spaces: the catalogue's row, its layout, and its table of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from psycopg import Connection, Cursor
from psycopg.sql import SQL, Identifier

from ragkit.errors import UsageError
from ragkit.store.connection import citus
from ragkit.store.connection.roles import secure_table
from ragkit.store.vectors.layout import STORED, Layout, Table
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.store.session import Session

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
        n.rows
    FROM embedding_space s JOIN vector_layout l ON l.space_id = s.id
    LEFT JOIN collection c ON c.tenant = %(tenant)s AND c.id = %(collection)s
    LEFT JOIN vector_count n
        ON n.tenant = %(tenant)s AND n.collection_id = c.id AND n.space_id = s.id
    WHERE (s.model, s.revision, s.dimension, s.query_prefix, s.passage_prefix)
        = (%(model)s, %(revision)s, %(dimension)s, %(query_prefix)s, %(passage_prefix)s)
"""
# The first statement of a search: the collection, if it is visible, whether any document in it is
# limited, and the place of its vectors in the space that it is searched in.
_LOOK_UP: Final = """
    SELECT c.id, c.settings, %(readers)s::text[] IS NOT NULL AND EXISTS (
            SELECT FROM document d WHERE d.tenant = %(tenant)s AND d.collection_id = c.id
                AND d.readers IS NOT NULL),
        EXISTS (SELECT FROM calibration k
            WHERE k.tenant = %(tenant)s AND k.collection_id = c.id),
        s.model, s.revision, s.dimension, s.query_prefix, s.passage_prefix,
        s.id, s.dimension, l.type, l.metric, l.index, l.effort, l.indexed, l.written, l.rows,
        n.rows,
        CASE current_setting('hnsw.iterative_scan', true) WHEN 'relaxed_order'
            THEN current_setting('hnsw.ef_search', true)::integer END
    FROM visible_collection c
    LEFT JOIN (embedding_space s JOIN vector_layout l ON l.space_id = s.id) ON s.id = c.space_id
    LEFT JOIN vector_count n
        ON n.tenant = c.tenant AND n.collection_id = c.id AND n.space_id = s.id
    WHERE c.tenant = %(tenant)s AND c.name = %(name)s AND c.versions_of IS NULL
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
    """The table of a collection's vectors in a space, and how many of its rows they are.

    `rows` is the last count, None without one. `ef_search` is the connection's own, where it is set
    up for walking; else None.
    """

    table: Table
    model: str
    rows: int | None
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
class SearchedCollection:
    """A collection that is about to be searched: its number and its settings.

    `limited` tells whether any document is for some readers only, unless an operator searches;
    `calibrated` whether cut-offs were fitted. `space` is the one that it is searched in, with the
    place of its vectors; None for both before the first document.
    """

    id: int
    settings: Mapping[str, Any]
    limited: bool
    calibrated: bool
    space: EmbeddingSpace | None
    place: Place | None


def locate(session: Session, space: EmbeddingSpace, collection: int) -> Place | None:
    """Look up a collection's place in a space; None when the space was never used."""
    row = session.row(_LOCATE, {**asdict(space), "collection": collection})
    return None if row is None else _place(row, space)


def look_up(session: Session, name: str) -> SearchedCollection | None:
    """Look up, in one statement, what a search of a collection needs; None if it is not visible.

    The statement is prepared: planning it takes as long as searching an index.
    """
    row = session.execute(_LOOK_UP, {"name": name}, prepare=True).fetchone()
    if row is None:
        return None
    number, settings, limited, calibrated, *place = row
    if place[0] is None:
        return SearchedCollection(number, settings, limited, calibrated, None, None)
    space = EmbeddingSpace(*place[:5])
    located = _place(tuple(place[5:]), space)
    return SearchedCollection(number, settings, limited, calibrated, space, located)


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
        present = find_space(cursor, space)
        if present is not None:
            return present
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
        citus.distribute_new_table(cursor, table.name)
        return space_id


def set_effort(cursor: Cursor[Any], space_id: int, effort: int | None) -> None:
    """Set how hard a space's index is searched from now on; None leaves it to ragkit."""
    cursor.execute("UPDATE vector_layout SET effort = %s WHERE space_id = %s", (effort, space_id))


def _create(cursor: Cursor[Any], table: Table) -> None:
    cursor.execute(_CREATE_TABLE.format(table=table.identifier, column=table.column))
    for column in ("document", "generation"):
        name = Identifier(f"{table.name}_{column}")
        indexed = Identifier(column if column == "generation" else f"{column}_id")
        cursor.execute(_CREATE_INDEX.format(name, table.identifier, indexed))


def key(space: EmbeddingSpace) -> tuple[str, str, int, str, str]:
    """Write a space as the parameters of its row's key."""
    return (
        space.model,
        space.revision,
        space.dimension,
        space.query_prefix,
        space.passage_prefix,
    )
