"""Migrations on the real database: repeated, at once, killed half-way, changed and newer."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragkit.errors import MigrationError
from ragkit.store.connection.connect import connect
from ragkit.store.connection.migrate import migrate

WAIT_S = 60
PROCESS = """
import sys
from pathlib import Path
from ragkit.store.connection.connect import connect
from ragkit.store.connection.migrate import migrate
with connect(sys.argv[1]) as conn:
    sys.stdin.readline()
    print(*migrate(conn, Path(sys.argv[2])))
"""
FIRST = "CREATE TABLE one (a int); INSERT INTO one VALUES (1); -- 100%\n"
SECOND = "INSERT INTO one VALUES (2); CREATE TABLE two (a int);\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_one.sql").write_text(FIRST)
    (tmp_path / "0002_two.sql").write_text(SECOND)
    (tmp_path / "README.md").write_text("not a step")
    return tmp_path


def start(database: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, database, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def contents(database: str) -> tuple[list[int], list[str]]:
    with connect(database) as conn:
        values = conn.execute("SELECT a FROM one ORDER BY a").fetchall()
        steps = conn.execute("SELECT name FROM ragkit_migration ORDER BY number").fetchall()
    return [value for (value,) in values], [name for (name,) in steps]


def test_steps_are_applied_in_order_and_once(empty_database: str, folder: Path) -> None:
    with connect(empty_database) as conn:
        assert migrate(conn, folder) == ["0001_one.sql", "0002_two.sql"]
        assert migrate(conn, folder) == []
        (folder / "0003_three.sql").write_text("INSERT INTO one VALUES (3)")
        assert migrate(conn, folder) == ["0003_three.sql"]
    steps = ["0001_one.sql", "0002_two.sql", "0003_three.sql"]
    assert contents(empty_database) == ([1, 2, 3], steps)


def test_the_packages_own_steps(empty_database: str) -> None:
    with connect(empty_database) as conn:
        names = migrate(conn)
        assert names[0] == "schema.sql"
        assert migrate(conn) == []
        assert conn.execute("SELECT count(*) FROM document").fetchone() == (0,)


def test_processes_at_once_apply_each_step_once(empty_database: str, folder: Path) -> None:
    (folder / "0002_two.sql").write_text(SECOND + "SELECT pg_sleep(0.2);")
    processes = [start(empty_database, folder) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    applied: list[str] = []
    for process in processes:
        out, err = process.communicate(timeout=WAIT_S)
        assert (process.returncode, err) == (0, "")
        applied += out.split()
    assert sorted(applied) == ["0001_one.sql", "0002_two.sql"]
    assert contents(empty_database) == ([1, 2], ["0001_one.sql", "0002_two.sql"])


def test_a_run_killed_inside_a_step_leaves_whole_steps(empty_database: str, folder: Path) -> None:
    (folder / "0002_two.sql").write_text(SECOND + "SELECT pg_sleep(600);")
    process = start(empty_database, folder)
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    with connect(empty_database) as conn:
        asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        end = time.monotonic() + WAIT_S
        while conn.execute(f"{asleep} AND datname = current_database()").fetchone() != (1,):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert contents(empty_database) == ([1], ["0001_one.sql"])
        (folder / "0002_two.sql").write_text(SECOND)
        # The dead client's statement, which holds the lock that the step needs, is ended.
        conn.execute("SET lock_timeout = '120s'")
        assert migrate(conn, folder) == ["0002_two.sql"]
    assert contents(empty_database) == ([1, 2], ["0001_one.sql", "0002_two.sql"])


def test_a_step_that_fails_leaves_nothing_of_itself(empty_database: str, folder: Path) -> None:
    (folder / "0002_two.sql").write_text(SECOND + "SELECT 1/0;")
    with connect(empty_database) as conn:
        with pytest.raises(MigrationError) as error:
            migrate(conn, folder)
        assert str(error.value) == (
            "0002_two.sql failed, and nothing of it was applied: division by zero: mend what it"
            " names, then run it again."
        )
        assert contents(empty_database) == ([1], ["0001_one.sql"])
        (folder / "0002_two.sql").write_text(SECOND)
        assert migrate(conn, folder) == ["0002_two.sql"]


def test_a_database_that_is_newer_than_this_program(empty_database: str, folder: Path) -> None:
    with connect(empty_database) as conn:
        migrate(conn, folder)
        (folder / "0002_two.sql").unlink()
        with pytest.raises(MigrationError, match=r"has 0002_two\.sql.*last step is 0001_one.*upgr"):
            migrate(conn, folder)


def test_a_step_that_was_changed_after_it_was_applied(empty_database: str, folder: Path) -> None:
    with connect(empty_database) as conn:
        migrate(conn, folder)
        (folder / "0001_one.sql").write_text(FIRST + "-- changed")
        with pytest.raises(MigrationError, match=r"made by another 0001_one\.sql"):
            migrate(conn, folder)


def test_a_gap_or_a_double_in_the_numbers(empty_database: str, folder: Path) -> None:
    with connect(empty_database) as conn:
        (folder / "0004_four.sql").write_text("SELECT 1")
        with pytest.raises(MigrationError, match="install ragkit anew"):
            migrate(conn, folder)
        (folder / "0004_four.sql").rename(folder / "0002_double.sql")
        with pytest.raises(MigrationError, match="install ragkit anew"):
            migrate(conn, folder)


def test_a_user_without_the_rights(empty_database: str, folder: Path) -> None:
    with connect(empty_database) as conn:
        conn.execute("CREATE ROLE test_guest")
        try:
            conn.execute("SET ROLE test_guest")
            with pytest.raises(MigrationError, match=r"more rights: permission denied.*GRANT CREA"):
                migrate(conn, folder)
        finally:
            conn.execute("RESET ROLE")
            conn.execute("DROP ROLE test_guest")
