"""Tables on a Citus cluster: distributed by tenant, so that a tenant's rows lie on one node.

A statement of one tenant then runs on one node, as it would on one server. Keys and log-ins stay on
the coordinator: their hashes are looked up before the tenant is known. The catalogue of embedding
spaces is copied to every node. All of it needs the tables' owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from psycopg import sql

from ragkit.errors import DatabaseError, NotFoundError
from ragkit.store.connection.migrate import LOCK
from ragkit.store.connection.rows import first_value

if TYPE_CHECKING:
    from psycopg import Connection, Cursor, Error

FIRST: Final = "collection"  # the table that the others are placed beside
LOCAL: Final = ("access_key", "login")
COPIED: Final = ("embedding_space", "vector_layout")
# Functions that statements call: the nodes need them.
FUNCTIONS: Final = (
    "may_read(text,text[],text[])",
    "ragkit_alive(integer)",
    "ragkit_next_moment(timestamptz)",
    "ragkit_readers()",
)

# Each transaction's tenant and readers have to reach the nodes, by which policies show rows.
_SEND_SETTINGS: Final = "ALTER DATABASE {} SET citus.propagate_set_commands = 'local'"
_RELEASE_OWNER: Final = "ALTER TABLE {} NO FORCE ROW LEVEL SECURITY"
_DISTRIBUTE: Final = "SELECT create_distributed_table(%s, 'tenant', colocate_with => %s)"
_HAS_CITUS: Final = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
_PLACED: Final = "SELECT logicalrelid::text FROM pg_dist_partition"
_TABLES: Final = """
    SELECT t::text FROM ragkit_tenant_tables() t WHERE t::text <> ALL(%s)
    ORDER BY t <> 'collection'::regclass, t::text
"""
_PARTITIONED: Final = """
    SELECT min(t::text) FROM ragkit_tenant_tables() t JOIN pg_class c ON c.oid = t
    WHERE c.relkind = 'p' OR c.relispartition
"""
_FOREIGN_KEYS: Final = """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype = 'f' AND conrelid::regclass::text = ANY(%s) ORDER BY 1, 2
"""
_WORKERS: Final = (
    "SELECT count(*) FROM pg_dist_node WHERE noderole = 'primary' AND shouldhaveshards"
)

# A node that does not answer has no size.
_NODES: Final = """
    SELECT n.nodename, n.nodeport, n.groupid = 0, r.success IS TRUE,
        CASE WHEN r.success THEN r.result::bigint END,
        (SELECT count(*) FROM pg_dist_placement p JOIN pg_dist_shard s ON s.shardid = p.shardid
            WHERE p.groupid = n.groupid AND s.logicalrelid = 'collection'::regclass)
    FROM pg_dist_node n LEFT JOIN run_command_on_all_nodes(
        'SELECT pg_database_size(current_database())', true, true) r ON r.nodeid = n.nodeid
    WHERE n.noderole = 'primary' ORDER BY n.groupid
"""
_HAS_TENANT: Final = "SELECT FROM collection WHERE tenant = %s LIMIT 1"
_HAS_NODE: Final = """
    SELECT FROM pg_dist_node
    WHERE (nodename, nodeport) = (%s, %s) AND noderole = 'primary' AND shouldhaveshards
"""
_PLACE: Final = """
    SELECT s.shardid, n.nodename, n.nodeport FROM pg_dist_shard s
    JOIN pg_dist_placement p ON p.shardid = s.shardid
    JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
    WHERE s.shardid = get_shard_id_for_distribution_column('collection', %s::text)
"""
_OTHERS: Final = "SELECT DISTINCT tenant FROM collection WHERE tenant <> %s"
_IS_SHARED: Final = """
    SELECT coalesce(bool_or(get_shard_id_for_distribution_column('collection', other) = %s), false)
    FROM unnest(%s::text[]) AS other
