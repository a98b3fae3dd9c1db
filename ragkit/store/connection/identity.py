"""The statement that begins a transaction: for which tenant, principal and readers it is.

It sets them as ragkit.tenant, ragkit.principal and ragkit.readers, which row-level security, the
views of schema.sql and the server's log go by. Statements name the tenant besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from psycopg import Connection, sql

if TYPE_CHECKING:
    from ragkit.store.documents.filter_sql import Readers

NOBODY: Final = ("", "")
OPERATOR: Final = "{*}"  # as an array of readers: everything may be read
_acting: ContextVar[tuple[str, str]] = ContextVar("acting", default=NOBODY)

# SET LOCAL, not set_config(): it takes no snapshot, so that a lock may still come before it.
_SNAPSHOT: Final = " ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_TAKE: Final = b"SELECT 1"  # takes the snapshot now, not with the first search
_TAKE_ON_NODE: Final = "SELECT FROM collection WHERE tenant = %s LIMIT 0"  # the tenant's
_RELAXED: Final = "SET LOCAL synchronous_commit = off"
# Transactions are short, and none waits for a model: one idle for so long has been forgotten.
IDLE: Final = "idle_in_transaction_session_timeout = '5min'"


class PooledConnection(Connection[Any]):
    """A connection through PgBouncer in transaction mode: no state outlives a transaction on it."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a transaction begins: the tenant, the readers, and how it reads and commits.

    Readers default to none, who see what the whole tenant may read; None is an operator. With
    `snapshot` all statements see one moment and write nothing. Unless `durable`, a commit returns
    before it is on disk.
    """

    tenant: str
    readers: Readers = ()
    snapshot: bool = False
    durable: bool = True


# What `ragkit db prepare --citus` sets for a database; unknown to a server without Citus.
_ON_CLUSTER: Final = "SELECT current_setting('citus.propagate_set_commands', true)"
_on_cluster: WeakSet[Connection[Any]] = WeakSet()
_wanted_beginning: ContextVar[Beginning | None] = ContextVar("wanted_beginning", default=None)


def act_for(tenant: str, principal: str) -> None:
    """Set the principal of transactions from here on: in this thread, task, or copied context."""
    _acting.set((tenant, principal))


def keeps_sessions(conn: Connection[Any]) -> bool:
    """Tell whether session state, such as an advisory lock, stays with a connection."""
    return not isinstance(conn, PooledConnection)


def mark_cluster(conn: Connection[Any]) -> None:
    """Remember of a new connection whether the tables are distributed over a cluster."""
    if conn.execute(_ON_CLUSTER).fetchone() == ("local",):
        _on_cluster.add(conn)


def on_cluster(conn: Connection[Any]) -> bool:
    """Tell whether the tables are distributed over a cluster."""
    return conn in _on_cluster


def begin(conn: Connection[Any], beginning: Beginning) -> None:
    """Begin a transaction in one round trip; on a cluster a snapshot takes another one.

    The principal is set where this context acts for a principal of that tenant.
    """
    _begin(conn, beginning)
    take_on_node(conn, beginning)


def _begin(conn: Connection[Any], beginning: Beginning) -> None:
    statements = _statements(beginning, _principal(beginning.tenant), keeps_sessions(conn))
    if not on_cluster(conn):
        take = (_TAKE,) if beginning.snapshot else ()
        conn.execute(b"; ".join((*statements, *take)))
        return
    # Citus passes a setting on to the nodes by the text that it came in, so it comes alone.
    with conn.pipeline():
        for statement in statements:
            conn.execute(statement)


def take_on_node(conn: Connection[Any], beginning: Beginning) -> None:
    """Take the snapshot of the tenant's node, where the tables are distributed over a cluster."""
    if beginning.snapshot and on_cluster(conn):
        conn.execute(_TAKE_ON_NODE, (beginning.tenant,))


@contextmanager
def wanting(beginning: Beginning) -> Iterator[None]:
    """Have the connections that a pool tries out begin this transaction.

    So a lost connection is noticed by the transaction's first statement, not by an additional one.
    """
    _statements(beginning, _principal(beginning.tenant), True)  # raises for an impossible name
    token = _wanted_beginning.set(beginning)
    try:
        yield
    finally:
        _wanted_beginning.reset(token)


def begin_wanted(conn: Connection[Any]) -> bool:
    """Begin the transaction that `wanting` names; tell whether there was one.

    On a cluster its snapshot is yet to be taken: a node that is gone is no fault of the connection.
    """
    beginning = _wanted_beginning.get()
    if beginning is not None:
        _begin(conn, beginning)
    return beginning is not None


def readers_array(readers: Readers) -> str:
    r"""Write readers as PostgreSQL writes an array of texts.

    >>> readers_array(("user:ada", 'group:"x"')), readers_array(()), readers_array(None)
    ('{"user:ada","group:\\"x\\""}', '{}', '{*}')
    """
    if readers is None:
        return OPERATOR
    escaped = (name.replace("\\", "\\\\").replace('"', '\\"') for name in readers)
    return "{" + ",".join(f'"{name}"' for name in escaped) + "}"


def _principal(tenant: str) -> str:
    acting, principal = _acting.get()
    return principal if tenant == acting else ""


@lru_cache(maxsize=1024)
def _statements(beginning: Beginning, principal: str, sessions: bool) -> tuple[bytes, ...]:
    """Write what begins a transaction: statements without parameters."""
    settings = {
        "ragkit.tenant": beginning.tenant,
        "ragkit.principal": principal,
        "ragkit.readers": readers_array(beginning.readers),
    }
    texts: list[sql.Composable] = [sql.SQL("BEGIN" + (_SNAPSHOT if beginning.snapshot else ""))]
    for name, value in settings.items():
        texts.append(sql.SQL("SET LOCAL {} = {}").format(sql.SQL(name), sql.Literal(value)))
    if not sessions:
        texts.append(sql.SQL(f"SET LOCAL {IDLE}"))
    if not beginning.durable:
        texts.append(sql.SQL(_RELAXED))
    return tuple(text.as_bytes(None) for text in texts)
