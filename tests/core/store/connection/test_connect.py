"""Connections and fitness, on the real server, with pgvector as it is, old, or not there."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ragkit.errors import DatabaseError
from ragkit.store.connection.connect import ServerFacts, check_fit, connect, fitness, open_pool
from ragkit.system import priority

FIT = ServerFacts("18.4", 180004, "UTF8", False, "0.8.5", "0.8.5", 0)


@pytest.fixture
def packages(empty_database: str) -> Iterator[Callable[[str | None], None]]:
    """Replace the extensions that a database's server offers: pgvector of a version, or none."""
    folder = Path(tempfile.mkdtemp(prefix="ragkit-tests-"))
    folder.chmod(0o755)

    def offer(version: str | None) -> None:
        extension = folder / "extension"
        extension.mkdir()
        if version is not None:
            (extension / "vector.control").write_text(f"default_version = '{version}'\n")
            (extension / f"vector--{version}.sql").write_text("SELECT 1;\n")
        with connect(empty_database) as conn:
            conn.execute(
                sql.SQL("ALTER DATABASE {} SET extension_control_path = {}").format(
                    sql.Identifier(conn.info.dbname), str(folder)
                )
            )

    yield offer
    shutil.rmtree(folder)


def test_pgvector_need_not_be_created_yet(empty_database: str) -> None:
    with connect(empty_database) as conn:
        check_fit(conn)
        conn.execute("CREATE EXTENSION vector")
        check_fit(conn)


def test_a_server_without_pgvector(
    empty_database: str, packages: Callable[[str | None], None]
) -> None:
    packages(None)
    with (
        connect(empty_database) as conn,
        pytest.raises(DatabaseError, match=r"no pgvector: install pgvector 0\.8\.3 or newer") as e,
    ):
        check_fit(conn)
    assert str(e.value).startswith("The database 'test_")
    assert "\n" not in str(e.value)


def test_an_old_pgvector_that_the_package_would_not_better(
    empty_database: str, packages: Callable[[str | None], None]
) -> None:
    packages("0.8.2")
    for create in ("SELECT 1", "CREATE EXTENSION vector"):
        with connect(empty_database) as conn:
            conn.execute(create)
            with pytest.raises(DatabaseError, match=r"pgvector 0\.8\.2 is older .*upgrade the pg"):
                check_fit(conn)


def test_an_old_pgvector_whose_package_is_new(
    empty_database: str, packages: Callable[[str | None], None]
) -> None:
    packages("0.8.2")
    with connect(empty_database) as conn:
        conn.execute("CREATE EXTENSION vector")
        conn.execute("RESET extension_control_path")
        conn.execute("SET extension_control_path = '$system'")
        with pytest.raises(DatabaseError, match=r"vacuum: run ALTER EXTENSION vector UPDATE"):
            check_fit(conn)


def test_another_encoding(database_url: str) -> None:
    with connect(database_url) as conn:
        conn.execute(
            "CREATE DATABASE test_latin TEMPLATE template0 ENCODING 'LATIN1'"
            " LOCALE_PROVIDER libc LOCALE 'C'"
        )
        try:
            with (
                connect(database_url.replace("/postgres?", "/test_latin?")) as latin,
                pytest.raises(DatabaseError, match=r"encoding is LATIN1.*--encoding=UTF8"),
            ):
                check_fit(latin)
        finally:
            conn.execute("DROP DATABASE test_latin WITH (FORCE)")


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        (FIT, None),
        (ServerFacts("15.18", 150018, "UTF8", False, None, "0.8.3", 0), None),
        (ServerFacts("15.18", 150018, "UTF8", False, None, "0.10.0", 0), None),
        (
            ServerFacts("14.9", 140009, "UTF8", False, "0.8.5", "0.8.5", 0),
            "it is PostgreSQL 14.9: use 15 or newer",
        ),
        (
            ServerFacts("16.1", 160001, "UTF8", True, "0.8.5", "0.8.5", 0),
            "it is a standby, which cannot be written to: name the primary server",
        ),
    ],
)
def test_fitness_of_servers_that_are_not_here(facts: ServerFacts, problem: str | None) -> None:
    assert fitness(facts) == problem