"""
_ISOLATE: Final = "SELECT isolate_tenant_to_new_shard('collection', %s::text, 'CASCADE', %s)"
_MOVE: Final = "SELECT citus_move_shard_placement(%s, %s, %s, %s, %s, %s)"


@dataclass(frozen=True, slots=True)
class Node:
    """A server of a cluster: whether it answers, its database's size, and its share of the shards.

    `shards` counts those of one table. `size_bytes` is None where it does not answer.
    """

    host: str
    port: int
    is_coordinator: bool
    answers: bool
    size_bytes: int | None
    shards: int

    def __str__(self) -> str:
        """Describe the node in a line."""
        if not self.answers or self.size_bytes is None:
            return "does not answer: see its log, and that it is started"
        return f"{self.size_bytes / 1e6:.1f} MB, {self.shards} shards"


def is_distributed(conn: Connection[Any]) -> bool:
    """Tell whether the tables are distributed over a cluster."""
    with conn.cursor() as cursor:
        return bool(first_value(cursor, _HAS_CITUS)) and FIRST in _placed(cursor)


def distribute(conn: Connection[Any]) -> list[str]:
    """Distribute the tables that are not, all or none; say what was done.

    Each gets as many shards as `citus.shard_count` says, by default 32. Raises DatabaseError.
    """
    with _changing(conn) as cursor:
        if not first_value(cursor, _HAS_CITUS):
            raise DatabaseError(
                "The database has no Citus: have an administrator add it on every node, then CREATE"
                " EXTENSION citus and SELECT citus_add_node(...), as docs/howto/grow.md says."
            )
        if (table := first_value(cursor, _PARTITIONED)) is not None:
            raise DatabaseError(
                f"The table {table} is partitioned, and ragkit distributes whole ones: restore a"
                " backup from before it was partitioned."
            )
        placed = _placed(cursor)
        names = _tenant_tables(cursor)
        new = [name for name in names if name not in placed]
        copied = [name for name in COPIED if name not in placed]
        # The owner says that it means all tenants by a setting of its session, which does not reach
        # the nodes: no policy binds it there, as is the case before a table is enforced.
        for name in [*names, *LOCAL]:
            cursor.execute(sql.SQL(_RELEASE_OWNER).format(sql.Identifier(name)))
        with _without_keys(cursor, [*new, *copied]):
            for name in copied:
                cursor.execute("SELECT create_reference_table(%s)", (name,))
            for name in new:
                _distribute_table(cursor, name)
        for function in FUNCTIONS:
            cursor.execute("SELECT create_distributed_function(%s)", (function,))
        database = sql.Identifier(first_value(cursor, "SELECT current_database()"))
        cursor.execute(sql.SQL(_SEND_SETTINGS).format(database))
        nodes = int(first_value(cursor, _WORKERS))
    return [f"{len(names)} tables are distributed over {nodes} nodes, {len(new)} of them now"]


def distribute_new_table(cursor: Cursor[Any], table: str) -> None:
    """Distribute a table that was just made, where the others are distributed and it is not."""
    if is_distributed(cursor.connection) and table not in _placed(cursor):
        cursor.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
        _distribute_table(cursor, table)


def nodes(conn: Connection[Any]) -> list[Node]:
    """List the cluster's nodes, the coordinator first; empty where nothing is distributed."""
    if not is_distributed(conn):
        return []
    return [Node(*row) for row in conn.execute(_NODES).fetchall()]


def move_tenant(conn: Connection[Any], tenant: str, host: str, port: int) -> bool:
    """Move a tenant's rows to a node; tell whether they were elsewhere.

    Where others share the tenant's shards, it gets shards of its own first. Others read and write
    meanwhile where the servers' wal_level is logical; else writers of these shards wait. Raises
    NotFoundError for an unknown tenant or node, DatabaseError.
    """
    import psycopg

    try:
        if not is_distributed(conn):
            raise DatabaseError(
                "The tables are not distributed: run `ragkit db prepare --citus` first."
            )
        if conn.execute(_HAS_TENANT, (tenant,)).fetchone() is None:
            raise NotFoundError(f"There is no tenant {tenant!r} with a collection.")
        if conn.execute(_HAS_NODE, (host, port)).fetchone() is None:
            raise NotFoundError(
                f"There is no node {host}:{port} that holds tenants' rows: `ragkit db status` shows"
                " those there are."
            )
        with conn.cursor() as cursor:
            logical = first_value(cursor, "SHOW wal_level") == "logical"
            mode = "force_logical" if logical else "block_writes"
            shard, *place = cursor.execute(_PLACE, (tenant,)).fetchall()[0]
            if place == [host, port]:
                return False
            others = [name for (name,) in cursor.execute(_OTHERS, (tenant,)).fetchall()]
            if first_value(cursor, _IS_SHARED, (shard, others)):
                shard = first_value(cursor, _ISOLATE, (tenant, mode))
                place = list(cursor.execute(_PLACE, (tenant,)).fetchall()[0][1:])
            if place != [host, port]:
                cursor.execute(_MOVE, (shard, *place, host, port, mode))
    except psycopg.Error as error:
        raise _not_moved(error) from error
    return True


@contextmanager
def _changing(conn: Connection[Any]) -> Iterator[Cursor[Any]]:
    """Begin a transaction that changes where tables lie. Raises DatabaseError."""
    import psycopg

    try:
        with conn.transaction(), conn.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            cursor.execute("SET LOCAL ragkit.all_tenants = 'on'")
            if first_value(cursor, _HAS_CITUS):
                # Foreign keys between the tables: one shard after the other.
                cursor.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
            yield cursor
    except psycopg.Error as error:
        raise _not_moved(error) from error


def _distribute_table(cursor: Cursor[Any], table: str) -> None:
    """Distribute one table by tenant, beside the others."""
    beside = "none" if table == FIRST else FIRST
    cursor.execute(_DISTRIBUTE, (table, beside))


def _not_moved(error: Error) -> DatabaseError:
    reason = " ".join((error.diag.message_primary or str(error)).split())
    return DatabaseError(
        f"Nothing was moved between the nodes: {reason}: mend what it names, then run it again."
    )


@contextmanager
def _without_keys(cursor: Cursor[Any], tables: Sequence[str]) -> Iterator[None]:
    """Drop foreign keys of tables that are about to be moved, and add them again."""
    keys = cursor.execute(_FOREIGN_KEYS, (list(tables),)).fetchall()
    for table, name, _ in keys:
        drop = sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}")
        cursor.execute(drop.format(sql.Identifier(table), sql.Identifier(name)))
    yield
    for table, name, definition in keys:
        add = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}")
        names = sql.Identifier(table), sql.Identifier(name)
        cursor.execute(add.format(*names, sql.SQL(definition)))


def _tenant_tables(cursor: Cursor[Any]) -> list[str]:
    return [str(name) for (name,) in cursor.execute(_TABLES, (list(LOCAL),)).fetchall()]


def _placed(cursor: Cursor[Any]) -> set[str]:
    """Name the tables that are distributed, or copied to every node."""
    return {str(name) for (name,) in cursor.execute(_PLACED).fetchall()}
