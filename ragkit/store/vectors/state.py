"""What a space's table and index are now, for people to look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from psycopg import Connection
from psycopg.sql import SQL

from ragkit.store.vectors.layout import Index, Layout, Metric, Table, Type, index_name
from ragkit.store.vectors.size import index_bytes, table_bytes
from ragkit.store.vectors.spaces import find_table
from ragkit.types import EmbeddingSpace

_COUNT: Final = SQL("""
    SELECT count(*), count(*) FILTER (WHERE generation > %(indexed)s) FROM {}
""")


@dataclass(frozen=True, slots=True)
class State:
    """A table, its vectors of all collections, those of them outside the index, and bytes on disk.

    `table_bytes` is everything, the index among it.
    """

    table: Table
    vectors: int
    recent: int
    table_bytes: int
    index_bytes: int


def state(conn: Connection[Any], space: EmbeddingSpace) -> State:
    """Look at a space that is there; `conn` is the tables' owner's."""
    with conn.cursor() as cursor:
        table = find_table(cursor, space)
        assert table is not None, "something is stored in it"
        counted = cursor.execute(_COUNT.format(table.identifier), {"indexed": table.indexed})
        row = counted.fetchone()
        assert row is not None
        index = index_name(table.space_id, table.indexed)
        vectors, recent = row
        sizes = table_bytes(cursor, table), index_bytes(cursor, table, index)
        return State(table, vectors, recent, *sizes)


def relaid(
    layout: Layout, *, kind: Index | None, metric: Metric | None, over: Type | None
) -> Layout:
    """Change a layout; another kind or type of index loses how hard the old one was searched."""
    changed = replace(
        layout,
        type=over or layout.type,
        metric=metric or layout.metric,
        index=kind or layout.index,
    )
    same = (changed.type, changed.kind) == (layout.type, layout.kind)
    return changed if same else replace(changed, effort=None)
