"""Which role the program may run as with tenants on, and how a database is made ready for it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.cli.db import app
from ragkit.errors import DatabaseError, MigrationError, UsageError
from ragkit.settings.settings import Settings
from ragkit.store.connection import roles
from ragkit.store.connection.transactions import transaction
from ragkit.store.open import Database, open_database, prepare_database
from ragkit.store.server.embedded import stop
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted
from tests.core.store.test_postgres import document, unit
from tests.core.store.test_tenancy import fill, tenants
from tests.places import passable_folder

runner = CliRunner()


@pytest.fixture(scope="module")
def database(tenanted: Tenanted) -> Iterator[Database]:
    with open_database(tenanted.settings) as opened:
        yield opened


def refused(tenanted: Tenanted, url: str) -> str:
    with pytest.raises(DatabaseError) as raised:
        open_database(tenanted.settings_with(database_url=url))
    assert "\n" not in str(raised.value)
    assert "ragkit db prepare" in str(raised.value)
    return str(raised.value)


def test_roles_that_could_see_past_it_are_refused(database: Database, tenanted: Tenanted) -> None:
    assert "it is a superuser" in refused(tenanted, tenanted.admin_url)
    assert "it owns the table" in refused(tenanted, tenanted.owner_url)
    role = sql.Identifier(tenanted.role)
    owner = sql.Identifier(str(conninfo_to_dict(tenanted.owner_url)["user"]))
    for given, taken, said in (
        ("ALTER ROLE {} BYPASSRLS", "ALTER ROLE {} NOBYPASSRLS", "it has BYPASSRLS"),
        ("ALTER ROLE {} CREATEROLE", "ALTER ROLE {} NOCREATEROLE", "it has CREATEROLE"),
        ("GRANT {1} TO {0}", "REVOKE {1} FROM {0}", "or is a member of its owner"),
        ("GRANT TRUNCATE ON turn TO {}", "REVOKE TRUNCATE ON turn FROM {}", "may TRUNCATE turn"),
        ("REVOKE DELETE ON turn FROM {}", "GRANT DELETE ON turn TO {}", "may not use the table"),
        (
            "ALTER TABLE turn NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE turn FORCE ROW LEVEL SECURITY",
            "the table turn has no row-level security",
        ),
    ):
        with psycopg.connect(tenanted.admin_url, autocommit=True) as admin:
            admin.execute(sql.SQL(given).format(role, owner))
            try:
                assert said in refused(tenanted, tenanted.url)
            finally:
                admin.execute(sql.SQL(taken).format(role, owner))
    open_database(tenanted.settings).close()


def test_an_unprepared_database_is_refused(empty_database: str, tenanted: Tenanted) -> None:
    url = empty_database.replace("//postgres@", f"//{tenanted.role}@")
    with pytest.raises(MigrationError, match="`ragkit db prepare` with RAGKIT_DATABASE_OWNER_URL"):
        open_database(tenanted.settings_with(database_url=url, database_owner_url=None))


def test_a_new_model_needs_the_owner(database: Database, tenanted: Tenanted) -> None:
    settings = tenanted.settings_with(database_owner_url=None)
    new = EmbeddingSpace("never seen", "1", 4)
    with open_database(settings) as without:
        store = without.store(f"t {uuid4()}")
        store.create_collection("c")
        with pytest.raises(DatabaseError, match="set RAGKIT_DATABASE_OWNER_URL"):
            store.put_document("c", document("a", "x"), new, unit(1, 0, 0, 0))


# Making it ready.


def test_prepare_says_what_it_did_and_does_nothing_twice(
    tenanted: Tenanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", tenanted.url)
    monkeypatch.setenv("RAGKIT_DATABASE_OWNER_URL", tenanted.owner_url)
    monkeypatch.setenv("RAGKIT_TENANTS", "on")
    for _ in range(2):
        found = runner.invoke(app, ["prepare"])
        assert found.exit_code == 0, found.output
        assert found.output.splitlines()[:3] == [
            "the tables are up to date",
            f"the role {tenanted.role} is there",
            "row-level security is in force on every table with tenants' rows",
        ]


def test_prepare_makes_the_role_where_the_owner_may(empty_database: str) -> None:
    name = f"test_{uuid4().hex[:12]}"
    url = empty_database.replace("//postgres@", f"//{name}:se%27cret@")
    settings = Settings(
        database_url=SecretStr(url), database_owner_url=SecretStr(empty_database), tenants="on"
    )
    with psycopg.connect(empty_database, autocommit=True) as admin:
        assert f"made the role {name}" in prepare_database(settings)
        try:
            open_database(settings).close()
            row = admin.execute(
                "SELECT rolpassword LIKE 'SCRAM-SHA-256$%%', rolsuper OR rolcreatedb FROM pg_authid"
                " WHERE rolname = %s",
                (name,),
            ).fetchone()
            assert row == (True, False)
        finally:
            admin.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_prepare_refuses_what_cannot_be(tenanted: Tenanted) -> None:
    with pytest.raises(UsageError, match="set RAGKIT_DATABASE_OWNER_URL"):
        prepare_database(tenanted.settings_with(database_owner_url=None))
    with pytest.raises(UsageError, match="both name the role"):
        prepare_database(tenanted.settings_with(database_url=tenanted.owner_url))
    with pytest.raises(DatabaseError, match='CREATE ROLE "nobody_yet" LOGIN PASSWORD'):
        prepare_database(
            tenanted.settings_with(database_url=tenanted.url.replace(tenanted.role, "nobody_yet"))
        )


@pytest.mark.long
def test_the_embedded_database_takes_one_setting() -> None:
    home = passable_folder()
    try:
        with open_database(Settings(home=home, tenants="on")) as opened:
            with opened.pool.connection() as conn:
                assert conn.info.user == roles.RUNTIME
            fill(opened, "one", "canary")
            fill(opened, "two", "raven")
            with transaction(opened.pool, "one") as cursor:
                assert tenants(cursor, "document") == {"one"}
        with open_database(Settings(home=home)) as opened:  # and back
            assert len(opened.store("two").documents("c")) == 1
    finally:
        stop(home)
        shutil.rmtree(home)
