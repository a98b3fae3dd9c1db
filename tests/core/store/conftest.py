"""A database of one's own; and one with two roles: its owner, who is no superuser, and the one that
programs run as.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg_pool import ConnectionPool

from ragkit.settings.settings import Settings
from ragkit.store.connection.connect import open_pool


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
    end = time.monotonic() + 60
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
    with new_unprepared(database_url) as made:
        yield made


@pytest.fixture(scope="module")
def tenanted(database_url: str) -> Iterator[Tenanted]:
    """The same, made ready for tenants."""
    with _database(database_url, *_roles(database_url), _prepared(database_url)) as made:
        yield made


@contextmanager
def new_unprepared(database_url: str) -> Iterator[Tenanted]:
    """Make an empty database with pgvector, and the two roles; drop it in the end."""
    with _database(database_url, *_roles(database_url), "template0") as made:
        with psycopg.connect(made.admin_url, autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
        yield made


@cache
def _roles(database_url: str) -> tuple[str, str]:
    """Make the owner and the programs' role once on a server."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    owner, runtime = f"{name}_owner", f"{name}_app"
    with psycopg.connect(database_url, autocommit=True) as conn:
        for role in (owner, runtime):
            conn.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    return owner, runtime


@cache
def _prepared(database_url: str) -> str:
    """Make a database ready for tenants once on a server, to copy it: preparing takes longer."""
    from ragkit.store.open import prepare_database

    owner, runtime = _roles(database_url)
    made = _create(database_url, owner, runtime, "template0")
    with psycopg.connect(made.admin_url, autocommit=True) as admin:
        admin.execute("CREATE EXTENSION vector")
    prepare_database(made.settings)
    return made.name


@contextmanager
def _database(url: str, owner: str, runtime: str, template: str) -> Iterator[Tenanted]:
    made = _create(url, owner, runtime, template)
    yield made
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(made.name)))


def _create(database_url: str, owner: str, runtime: str, template: str) -> Tenanted:
    name = f"test_{uuid.uuid4().hex[:12]}"

    def url(user: str) -> str:
        return database_url.replace("//postgres@/postgres?", f"//{user}@/{name}?")

    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}").format(
                *(sql.Identifier(each) for each in (name, template, owner))
            )
        )
    return Tenanted(url("postgres"), url(owner), url(runtime))
