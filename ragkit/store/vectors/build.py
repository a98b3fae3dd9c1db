"""Indexes of vector tables: built after a load beside readers and writers, or added to a little.

A build takes all that was written so far, and what is written from then on is of a new generation,
outside the index. Rows are merged by being called a generation that is inside. Whatever is broken
off leaves every row either inside or outside, and searched. It knows nothing of searching.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final, Literal

from psycopg import Connection, Cursor
from psycopg.sql import SQL, Composable, Composed, Identifier
from psycopg.sql import Literal as Constant

from ragkit.errors import UsageError
from ragkit.store.connection.rows import first_value
from ragkit.store.server.tuning import build_settings, this_machine
from ragkit.store.vectors.layout import Layout, Table, index_name, lists
from ragkit.store.vectors.progress import BuildProgress, shown
from ragkit.store.vectors.size import index_rows
from ragkit.store.vectors.spaces import find_table
from ragkit.types import EmbeddingSpace

EXACT_ROWS = 10_000  # an exact scan of 10k rows of 384 dimensions takes about 2 ms (decision 3)
RECENT_ROWS = 1_000  # outside the index; comparing them takes about 0.5 ms
# Adding a row to an HNSW index takes 8 times as long as its share of a parallel build.
REBUILD_SHARE: Final = 8
_AGAIN_S: Final = 0.5  # arbitrary: a build takes seconds at least
_TRY_LOCK: Final = SQL("SELECT pg_try_advisory_lock(hashtext(%s))::int")
_AT_ONCE: Final = 100  # rows merged in a transaction: about 0.2 s, in which they cannot be deleted

Outcome = Literal["nothing", "merged", "built"]
Watch = Callable[[], AbstractContextManager[Connection[Any]]]

_TOTAL: Final = SQL("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT %s) AS t")
_ANALYZE: Final = SQL("ANALYZE {} (tenant, collection_id, document_id, generation)")
_RECENT: Final = SQL("""
    SELECT count(*) FROM {} WHERE tenant = %s AND collection_id = %s AND generation > %s
""")
_MERGE: Final = SQL("""
    UPDATE {table} v SET generation = %(indexed)s FROM (
        SELECT tenant, chunk_id FROM {table}
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND generation > %(indexed)s
        ORDER BY chunk_id LIMIT %(most)s FOR UPDATE SKIP LOCKED) AS few
    WHERE v.tenant = few.tenant AND v.chunk_id = few.chunk_id
""")
_NEW_GENERATION: Final = """
    UPDATE vector_layout SET written = written + 1 WHERE space_id = %s RETURNING written - 1
"""
_CREATE: Final = SQL(
    "CREATE INDEX {how} {name} ON {table} USING {kind} ({key}){options}"
    " WHERE generation <= {generation}"
)
_BUILT: Final = """
    UPDATE vector_layout SET type = %s, metric = %s, index = %s, effort = %s, indexed = %s,
        rows = %s
    WHERE space_id = %s
"""
_ADDED: Final = "UPDATE vector_layout SET rows = rows + %s WHERE space_id = %s"
_INDEXES: Final = """
    SELECT c.relname, c.relkind = 'I' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT c.relispartition AND i.indrelid IN (SELECT to_regclass(%s) UNION ALL
        SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass(%s))
"""
_PARTITIONS: Final = """
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass(%s) ORDER BY 1
"""
_ATTACH: Final = SQL("ALTER INDEX {} ATTACH PARTITION {}")
_COUNT: Final = SQL("""
    INSERT INTO vector_count (tenant, collection_id, space_id, rows)
    SELECT c.tenant, c.id, %(space)s, (SELECT count(*) FROM {} v
        WHERE v.tenant = c.tenant AND v.collection_id = c.id)
    FROM collection c WHERE c.tenant = %(tenant)s AND c.id = %(collection)s
    ON CONFLICT (tenant, collection_id, space_id) DO UPDATE SET rows = excluded.rows
