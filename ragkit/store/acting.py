"""For whom the database is asked: tenant and principal travel with every transaction.

Each transaction says so first, in its own settings ragkit.tenant and ragkit.principal, which
row-level security and the server's log go by. Statements name the tenant besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

from psycopg import Connection, sql

NOBODY: Final = ("", "")
_acting: ContextVar[tuple[str, str]] = ContextVar("acting", default=NOBODY)
_wanted: ContextVar[tuple[str, bool] | None] = ContextVar("wanted", default=None)

# SET LOCAL, not set_config(): it takes no snapshot, so that a lock may still come before it.
_BEGIN: Final = "BEGIN{}; SET LOCAL ragkit.tenant = {}; SET LOCAL ragkit.principal = {}"
_SNAPSHOT: Final = " ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_TAKE: Final = "; SELECT 1"  # the snapshot is of now, not of the first search
# Transactions are short, and none waits for a model: one idle for so long has been forgotten.
IDLE: Final = "idle_in_transaction_session_timeout = '5min'"


class PooledConnection(Connection[Any]):
    """A connection through PgBouncer in transaction mode: nothing outlives a transaction on it."""


def act_for(tenant: str, principal: str) -> None:
    """Ask the database for somebody from here on: in this thread, task, or copied context."""
    _acting.set((tenant, principal))


def keeps_sessions(conn: Connection[Any]) -> bool:
    """Tell whether session state, such as an advisory lock, stays with a connection."""
    return not isinstance(conn, PooledConnection)


def begin(conn: Connection[Any], tenant: str, *, snapshot: bool = False) -> None:
    """Begin a transaction for a tenant, in one round trip.

    The principal is set where this context acts for somebody of that tenant.
    """
    conn.execute(_statement(tenant, _principal(tenant), snapshot, keeps_sessions(conn)))


@contextmanager
def wanting(tenant: str, *, snapshot: bool) -> Iterator[None]:
    """Have the connections that a pool tries out here begin this transaction, as `begin` does.

    So a connection that is gone is found by what is asked of it first, not by a question more.
    """
    _statement(tenant, _principal(tenant), snapshot, True)  # raises for a name that cannot be
    token = _wanted.set((tenant, snapshot))
    try:
        yield
    finally:
        _wanted.reset(token)


def begin_wanted(conn: Connection[Any]) -> bool:
    """Begin the transaction that is wanted here; tell whether there was one."""
    wanted = _wanted.get()
    if wanted is not None:
        begin(conn, wanted[0], snapshot=wanted[1])
    return wanted is not None


def _principal(tenant: str) -> str:
    acting, principal = _acting.get()
    return principal if tenant == acting else ""


@lru_cache(maxsize=1024)
def _statement(tenant: str, principal: str, snapshot: bool, sessions: bool) -> bytes:
    """Write what begins a transaction: one simple query, which takes no parameters."""
    text = sql.SQL(_BEGIN).format(
        sql.SQL(_SNAPSHOT if snapshot else ""), sql.Literal(tenant), sql.Literal(principal)
    )
    if not sessions:
        text += sql.SQL(f"; SET LOCAL {IDLE}")
    if snapshot:
        text += sql.SQL(_TAKE)
    return text.as_bytes(None)
