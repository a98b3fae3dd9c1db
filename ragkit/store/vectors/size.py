"""How much of the disk a table of vectors takes, and how many rows it and its index have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg.sql import SQL

from ragkit.store.connection.citus import is_distributed
from ragkit.store.connection.rows import first_value

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.store.vectors.layout import Table

# Of a partitioned table or index the parts count.
_TABLE: Final = SQL("""
    SELECT sum(pg_total_relation_size(t))::bigint FROM (SELECT %(name)s::regclass AS t
        UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = %(name)s::regclass) AS tables
""")
_INDEX: Final = SQL("""
    SELECT coalesce(sum(pg_relation_size(i)), 0)::bigint FROM (SELECT to_regclass(%(name)s) AS i
        UNION ALL
        SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass(%(name)s)) AS indexes
""")
_INDEX_ROWS: Final = SQL("""
    SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint FROM pg_class
    WHERE oid IN (SELECT to_regclass(%(name)s)
        UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass(%(name)s))
""")
# The coordinator's catalogue knows nothing of the shards.
_TABLE_ON_NODES: Final = SQL("SELECT citus_total_relation_size(%(name)s)")
_INDEX_ON_NODES: Final = SQL("""
    SELECT coalesce(sum(result::bigint), 0)::bigint FROM run_command_on_shards(%(table)s,
        'SELECT coalesce(sum(pg_relation_size(i.indexrelid)), 0) FROM pg_index i
            JOIN pg_class c ON c.oid = i.indexrelid
            WHERE i.indrelid = ''%%s''::regclass AND c.relname ~ ''_nearest_''')
""")
_ROWS: Final = SQL("SELECT reltuples FROM pg_class WHERE oid = to_regclass(%(name)s)")
_ROWS_ON_NODES: Final = SQL("""
    SELECT coalesce(sum(result::real), 0) FROM run_command_on_shards(%(name)s,
        'SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = ''%%s''::regclass')
""")
_ROWS_UP_TO: Final = SQL("SELECT count(*) FROM {} WHERE generation <= %(generation)s")


def table_bytes(cursor: Cursor[Any], table: Table) -> int:
    """Return a table's bytes on disk, its indexes among them, on all nodes."""
    statement = _TABLE_ON_NODES if is_distributed(cursor.connection) else _TABLE
    return int(first_value(cursor, statement, {"name": table.name}))


def estimated_rows(cursor: Cursor[Any], table: Table) -> int:
    """Return a table's rows of all tenants, as they were when it was last analysed."""
    statement = _ROWS_ON_NODES if is_distributed(cursor.connection) else _ROWS
    return max(0, int(first_value(cursor, statement, {"name": table.name})))


def index_bytes(cursor: Cursor[Any], table: Table, index: str) -> int:
    """Return the bytes on disk of a table's index of nearest vectors, on all nodes."""
    statement = _INDEX_ON_NODES if is_distributed(cursor.connection) else _INDEX
    return int(first_value(cursor, statement, {"name": index, "table": table.name}))


def index_rows(cursor: Cursor[Any], table: Table, index: str, generation: int) -> int:
    """Return how many rows a new index has: those up to a generation."""
    if is_distributed(cursor.connection):
        statement = _ROWS_UP_TO.format(table.identifier)
        return int(first_value(cursor, statement, {"generation": generation}))
    return int(first_value(cursor, _INDEX_ROWS, {"name": index}))
