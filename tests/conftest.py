"""What tests of every part share: a real PostgreSQL, databases, a model, the data, a browser."""

import logging
import os
import shutil
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ragkit.cli.words import language
from ragkit.contracts import Embedder
from ragkit.store.connection.connect import connect
from ragkit.store.connection.migrate import migrate
from ragkit.store.server.embedded import EmbeddedServer, status, stop
from tests.databases import Databases, address
from tests.places import DATA, passable_folder

pytest_plugins = ["tests.reporting"]

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE_S = 60  # to connect: on a busy machine a server may take longer than users wait


class Loggers(dict[str, Any]):
    """The loggers by name, which may be listed while other threads make more.

    pytest goes through them before each step of a test, when a test's server may just be importing.
    """

    def values(self) -> Any:
        return list(super().values())


def pytest_configure() -> None:
    """Let the programs that tests start be interrupted, and speak English.

    Whoever is started in the background by a shell without job control ignores Ctrl-C, and so does
    everything that he starts.
    """
    logging.root.manager.loggerDict = Loggers(logging.root.manager.loggerDict)
    if language() != "en":
        os.environ["LC_ALL"] = "C.UTF-8"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    """The address of one embedded server for the whole run; nothing of it is left."""
    # Not under pytest's own folder: as root the server is another user, who may not enter that.
    home = passable_folder()
    try:
        with EmbeddedServer.open(home, durable=False) as server:
            yield f"{server.url}&connect_timeout={PATIENCE_S}"
        assert not status(home).running
    finally:
        stop(home)
        shutil.rmtree(home)


@pytest.fixture(scope="session")
def migrated(database_url: str) -> str:
    """The name of a database with ragkit's tables and nothing in them, to make others like it."""
    name = "migrated"
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("CREATE DATABASE migrated TEMPLATE template0")
    with connect(address(database_url, name)) as conn:
        migrate(conn)
    return name


@pytest.fixture(scope="session")
def databases(database_url: str, migrated: str) -> Databases:
    """Databases with ragkit's tables and nothing in them, one for whoever takes one."""
    return Databases(database_url, migrated)


@pytest.fixture
def fresh_database(databases: Databases) -> Iterator[str]:
    """The address of a database with ragkit's tables and nothing in them."""
    with databases.take() as url:
        yield url


@pytest.fixture
def empty_database(database_url: str) -> Iterator[str]:
    """The address of a database with nothing at all, dropped in the end with all its sessions."""
    name = f"test_{uuid.uuid4().hex}"
    identifier = sql.Identifier(name)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(identifier))
        yield address(database_url, name)
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))


@pytest.fixture(scope="session")
def loaded_embedder() -> Embedder:
    """The default embedding model, loaded once for each worker."""
    from ragkit.embed.local import LocalEmbedder

    embedder = LocalEmbedder()
    embedder.load()
    return embedder


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real test data, which is not part of the project."""
    if not DATA.is_dir():
        pytest.skip(f"there is no test data in {DATA}: set RAGKIT_TEST_DATA")
    return DATA


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, one for the whole run: Playwright allows no second one beside it."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()