""")


def tidy(
    conn: Connection[Any],
    space: EmbeddingSpace,
    tenant: str,
    collection: int,
    *,
    watch: Watch | None = None,
    on_progress: Callable[[BuildProgress], None] | None = None,
) -> Outcome:
    """Do what a collection's writes call for: merge its recent rows, or build the index.

    `conn` is the tables' owner's, in autocommit mode: readers and writers go on meanwhile. `watch`
    opens another such connection, by which progress is seen.
    """
    with conn.cursor() as cursor:
        table = find_table(cursor, space)
        if table is None:
            return "nothing"
        # Without statistics of these a filtered search compares every row with every document.
        cursor.execute(_ANALYZE.format(table.identifier))
        if table.layout.index == "none":
            _count(cursor, table, tenant, collection)
            return "nothing"
        outcome: Outcome = "nothing"
        if not table.indexed:
            if _large(cursor, table):
                build_index(conn, space, watch=watch, on_progress=on_progress, again=False)
                outcome = "built"
        else:
            named = (tenant, collection, table.indexed)
            recent = first_value(cursor, _RECENT.format(table.identifier), named)
            if recent * REBUILD_SHARE > max(table.rows, RECENT_ROWS):
                build_index(conn, space, watch=watch, on_progress=on_progress)
                outcome = "built"
            elif recent >= RECENT_ROWS:
                merge(conn, table, tenant, collection)
                outcome = "merged"
        _count(cursor, table, tenant, collection)
        return outcome


def merge(conn: Connection[Any], table: Table, tenant: str, collection: int) -> int:
    """Add a collection's recent rows to the index, a few in each transaction; return how many.

    What somebody is deleting is left out, so that neither waits for the other.
    """
    values = {"tenant": tenant, "collection": collection, "indexed": table.indexed}
    moved = 0
    with conn.cursor() as cursor:
        while True:
            statement = _MERGE.format(table=table.identifier)
            some = cursor.execute(statement, {**values, "most": _AT_ONCE}).rowcount
            moved += some
            if some < _AT_ONCE:
                cursor.execute(_ADDED, (moved, table.space_id))
                return moved


def build_index(
    conn: Connection[Any],
    space: EmbeddingSpace,
    *,
    layout: Layout | None = None,
    watch: Watch | None = None,
    on_progress: Callable[[BuildProgress], None] | None = None,
    again: bool = True,
) -> bool:
    """Build a space's index over all its rows, the one before serving meanwhile; tell if it was.

    `layout` takes the place of the space's own from then on; its type can change only between
    halfvec and bit, which are stored alike. With `again` false, one that is there, or that another
    process is building, is left alone.
    Connections as for `tidy`. Raises UsageError.
    """
    with conn.cursor() as cursor, _turn(conn, cursor, space, wait=again) as ours:
        table = find_table(cursor, space) if ours else None
        if table is None or (table.indexed and not again):
            return False
        return _build(conn, cursor, table, layout or table.layout, watch, on_progress)


@contextmanager
def _turn(
    conn: Connection[Any], cursor: Cursor[Any], space: EmbeddingSpace, *, wait: bool
) -> Iterator[bool]:
    """Let one at a time build a space's index; tell whether it is our turn.

    A build waits for every statement that began before it, so whoever waits must not do so in one.
    """
    name = (f"ragkit index {space.model} {space.dimension}",)
    while not (ours := first_value(cursor, _TRY_LOCK, name)) and wait:
        time.sleep(_AGAIN_S)
    try:
        yield bool(ours)
    finally:
        if ours and not conn.closed:
            cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", name)


def _build(
    conn: Connection[Any],
    cursor: Cursor[Any],
    table: Table,
    layout: Layout,
    watch: Watch | None,
    on_progress: Callable[[BuildProgress], None] | None,
) -> bool:
    planned = Table(table.space_id, table.dimension, layout)
    if planned.stored != table.stored:
        raise UsageError(
            f"vectors stored as {table.stored} cannot become {layout.type}: that is chosen when"
            " a model's first passages are stored. Set RAGKIT_VECTOR_TYPE for a new database."
        )
    _drop_indexes(cursor, table, but=table.indexed)  # what an interrupted build left behind
    generation = 0
    if layout.index != "none":
        generation = first_value(cursor, SQL(_NEW_GENERATION), (table.space_id,))
        rows = first_value(cursor, _TOTAL.format(table.identifier), (10**9,))
        with ExitStack() as stack:
            stack.enter_context(_settings(conn, planned, rows))
            stack.enter_context(shown(conn, watch, on_progress))
            _create(cursor, planned, generation, rows)
    kept = (layout.type, layout.metric, layout.index, layout.effort)
    rows = index_rows(cursor, table, index_name(table.space_id, generation), generation)
    cursor.execute(_BUILT, (*kept, generation, rows, table.space_id))
    _drop_indexes(cursor, table, but=generation)
    return bool(generation)


def _create(cursor: Cursor[Any], table: Table, generation: int, rows: int) -> None:
    """Create an index; of a partitioned table each partition's, beside readers and writers too."""
    name = index_name(table.space_id, generation)
    parts = [str(part) for (part,) in cursor.execute(_PARTITIONS, (table.name,)).fetchall()]
    if not parts:
        at_once = SQL("CONCURRENTLY"), Identifier(name), table.identifier
        cursor.execute(_statement(table, at_once, generation, rows))
        return
    whole = SQL(""), Identifier(name), SQL("ONLY {}").format(table.identifier)
    cursor.execute(
        _statement(table, whole, generation, rows)
    )  # not valid, nor used, before all are
    for part in parts:
        own = Identifier(f"{part}_nearest_{generation}")
        at_once = SQL("CONCURRENTLY"), own, Identifier(part)
        share = first_value(cursor, _TOTAL.format(Identifier(part)), (10**9,))
        cursor.execute(_statement(table, at_once, generation, share))
        cursor.execute(_ATTACH.format(Identifier(name), own))


