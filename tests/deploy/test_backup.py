"""The dump and the restore that docs/operations.md describes, with PostgreSQL's own programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from ragkit.store.connection.migrate import migrate
from ragkit.store.server.programs import find_programs
from tests.places import ROOT

MANUAL = ROOT / "docs/operations.md"


def run(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [str(find_programs().folder / program), *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def rows(url: str) -> dict[str, int]:
    with psycopg.connect(url) as conn:
        tables = conn.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        ).fetchall()
        count = sql.SQL("SELECT count(*) FROM {}")
        return {
            name: conn.execute(count.format(sql.Identifier(name))).fetchall()[0][0]
            for (name,) in tables
        }


def test_a_dump_restored_into_an_empty_database_is_the_same(
    tmp_path: Path, fresh_database: str, database_url: str
) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        migrate(conn)
        conn.execute("INSERT INTO collection (tenant, name) VALUES ('t', '合同'), ('t', 'b')")
    before = rows(fresh_database)
    assert before["collection"] == 2
    assert len(before) > 10
    dump = str(tmp_path / "ragkit.dump")
    run("pg_dump", "--format", "custom", "--file", dump, fresh_database)
    copy = "restored_by_test"
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(copy)))
        try:
            url = database_url.replace("/postgres?", f"/{copy}?")
            run("pg_restore", "--no-owner", "--exit-on-error", "--dbname", url, dump)
            assert rows(url) == before
            with psycopg.connect(url, autocommit=True) as conn:
                assert not migrate(conn)  # nothing is left to do
                found = conn.execute("SELECT name FROM collection WHERE tenant = 't' ORDER BY id")
                assert found.fetchall() == [("合同",), ("b",)]
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(copy)))


def test_the_manual_names_options_that_there_are() -> None:
    text = MANUAL.read_text("utf-8")
    for program in ("pg_dump", "pg_restore", "dropdb", "createdb", "pg_basebackup"):
        asked = [str(find_programs().folder / program), "--help"]
        shown = subprocess.run(asked, capture_output=True, text=True).stdout
        for line in text.splitlines():
            for part in line.split("&&"):
                if f"{program} -" in part or f'{program}" -' in part:
                    options = [
                        word for word in part.partition(program)[2].split() if word[:2] == "--"
                    ]
                    assert [option for option in options if option not in shown] == []
