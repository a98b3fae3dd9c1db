"""What tests of the HTTP API share: a database with documents, and real servers over it.

The tests of a file share one database, out of which keys, log-ins, conversations and ratings go
after each test. A test that changes documents or the layout takes a copy of its own:
`@pytest.mark.usefixtures("alone")`.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from ragkit import Settings
from ragkit.access import keys
from ragkit.access.library import Library
from ragkit.contracts import Embedder
from ragkit.knowledge.embedders import Embedders
from ragkit.store.open import Database, open_database
from ragkit.testing.corpus import CORPUS, fill, new_document
from ragkit.testing.stub_server.script import Script
from ragkit.testing.stub_server.server import StubServer, quote_first_source
from ragkit_serve.api.app import create_app
from ragkit_serve.api.keyring import Keyring
from ragkit_serve.api.quota import Quota
from ragkit_serve.api.services import Services
from ragkit_serve.web.web import DrainingServer
from tests.databases import Databases, address

SECRET = new_document("secret.md", "The vault of the other tenant opens with 4711.", title="Vault")
MANUAL = new_document("manual.md", "The pump runs at 900 revolutions a minute.", title="Pump")
FORGET: Final = """
    DELETE FROM access_key; DELETE FROM login; DELETE FROM login_begun;
    DELETE FROM conversation; DELETE FROM kept_answer; DELETE FROM feedback
"""


@pytest.fixture(scope="session")
def filled_databases(database_url: str, migrated: str, loaded_embedder: Embedder) -> Databases:
    """Databases with the collections default and manuals, and another tenant's secret."""
    template = sql.Identifier(migrated)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE filled TEMPLATE {}").format(template))
    url = address(database_url, "filled")
    with open_database(Settings(database_url=SecretStr(url))) as database:
        fill(database.store("default"), loaded_embedder, CORPUS)
        fill(database.store("default"), loaded_embedder, [MANUAL], collection="manuals")
        fill(database.store("other"), loaded_embedder, [SECRET])
    return Databases(database_url, "filled")


@dataclass
class Live:
    """A server that answers; `server` and `app` are its parts."""

    url: str
    app: Any
    server: DrainingServer
    thread: threading.Thread = field(repr=False)

    @property
    def base(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"{self.url}/v1"

    def forget(self) -> None:
        """Know no key and no caller, as a server that has just been started."""
        state = self.app.state.ragkit
        new = Keyring(state.services.database, state.services.settings, loopback=True)
        state.keyring._known, state.keyring._open = new._known, new._open
        state.quota._limiter = Quota(rate=1, concurrency=1, metrics=state.metrics)._limiter


@dataclass
class Site:
    """A database with documents, and the servers over it by their settings."""

    url: str
    database: Database
    embedder: Embedder
    embedders: Embedders | None = None  # shared, for each reads the model's weights to tell it
    lives: dict[tuple[object, ...], Live] = field(default_factory=dict)
    open: ExitStack = field(default_factory=ExitStack)

    @contextmanager
    def serve(self, *, ui: bool = False, **settings: Any) -> Iterator[Live]:
        """Give a server with these settings: to make the app takes longer than most requests."""
        key = (ui, *sorted(settings.items()))
        live = self.lives.get(key)
        if live is None or live.server.should_exit or live.app.state.ragkit.admission.draining:
            chosen = Settings(database_url=SecretStr(self.url), **settings)
            library = Library(chosen, self.database)
            self.embedders = library.embedders = self.embedders or library.embedders
            library.embedder = library.embedders.default = self.embedder
            app = create_app(Services(chosen, self.database, library), ui=ui)
            live = self.open.enter_context(running(app, chosen.serve_grace_s))
            self.lives[key] = live
        live.forget()
        yield live
        # What is answered may still be being written down.
        deadline = time.monotonic() + 60
        while live.server.server_state.tasks:
            assert time.monotonic() < deadline, "the server goes on answering"
            time.sleep(0.005)

    def forget(self) -> None:
        """Have no keys, log-ins, conversations and ratings."""
        with psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute(FORGET)


@contextmanager
def new_site(databases: Databases, embedder: Embedder) -> Iterator[Site]:
    with databases.take() as url, open_database(Settings(database_url=SecretStr(url))) as database:
        site = Site(url, database, embedder)
        with site.open:
            yield site


@pytest.fixture(scope="module")
def shared_site(filled_databases: Databases, loaded_embedder: Embedder) -> Iterator[Site]:
    """The site of a file's tests."""
    with new_site(filled_databases, loaded_embedder) as site:
        yield site
        drops = filled_databases.drops
    assert filled_databases.drops == drops, "a test has changed the documents that others read"


@pytest.fixture
def alone() -> None:
    """Ask for a site of the test's own."""


@pytest.fixture
def site(
    request: pytest.FixtureRequest, filled_databases: Databases, loaded_embedder: Embedder
) -> Iterator[Site]:
    """The file's site, or one of the test's own where it wants to be `alone`."""
    if "alone" in request.fixturenames:
        with new_site(filled_databases, loaded_embedder) as site:
            yield site
    else:
        site = request.getfixturevalue("shared_site")
        yield site
        site.forget()


@pytest.fixture
def database(site: Site) -> Database:
    return site.database


Serve = Callable[..., Any]


@pytest.fixture
def serve(site: Site) -> Serve:
    """Run the app for a while: `with serve(llm_url=...) as live`."""
    return site.serve


@contextmanager
def running(app: Any, grace_s: float = 5.0) -> Iterator[Live]:
    """Serve an app on a loopback port in a thread, and end it."""
    server = DrainingServer(app, grace_s)
    # As by `ragkit serve`, from a descriptor: else asyncio does not see that it is TCP, leaves
    # Nagle's algorithm on, and each answer on a connection in use takes 40 ms more.
    listening = socket.socket(fileno=socket.create_server(("127.0.0.1", 0)).detach())
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    try:
        yield Live(url, app, server, thread)
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
        listening.close()


@pytest.fixture(scope="module")
def shared_stub() -> Iterator[StubServer]:
    with StubServer() as stub:
        yield stub


Scripted = Callable[..., StubServer]


@pytest.fixture
def scripted(shared_stub: StubServer) -> Scripted:
    """Have the file's model server answer otherwise: `scripted(lambda messages: "Four [1].")`.

    It is always at the same address, so that servers before it can be used again.
    """

    def script(script: Script = quote_first_source) -> StubServer:
        assert shared_stub.running == 0
        shared_stub.script = script
        shared_stub.requests.clear()
        return shared_stub

    return script


@pytest.fixture
def key(database: Database) -> Callable[..., str]:
    """Make a key: `key("read", "write", collections=[...])`."""

    def make(*scopes: str, **options: Any) -> str:
        return keys.create(database, name="test", scopes=scopes or ("read",), **options).secret

    return make
