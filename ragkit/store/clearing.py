"""Take ragkit's tables and functions out of a database, unless told when they hold something.

It knows their names from the migrations that make them, and nothing of what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from psycopg import sql

from ragkit.errors import DatabaseError, UsageError

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

MIGRATIONS: Final = "ragkit_migration"  # a row for each step of the schema, so never without

_TABLES: Final = """
    SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT relispartition
        AND relnamespace = current_schema()::regnamespace ORDER BY relname
"""
_FUNCTIONS: Final = """
    SELECT proname FROM pg_proc WHERE proname = ANY(%s)
        AND pronamespace = current_schema()::regnamespace
"""
_PATIENCE: Final = "SET LOCAL lock_timeout = '10s'"  # arbitrary: a search is done by then
_MADE: Final = re.compile(r"^CREATE (TABLE|SEQUENCE|FUNCTION) (\w+)", re.MULTILINE)
_VECTORS: Final = re.compile(r"vectors_\d+")  # a table made with the embedding space of that number


def clear_unused(conn: Connection[Any]) -> None:
    """Leave a database without tables whose tables are ragkit's and hold no row.

    Raises UsageError for any other, which stays as it is; DatabaseError.
    """
    with _owning(conn) as cursor:
        if tables := _names(cursor):
            _check_unused(cursor, tables)
            _drop(cursor, tables)


def clear(conn: Connection[Any]) -> None:
    """Drop ragkit's tables with all that they hold. Raises DatabaseError."""
    with _owning(conn) as cursor:
        _drop(cursor, _names(cursor))


def _check_unused(cursor: Cursor[Any], tables: list[str]) -> None:
    wrong = next((f"a table of others, {name}" for name in tables if not _is_ours(name)), None)
    for name in tables if wrong is None else ():
        table = sql.Identifier(name)
        cursor.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(table))
        row = cursor.execute(sql.SQL("SELECT FROM {} LIMIT 1").format(table)).fetchone()
        if name != MIGRATIONS and row is not None:
            wrong = f"rows of {name}"
            break
    if wrong is not None:
        raise UsageError(
            f"The database is not empty, it holds {wrong}: restore into an empty one, for example"
            " another RAGKIT_HOME, or a new one made with createdb."
        )


def _drop(cursor: Cursor[Any], tables: list[str]) -> None:
    drop = sql.SQL("DROP {} IF EXISTS {} CASCADE")
    for name in filter(_is_ours, tables):
        cursor.execute(drop.format(sql.SQL("TABLE"), sql.Identifier(name)))
    for name in _made("SEQUENCE"):
        cursor.execute(drop.format(sql.SQL("SEQUENCE"), sql.Identifier(name)))
    for (name,) in cursor.execute(_FUNCTIONS, (sorted(_made("FUNCTION")),)).fetchall():
        cursor.execute(drop.format(sql.SQL("FUNCTION"), sql.Identifier(name)))


def _names(cursor: Cursor[Any]) -> list[str]:
    return [str(name) for (name,) in cursor.execute(_TABLES).fetchall()]


def _is_ours(table: str) -> bool:
    return table == MIGRATIONS or table in _made("TABLE") or bool(_VECTORS.fullmatch(table))


@cache
def _made(kind: str) -> frozenset[str]:
    """Name the tables, sequences or functions that the migrations make, for a while or for good."""
    folder = files("ragkit.store") / "migrations"
    texts = [file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".sql")]
    return frozenset(name for text in texts for of, name in _MADE.findall(text) if of == kind)


@contextmanager
def _owning(conn: Connection[Any]) -> Iterator[Cursor[Any]]:
    """Begin a transaction that sees the rows of all tenants, and waits for nobody long."""
    import psycopg

    try:
        with conn.transaction(), conn.cursor() as cursor:
            cursor.execute("SET LOCAL ragkit.all_tenants = 'on'")
            cursor.execute(_PATIENCE)
            yield cursor
    except psycopg.Error as error:
        said = " ".join((error.diag.message_primary or str(error)).split())
        raise DatabaseError(
            f"ragkit's tables could not be dropped: {said}: stop the programs that use the"
            " database, and see that the role is the tables' owner."
        ) from error
