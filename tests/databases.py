"""Databases for tests: each as new, few of them really made.

To copy the template takes 60 ms and writes 20 MB; to empty a database that a test has used takes
15 ms. So a database goes back to a stock after its test, is emptied there and gets another name for
the next test, and is dropped only when the test changed its tables.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql
from pydantic import SecretStr

from ragkit.settings.settings import Settings
from ragkit.store.open import Database, open_database

# What a test can change about the layout of a database. A row of a catalogue that is written again
# gets the number of a later transaction, so a count and the latest number tell of any change.
_CATALOGUES: Final = (
    "pg_class pg_attribute pg_attrdef pg_index pg_constraint pg_trigger pg_policy pg_proc pg_type"
    " pg_namespace pg_extension pg_default_acl pg_publication pg_statistic_ext pg_rewrite"
    " pg_operator pg_largeobject_metadata"
).split()
_CATALOGUE: Final = sql.SQL("SELECT {}, count(*), max(xmin::text::bigint) FROM {}")
_OWN: Final = """
    SELECT datdba, datacl::text, datconnlimit,
        (SELECT array_agg((setrole, setconfig)::text ORDER BY setrole)
            FROM pg_db_role_setting WHERE setdatabase = d.oid)
    FROM pg_database d WHERE datname = current_database()
"""
_RELATIONS: Final = """
    SELECT relname, relkind FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'i', 'S')
    AND NOT EXISTS (
        SELECT FROM pg_depend d WHERE d.objid = pg_class.oid AND d.deptype IN ('i', 'e'))
"""
_NUMBERS: Final = """
    SELECT format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value),
        last_value IS NOT NULL FROM pg_sequences ORDER BY 1
"""
_FORGET_STATISTICS: Final = """
    SET allow_system_table_mods = on;
    DELETE FROM pg_statistic WHERE starelid >= 16384;
    UPDATE pg_class SET relpages = 0, reltuples = -1, relallvisible = 0, relallfrozen = 0
        WHERE oid >= 16384 AND relkind = 'r' AND (relpages, reltuples) <> (0, -1);
    SELECT pg_stat_reset()
"""
# Keeps autovacuum, which takes the same lock, from counting a table while its statistics are reset.
_LOCK: Final = "LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE"
_END_SESSIONS: Final = """
    SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s
"""


class Databases:
    """Copies of one template database on one server, given to tests and emptied after them."""

    def __init__(self, url: str, template: str) -> None:
        self._url = url
        self._template = template
        self._stock: list[tuple[str, Any]] = []  # names, and layouts to find again
        self.drops = 0  # databases that were dropped because a test had changed the tables
        with psycopg.connect(address(self._url, template), autocommit=True) as conn:
            self._relations = _relations(conn)
            self._layout = _layout(conn)
            self._numbers = conn.execute(_NUMBERS).fetchall()
            self._tables = sorted(name for name, kind in self._relations if kind == "r")
            self._rows = {name: _rows(conn, name) for name in _filled(conn, self._tables)}

    @contextmanager
    def open(self) -> Iterator[Database]:
        """Take a database and open it with no other settings."""
        with (
            self.take() as url,
            open_database(Settings(database_url=SecretStr(url))) as database,
        ):
            yield database

    @contextmanager
    def take(self) -> Iterator[str]:
        """Give the address of a database that is as new, under a name that no other had."""
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(self._url, autocommit=True) as conn:
            if self._stock:
                used, layout = self._stock.pop()
                _run(conn, "ALTER DATABASE {} RENAME TO {}", used, name)
            else:
                layout = self._layout
                _run(conn, "CREATE DATABASE {} TEMPLATE {}", name, self._template)
            yield address(self._url, name)
            conn.execute(_END_SESSIONS, (name,))
            emptied = self._empty(name, layout)
            if emptied:
                self._stock.append((name, emptied))
            else:
                self.drops += 1
                _run(conn, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _empty(self, name: str, layout: Any) -> Any:
        """Make a database as new and return its layout; None where that cannot be done."""
        try:
            with psycopg.connect(address(self._url, name), autocommit=True) as conn:
                for relation, kind in sorted(_relations(conn) - self._relations):
                    noun = "INDEX" if kind == "i" else "SEQUENCE" if kind == "S" else "TABLE"
                    _run(conn, f"DROP {noun} IF EXISTS {{}} CASCADE", relation)
                if _layout(conn) != layout or any(
                    _rows(conn, table) != rows for table, rows in self._rows.items()
                ):
                    return None
                conn.execute("SET session_replication_role = replica")  # no triggers
                for table in set(_filled(conn, self._tables)) - self._rows.keys():
                    _run(conn, "DELETE FROM {}", table)
                    _run(conn, "VACUUM {}", table)
                for number in set(self._numbers) - set(conn.execute(_NUMBERS).fetchall()):
                    conn.execute("SELECT setval(%s::regclass, %s, %s)", number)
                with conn.transaction():
                    for table in self._tables:
                        _run(conn, _LOCK, table)
                    conn.execute(_FORGET_STATISTICS)
                return _layout(conn)
        except psycopg.Error:
            return None


def address(url: str, name: str) -> str:
    """Give the address of another database on the tests' server."""
    return url.replace("/postgres?", f"/{name}?")


def _run(conn: psycopg.Connection[Any], statement: str, *names: str) -> None:
    """Execute a statement of ours with names in the places of its braces."""
    template = sql.SQL(statement)
    conn.execute(template.format(*map(sql.Identifier, names)))


def _layout(conn: psycopg.Connection[Any]) -> list[Any]:
    """Describe the tables, types, functions, rights and settings of a database."""
    parts = [_CATALOGUE.format(sql.Literal(c), sql.Identifier(c)) for c in _CATALOGUES]
    catalogues = conn.execute(sql.SQL(" UNION ALL ").join(parts) + sql.SQL(" ORDER BY 1"))
    return [*catalogues.fetchall(), conn.execute(_OWN).fetchone()]


def _relations(conn: psycopg.Connection[Any]) -> set[tuple[str, str]]:
    return set(conn.execute(_RELATIONS).fetchall())


def _rows(conn: psycopg.Connection[Any], table: str) -> list[Any]:
    query = sql.SQL("SELECT t::text FROM {} t ORDER BY 1").format(sql.Identifier(table))
    return conn.execute(query).fetchall()


def _filled(conn: psycopg.Connection[Any], tables: list[str]) -> list[str]:
    """List the tables that hold rows."""
    row = sql.SQL("(SELECT {} FROM {} LIMIT 1)")
    parts = [row.format(sql.Literal(table), sql.Identifier(table)) for table in tables]
    return [name for (name,) in conn.execute(sql.SQL(" UNION ALL ").join(parts)).fetchall()]