def _statement(
    table: Table, of: tuple[Composable, Composable, Composable], generation: int, rows: int
) -> Composed:
    """Write what creates an index; `of` is how, its name, and on which table."""
    options: Composable = SQL("")
    if table.layout.kind == "ivfflat":
        options = SQL(" WITH (lists = {})").format(Constant(lists(rows)))
    how, name, on = of
    return _CREATE.format(
        how=how,
        name=name,
        table=on,
        kind=SQL(table.layout.kind),
        key=table.index_key,
        options=options,
        generation=Constant(generation),
    )


def _drop_indexes(cursor: Cursor[Any], table: Table, *, but: int) -> None:
    names = cursor.execute(_INDEXES, (table.name, table.name)).fetchall()
    for name, partitioned in names:
        found = re.fullmatch(rf"{table.name}(?:_p\d+)?_nearest_(\d+)", name)
        if found and int(found[1]) != but:
            # One of a partitioned table goes with its parts, in a moment in which nobody searches.
            how = SQL("" if partitioned else "CONCURRENTLY")
            cursor.execute(SQL("DROP INDEX {} IF EXISTS {}").format(how, Identifier(name)))


@contextmanager
def _settings(conn: Connection[Any], table: Table, rows: int) -> Iterator[None]:
    """Give a build this machine's memory and cores, where the server is on it."""
    host = conn.info.host
    local = host.startswith("/") or host in {"localhost", "127.0.0.1", "::1"}
    width = {"vector": 4.0, "halfvec": 2.0, "bit": 1 / 8}[table.form] * table.dimension
    # A graph's row is its vector, 8 bytes before it, 32 neighbours of 16 bytes, those of the upper
    # layers, and 128 bytes of its own: 674 besides the vector, by pgvector's src/hnsw.h (0.8).
    machine = this_machine()
    with conn.cursor() as cursor:
        if cursor.execute("SHOW dynamic_shared_memory_type").fetchone() != ("posix",):
            machine = replace(machine, shm_bytes=None)  # /dev/shm is not used
        chosen = build_settings(machine, int(rows * (width + 700))) if local else {}
        for name, value in chosen.items():
            cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
        try:
            yield
        finally:
            if not conn.closed:
                for name in chosen:
                    cursor.execute(SQL("RESET {}").format(Identifier(name)))


def _large(cursor: Cursor[Any], table: Table) -> bool:
    least = EXACT_ROWS if table.layout.index == "auto" else 0
    return int(first_value(cursor, _TOTAL.format(table.identifier), (least + 1,))) > least


def _count(cursor: Cursor[Any], table: Table, tenant: str, collection: int) -> None:
    values = {"tenant": tenant, "collection": collection, "space": table.space_id}
    cursor.execute(_COUNT.format(table.identifier), values)
