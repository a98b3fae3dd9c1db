"""A database of one's own; and one with two roles: its owner, who is no superuser, and the one that
programs run as.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg_pool import ConnectionPool

from ragkit.settings import Settings
from ragkit.store.connect import open_pool


@pytest.fixture
def pool(fresh_database: str) -> Iterator[ConnectionPool[Connection[Any]]]:
    """Connections to a database of the test's own, with the tables and nothing in them."""
    opened = open_pool(fresh_database)
    yield opened
    opened.close()


def die(conn: Connection[Any], worker: int) -> None:
    """Close a worker's connection, and wait until the server has noticed."""
    url = conn.info.dsn
    conn.close()
    end = time.monotonic() + 10
    with psycopg.connect(url, autocommit=True) as other:
        while other.execute("SELECT ragkit_alive(%s)", (worker,)).fetchone() == (True,):
            assert time.monotonic() < end, "the server still has its lock"


@dataclass(frozen=True)
class Tenanted:
    """Addresses of one database: the administrator's, the owner's, the programs'."""

    admin_url: str
    owner_url: str
    url: str

    @property
    def settings(self) -> Settings:
        return self.settings_with()

    def settings_with(self, **more: object) -> Settings:
        return Settings(
            **{
                "database_url": self.url,
                "database_owner_url": self.owner_url,
                "tenants": "on",
                "tenant": "one",
                **more,
            }  # type: ignore[arg-type]
        )

    @property
    def name(self) -> str:
        return self.url.rpartition("?")[0].rpartition("/")[2]

    @property
    def role(self) -> str:
        return self.url.partition("//")[2].partition("@")[0]


@pytest.fixture(scope="module")
def unprepared(database_url: str) -> Iterator[Tenanted]:
    """An empty database with pgvector, and the two roles."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    owner, runtime = f"{name}_owner", f"{name}_app"

    def url(user: str) -> str:
        return database_url.replace("//postgres@/postgres?", f"//{user}@/{name}?")

    with psycopg.connect(database_url, autocommit=True) as conn:
        for role in (owner, runtime):
            conn.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        conn.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template0 OWNER {}").format(
                sql.Identifier(name), sql.Identifier(owner)
            )
        )
        with psycopg.connect(url("postgres"), autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
        yield Tenanted(url("postgres"), url(owner), url(runtime))
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        for role in (owner, runtime):
            conn.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.fixture(scope="module")
def tenanted(unprepared: Tenanted) -> Tenanted:
    """The same, made ready for tenants."""
    from ragkit.store.open import prepare_database

    prepare_database(unprepared.settings)
    return unprepared