def test_a_connection_says_who_it_is_and_gives_up_forgotten_transactions(
    empty_database: str,
) -> None:
    shown = (
        "SELECT current_setting('application_name'),"
        " current_setting('idle_in_transaction_session_timeout'), current_setting('TimeZone') <> ''"
    )
    with connect(empty_database) as conn:
        assert conn.autocommit
        assert conn.execute(shown).fetchone() == ("ragkit", "5min", True)
    with connect(f"{empty_database}&application_name=mine") as conn:
        assert conn.execute(shown).fetchone() == ("mine", "5min", True)


def test_statements_are_never_prepared(empty_database: str) -> None:
    pool = open_pool(empty_database, max_size=1)
    with pool.connection() as conn:
        for _ in range(20):
            conn.execute("SELECT %s", (1,))
        assert conn.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
    pool.close()


def test_a_pool_outlives_its_connections(empty_database: str) -> None:
    pool = open_pool(empty_database, max_size=2)
    with connect(empty_database) as conn:
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with pool.connection() as again:
        assert again.execute("SELECT 1").fetchone() == (1,)
    pool.close()


@pytest.mark.parametrize("gives_way", [False, True])
def test_the_server_gives_way_for_a_client_that_does(empty_database: str, gives_way: bool) -> None:
    code = (
        "import os, sys\n"
        "from ragkit.store.connection.connect import connect, open_pool\n"
        "from ragkit.system import priority\n"
        f"if {gives_way}: priority.give_way()\n"
        "with connect(sys.argv[1]) as conn, open_pool(sys.argv[1]) as pool:\n"
        "    with pool.connection() as pooled:\n"
        "        backends = [each.info.backend_pid for each in (conn, pooled)]\n"
        "        print([os.getpriority(os.PRIO_PROCESS, backend) for backend in backends])\n"
    )
    printed = subprocess.check_output([sys.executable, "-c", code, empty_database], text=True)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    niceness = max(own, priority.NICENESS) if gives_way else own
    assert printed == f"{[niceness, niceness]}\n"


@pytest.mark.parametrize("reach", [connect, open_pool])
def test_a_server_that_is_down(reach: Callable[[str], object]) -> None:
    url = "postgresql://ragkit:secret@127.0.0.1:1/papers"
    with pytest.raises(DatabaseError) as error:
        reach(url)
    assert str(error.value) == (
        "The database 'papers' at 127.0.0.1:1 cannot be reached: Connection refused: see that the"
        " server runs and RAGKIT_DATABASE_URL is right."
    )


def test_a_socket_that_is_not_there() -> None:
    with pytest.raises(DatabaseError, match=r"at /nowhere cannot be reached: No such file or dir"):
        connect("postgresql://ragkit:secret@/papers?host=/nowhere")


def test_a_database_and_a_user_that_are_not_there(empty_database: str) -> None:
    with pytest.raises(DatabaseError, match=r'"absent" does not exist: make it with createdb'):
        connect(re.sub("test_[0-9a-f]{32}", "absent", empty_database))
    with pytest.raises(DatabaseError, match=r'role "nobody" does not exist: correct the user'):
        connect(empty_database.replace("postgres@", "nobody@"))


@pytest.mark.parametrize("url", ["postgresql://u:p@ss%zz@h/d", "host=h password='secret", "h e"])
def test_an_address_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(DatabaseError, match="write RAGKIT_DATABASE_URL as") as error:
        connect(url)
    assert "secret" not in str(error.value)
    assert "ss%zz" not in str(error.value)
    assert error.value.__cause__ is None


def test_translated_errors_keep_their_cause() -> None:
    with pytest.raises(DatabaseError) as error:
        connect("postgresql://127.0.0.1:1/papers")
    assert isinstance(error.value.__cause__, psycopg.OperationalError)
