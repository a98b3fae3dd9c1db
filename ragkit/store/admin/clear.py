"""Drop ragkit's tables, views and functions, and empty tables alone where a restore asks for it.

Their names are read from schema.sql and from the migrations.
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

MIGRATIONS: Final = "ragkit_migration"  # a row for each step of the schema, so never empty

_TABLES: Final = """
    SELECT relname FROM pg_class c WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT relispartition
        AND relnamespace = current_schema()::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype = 'e')  -- extensions'
    ORDER BY relname
"""
_FUNCTIONS: Final = """
    SELECT proname FROM pg_proc WHERE proname = ANY(%s)
        AND pronamespace = current_schema()::regnamespace
"""
_PATIENCE: Final = "SET LOCAL lock_timeout = '10s'"  # arbitrary: a search is done by then
_CREATED: Final = re.compile(r"^CREATE (TABLE|VIEW|SEQUENCE|FUNCTION) (\w+)", re.MULTILINE)
# Of a database that was made before schema.sql, and dropped by its upgrade.
_PRERELEASE: Final = frozenset({"lexical_text"})
_PRERELEASE_FUNCTIONS: Final = frozenset(
    "ragkit_all_tenants ragkit_keep_version ragkit_share_versions ragkit_mark_sharing"
    " ragkit_drop_postings".split()
)
_VECTORS: Final = re.compile(r"vectors_\d+")  # a table made with the embedding space of that number


def clear_unused(conn: Connection[Any]) -> None:
    """Drop the tables of a database whose tables are ragkit's and hold no row.

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
    content = next((f"a table of others, {name}" for name in tables if not _is_ragkit(name)), None)
    for name in tables if content is None else ():
        table = sql.Identifier(name)
        cursor.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(table))
        row = cursor.execute(sql.SQL("SELECT FROM {} LIMIT 1").format(table)).fetchone()
        if name != MIGRATIONS and row is not None:
            content = f"rows of {name}"
            break
    if content is not None:
        raise UsageError(
            f"The database is not empty, it holds {content}: restore into an empty one, for example"
            " another RAGKIT_HOME, or a new one made with createdb."
        )


def _drop(cursor: Cursor[Any], tables: list[str]) -> None:
    drop = sql.SQL("DROP {} IF EXISTS {} CASCADE")
    for name in _created("VIEW"):
        cursor.execute(drop.format(sql.SQL("VIEW"), sql.Identifier(name)))
    for name in filter(_is_ragkit, tables):
        if name not in _created("VIEW"):
            cursor.execute(drop.format(sql.SQL("TABLE"), sql.Identifier(name)))
    for name in _created("SEQUENCE"):
        cursor.execute(drop.format(sql.SQL("SEQUENCE"), sql.Identifier(name)))
    for (name,) in cursor.execute(_FUNCTIONS, (sorted(_created("FUNCTION")),)).fetchall():
        cursor.execute(drop.format(sql.SQL("FUNCTION"), sql.Identifier(name)))


def _names(cursor: Cursor[Any]) -> list[str]:
    return [str(name) for (name,) in cursor.execute(_TABLES).fetchall()]


def _is_ragkit(name: str) -> bool:
    """Tell whether a table or view is one of ragkit's."""
    created = _created("TABLE") | _created("VIEW") | _PRERELEASE
    return name == MIGRATIONS or name in created or bool(_VECTORS.fullmatch(name))


@cache
def _created(kind: str) -> frozenset[str]:
    """Name the tables, views, sequences or functions that the schema's files create."""
    package = files("ragkit.store")
    scripts = [package / "schema.sql"]
    if (folder := package / "migrations").is_dir():
        scripts += [file for file in folder.iterdir() if file.name.endswith(".sql")]
    pairs = (pair for file in scripts for pair in _CREATED.findall(file.read_text("utf-8")))
    names = frozenset(name for word, name in pairs if word == kind)
    return names | _PRERELEASE_FUNCTIONS if kind == "FUNCTION" else names


@contextmanager
def _owning(conn: Connection[Any]) -> Iterator[Cursor[Any]]:
    """Begin a transaction that sees the rows of all tenants and waits at most 10 s for a lock."""
    import psycopg

    try:
        with conn.transaction(), conn.cursor() as cursor:
            cursor.execute("SET LOCAL ragkit.all_tenants = 'on'")
            cursor.execute(_PATIENCE)
            yield cursor
    except psycopg.Error as error:
        reason = " ".join((error.diag.message_primary or str(error)).split())
        raise DatabaseError(
            f"ragkit's tables could not be dropped: {reason}: stop the programs that use the"
            " database, and see that the role is the tables' owner."
        ) from error
