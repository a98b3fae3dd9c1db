"""Connections lent from a pool, what goes wrong with them raised as DatabaseError in one line.

Whatever is lent stands in a transaction that has said for which tenant it is; only what `lent`
lends does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus

from ragkit.errors import DatabaseError, UsageError
from ragkit.store.acting import begin, wanting

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

_NUL = "contain NUL"  # psycopg's own words, before anything is sent
EVERYBODY = ""  # for what belongs to no tenant: row-level security shows no tenant's rows then


@contextmanager
def connection(pool: ConnectionPool[Connection[Any]], tenant: str) -> Iterator[Connection[Any]]:
    """Lend a connection in a transaction for a tenant, committed at the end. Raises DatabaseError.

    It is named here, not taken from the context: a store has a tenant of its own.
    """
    with _begun(pool, tenant, snapshot=False) as conn:
        yield conn


@contextmanager
def transaction(pool: ConnectionPool[Connection[Any]], tenant: str) -> Iterator[Cursor[Any]]:
    """Lend a cursor in a transaction for a tenant; see `connection`. Raises DatabaseError."""
    with connection(pool, tenant) as conn, conn.cursor() as cursor:
        yield cursor


@contextmanager
def snapshot(pool: ConnectionPool[Connection[Any]], tenant: str) -> Iterator[Cursor[Any]]:
    """Lend a cursor whose statements all see the database at one moment. Raises DatabaseError."""
    with _begun(pool, tenant, snapshot=True) as conn, conn.cursor() as cursor:
        yield cursor


@contextmanager
def begun(conn: Connection[Any], tenant: str) -> Iterator[Cursor[Any]]:
    """Begin a transaction for a tenant on a connection of one's own in autocommit mode.

    Errors are psycopg's own.
    """
    begin(conn, tenant)
    try:
        with conn.cursor() as cursor:
            yield cursor
    except BaseException:
        if not conn.closed:
            conn.rollback()
        raise
    conn.commit()


@contextmanager
def lent(pool: ConnectionPool[Connection[Any]]) -> Iterator[Connection[Any]]:
    """Lend a connection as it is, in autocommit mode, no tenant named. Raises DatabaseError.

    The pool rolls back what was begun on it and not committed.
    """
    with _translating(), pool.connection() as conn:
        yield conn


@contextmanager
def _begun(
    pool: ConnectionPool[Connection[Any]], tenant: str, *, snapshot: bool
) -> Iterator[Connection[Any]]:
    """Lend a connection in a transaction, committed at the end, or else rolled back."""
    with _translating():
        with wanting(tenant, snapshot=snapshot):
            conn = pool.getconn()
        try:
            if conn.info.transaction_status == TransactionStatus.IDLE:  # none was tried out
                begin(conn, tenant, snapshot=snapshot)
            with conn:
                yield conn
                conn.commit()  # which a connection that was lost refuses
        finally:
            pool.putconn(conn)


@contextmanager
def _translating() -> Iterator[None]:
    """Raise what goes wrong as DatabaseError; as UsageError for what no text there can hold."""
    try:
        yield
    except UnicodeEncodeError as error:
        if error.encoding != "utf-8":  # not the database's affair
            raise
        raise _unstorable() from error
    except psycopg.DataError as error:
        raise (_unstorable() if _NUL in str(error) else translate(error)) from error
    except psycopg.Error as error:
        raise translate(error) from error


def _unstorable() -> UsageError:
    return UsageError(
        "A name or text that was given holds a NUL, or a byte or half a character that is no"
        " UTF-8, which the database cannot keep: leave it out."
    )


def translate(error: psycopg.Error) -> DatabaseError:
    """Make one line of a database error, with the remedy where it is known.

    The server's detail and context are left out: they hold values, which may be a document's text.
    """
    text = " ".join((error.diag.message_primary or str(error)).split()) or type(error).__name__
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return DatabaseError(
            f"The database failed or cannot be reached: {text}. `ragkit db status` shows its state;"
            " nothing that was committed is lost."
        )
    return DatabaseError(f"The database refused a statement: {text}")
