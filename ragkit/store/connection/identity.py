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

from psycopg import Connection, sql

if TYPE_CHECKING:
    from ragkit.store.documents.filter_sql import Readers

NOBODY: Final = ("", "")
OPERATOR: Final = "{*}"  # as an array of readers: everything may be read
_acting: ContextVar[tuple[str, str]] = ContextVar("acting", default=NOBODY)

# SET LOCAL, not set_config(): it takes no snapshot, so that a lock may still come before it.
_BEGIN: Final = (
    "BEGIN{}; SET LOCAL ragkit.tenant = {}; SET LOCAL ragkit.principal = {};"
    " SET LOCAL ragkit.readers = {}"
)
_SNAPSHOT: Final = " ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_TAKE: Final = "; SELECT 1"  # takes the snapshot now, not with the first search
_RELAXED: Final = "; SET LOCAL synchronous_commit = off"
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


_wanted_beginning: ContextVar[Beginning | None] = ContextVar("wanted_beginning", default=None)


def act_for(tenant: str, principal: str) -> None:
    """Set the principal of transactions from here on: in this thread, task, or copied context."""
    _acting.set((tenant, principal))


def keeps_sessions(conn: Connection[Any]) -> bool:
    """Tell whether session state, such as an advisory lock, stays with a connection."""
    return not isinstance(conn, PooledConnection)


def begin(conn: Connection[Any], beginning: Beginning) -> None:
    """Begin a transaction in one round trip.

    The principal is set where this context acts for a principal of that tenant.
    """
    principal = _principal(beginning.tenant)
    conn.execute(_statement(beginning, principal, keeps_sessions(conn)))


@contextmanager
def wanting(beginning: Beginning) -> Iterator[None]:
    """Have the connections that a pool tries out begin this transaction.

    So a lost connection is noticed by the transaction's first statement, not by an additional one.
    """
    _statement(beginning, _principal(beginning.tenant), True)  # raises for an impossible name
    token = _wanted_beginning.set(beginning)
    try:
        yield
    finally:
        _wanted_beginning.reset(token)


def begin_wanted(conn: Connection[Any]) -> bool:
    """Begin the transaction that `wanting` names; tell whether there was one."""
    beginning = _wanted_beginning.get()
    if beginning is not None:
        begin(conn, beginning)
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
def _statement(beginning: Beginning, principal: str, sessions: bool) -> bytes:
    """Write what begins a transaction: one simple query, which takes no parameters."""
    text = sql.SQL(_BEGIN).format(
        sql.SQL(_SNAPSHOT if beginning.snapshot else ""),
        sql.Literal(beginning.tenant),
        sql.Literal(principal),
        sql.Literal(readers_array(beginning.readers)),
    )
    if not sessions:
        text += sql.SQL(f"; SET LOCAL {IDLE}")
    if not beginning.durable:
        text += sql.SQL(_RELAXED)
    if beginning.snapshot:
        text += sql.SQL(_TAKE)
    return text.as_bytes(None)
