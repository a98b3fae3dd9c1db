"""Connections lent from a pool, and database errors raised as DatabaseError in one line.

Statements run in a session: see `ragkit.store.session`. `transaction`, `connection` and `begun` are
what the job ledger still uses, whose statements take a cursor and a tenant.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus

from ragkit.errors import DatabaseError, UsageError
from ragkit.store.connection.identity import Beginning, begin, take_on_node, wanting

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

    from ragkit.store.documents.filter_sql import Readers

_NUL = "contain NUL"  # psycopg's own words, before anything is sent
EVERYBODY = ""  # for what belongs to no tenant: row-level security shows no tenant's rows then


@contextmanager
def connection(
    pool: ConnectionPool[Connection[Any]], tenant: str, readers: Readers = ()
) -> Iterator[Connection[Any]]:
    """Lend a connection in a transaction for a tenant, committed at the end. Raises DatabaseError.

    The tenant is a parameter, not taken from the context: a store has a tenant of its own.
    """
    with lend_begun(pool, Beginning(tenant, readers)) as conn:
        yield conn


@contextmanager
def transaction(
    pool: ConnectionPool[Connection[Any]], tenant: str, readers: Readers = ()
) -> Iterator[Cursor[Any]]:
    """Lend a cursor in a transaction for a tenant; see `connection`. Raises DatabaseError."""
    with connection(pool, tenant, readers) as conn, conn.cursor() as cursor:
        yield cursor


@contextmanager
def begun(conn: Connection[Any], tenant: str, readers: Readers = ()) -> Iterator[Cursor[Any]]:
    """Begin a transaction for a tenant on the caller's own connection, in autocommit mode.

    Errors are psycopg's own.
    """
    begin(conn, Beginning(tenant, readers))
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

    The pool rolls back a transaction that was begun on it and not committed.
    """
    with _translating(), pool.connection() as conn:
        yield conn


@contextmanager
def lend_begun(
    pool: ConnectionPool[Connection[Any]], beginning: Beginning
) -> Iterator[Connection[Any]]:
    """Lend a connection in a transaction, committed at the end, or else rolled back."""
    with _translating():
        with wanting(beginning):
            conn = pool.getconn()
        try:
            is_begun = conn.info.transaction_status != TransactionStatus.IDLE  # as it was tried out
            if not is_begun:
                begin(conn, beginning)
            with conn:
                if is_begun:
                    take_on_node(conn, beginning)
                yield conn
                conn.commit()  # which a connection that was lost refuses
        finally:
            pool.putconn(conn)


@contextmanager
def _translating() -> Iterator[None]:
    """Translate errors: to UsageError for a text that no database can store, else DatabaseError."""
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
