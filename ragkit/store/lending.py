"""Connections lent from a pool, what goes wrong with them raised as DatabaseError in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from ragkit.errors import DatabaseError

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool


@contextmanager
def connection(pool: ConnectionPool[Connection[Any]]) -> Iterator[Connection[Any]]:
    """Lend a connection; what is done with it is committed at the end. Raises DatabaseError."""
    try:
        with pool.connection() as conn:
            yield conn
    except psycopg.Error as error:
        raise translate(error) from error


@contextmanager
def transaction(pool: ConnectionPool[Connection[Any]]) -> Iterator[Cursor[Any]]:
    """Lend a cursor in a transaction of its own. Raises DatabaseError."""
    with connection(pool) as conn, conn.transaction(), conn.cursor() as cursor:
        yield cursor


@contextmanager
def snapshot(pool: ConnectionPool[Connection[Any]]) -> Iterator[Cursor[Any]]:
    """Lend a cursor whose statements all see the database at one moment. Raises DatabaseError."""
    with transaction(pool) as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield cursor


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
