"""A database that a test has used is as new for the next one."""

from typing import Any

import psycopg
import pytest
from psycopg import sql

from ragkit.contracts import Embedder
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing.corpus import CORPUS, fill
from tests.databases import Databases, address

NUMBERS = "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1"
STATISTICS = """
    SELECT relname, relpages, reltuples, (SELECT count(*) FROM pg_statistic WHERE starelid = c.oid)
    FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1
"""


@pytest.fixture
def own(database_url: str, migrated: str) -> Databases:
    return Databases(database_url, migrated)


def look(url: str) -> list[Any]:
    """Count the rows of each table, and read sequences and statistics."""
    with psycopg.connect(url) as conn:
        numbers, statistics = (conn.execute(query).fetchall() for query in (NUMBERS, STATISTICS))
        count = sql.SQL("SELECT {0}, count(*) FROM {1}")
        counts = [
            conn.execute(count.format(sql.Literal(table), sql.Identifier(table))).fetchone()
            for table, *_ in statistics
        ]
        return [counts, numbers, statistics]


def test_a_used_database_is_as_new(own: Databases, loaded_embedder: Embedder) -> None:
    with own.take() as url:
        first, new = url, look(url)
        with open_database(Settings(database_url=url)) as database:  # type: ignore[arg-type]
            fill(database.store("default"), loaded_embedder, CORPUS)
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("SELECT nextval('job_worker')")
            conn.execute("CREATE INDEX of_the_test ON document (title)")
            conn.execute("ANALYZE")
        used = look(url)
        assert all(before != after for before, after in zip(new, used, strict=True))
        left_open = psycopg.connect(url)
    with own.take() as url:
        assert url != first  # caches by address hold nothing of the test before
        assert look(url) == new
        with psycopg.connect(url) as conn:
            assert conn.execute("SELECT to_regclass('of_the_test')").fetchone() == (None,)
    assert own.drops == 0
    with pytest.raises(psycopg.OperationalError):
        left_open.execute("SELECT 1")


def test_a_template_may_hold_rows(database_url: str, migrated: str) -> None:
    add = "INSERT INTO collection (tenant, name) VALUES ('default', %s) RETURNING id"
    names = "SELECT id, name FROM collection ORDER BY id"
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE with_rows TEMPLATE {migrated}".encode())
    with psycopg.connect(address(database_url, "with_rows")) as conn:
        conn.execute(add, ("first",))
    filled = Databases(database_url, "with_rows")
    for _ in range(2):
        with filled.take() as url, psycopg.connect(url, autocommit=True) as conn:
            assert conn.execute(names).fetchall() == [(1, "first")]
            conn.execute("SELECT nextval('collection_id_seq')")
            assert conn.execute("SELECT nextval('collection_id_seq')").fetchone() == (3,)
    assert filled.drops == 0
    with filled.take() as url, psycopg.connect(url, autocommit=True) as conn:
        assert conn.execute(add, ("second",)).fetchone() == (2,)
    assert filled.drops == 1  # rows of the template are compared, not mended


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE document ADD more int",
        "ALTER TABLE document DROP COLUMN title CASCADE",
        "ALTER TABLE document DISABLE TRIGGER ALL",
        "ALTER TABLE chunk ALTER ordinal SET STATISTICS 7",
        "DROP TABLE feedback",
        "CREATE POLICY p ON document",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA more",
        "GRANT SELECT ON document TO PUBLIC",
        "ALTER DATABASE {} SET work_mem = '1MB'",
        "DELETE FROM ragkit_migration",
        "DROP EXTENSION vector CASCADE",
    ],
)
def test_a_database_with_a_changed_layout_is_dropped(own: Databases, change: str) -> None:
    with own.take() as url:
        name = url.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(change.replace("{}", name).encode())
    assert own.drops == 1
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_a_database_that_the_test_dropped_is_no_error(own: Databases, database_url: str) -> None:
    with own.take() as url:
        name = url.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    assert own.drops == 1
